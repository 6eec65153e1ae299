// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The account of this device: what the agent's control socket calls, and what its links ask. No thread, no clock, no
/// I/O of its own; it is used by one thread at a time.
///
/// Each change is stored before it counts, by one write. So after the end of the process at any moment there is either
/// the state before the change or the one after it.
public final class AccountService {
  enum State {
    case none
    case member(Membership)
    case unusable(SegueError)
  }

  let storage: any AccountStorage
  let cryptography: any Cryptography
  var state: State {
    didSet { cache = StateCache() }
  }
  var cache = StateCache()
  var invites = InviteBook()
  var joins = JoinAttempts()
  /// The requests of devices to this one, the manager.
  var requests = RequestQueue()
  /// The limit on the messages and notices that each device causes.
  var answers = SourceRateLimiter(each: Limits.answers, all: Limits.devices * Limits.answers)
  /// The last greeting of each linked device.
  var greetings: [PeerGreeting] = []
  /// Devices that the roster does not list, and that have shown a certificate of the account; the newest last, at most
  /// `Limits.refusedDevices`.
  var refused: [RefusedDevice] = []
  /// Its own certificate, and those of linked devices.
  private var verified = VerifiedCertificates()
  /// The uptime at which the manager was asked for another certificate.
  var renewalAskedAt: Int64?
  /// When `tick` was called last.
  var ticked: Instant?

  /// Reads what is stored. A file that cannot be used is no reason not to start: `status` says what to do.
  public init(storage: any AccountStorage, cryptography: any Cryptography) {
    self.storage = storage
    self.cryptography = cryptography
    state = Self.load(storage, cryptography)
  }

  private static func load(_ storage: any AccountStorage, _ cryptography: any Cryptography) -> State {
    do throws(SegueError) {
      guard let file = try storage.load() else { return .none }
      return .member(try Membership(try AccountRecord(file, cryptography), storage, cryptography))
    } catch {
      let remedy: StaticString =
        error.status == .malformed
        ? "; restore it from a backup, or leave the account (the file is kept) and join again" : ""
      return .unusable(SegueError(error.status, "\(error.message)\(remedy)"))
    }
  }

  // MARK: - What there is

  public var status: AccountStatus {
    switch state {
    case .none: .none
    case .unusable(let error): .unusable(error)
    case .member(let membership):
      if membership.isRevoked {
        .unusable(ClockAdvice.problem(.revoked, of: membership.certificate, at: 0, isManager: false))
      } else {
        .member
      }
    }
  }

  /// Throws NOT_FOUND without an account, or why it cannot be used.
  func membership() throws(SegueError) -> Membership {
    switch state {
    case .none:
      throw SegueError(.notFound, "account: this device is in none; create one, or join one with an invite")
    case .unusable(let error): throw error
    case .member(let membership): return membership
    }
  }

  public var accountName: String? { try? membership().accountName }
  public var identity: DeviceIdentity? { try? membership().identity }
  public var isManager: Bool { (try? membership().isManager) ?? false }

  /// The takeovers that wait for the user.
  var takeOvers: [TakeOverDescription] {
    let waiting = (try? membership())?.record.takeOvers ?? []
    return waiting.map { each in
      let roster = each.roster.roster
      return TakeOverDescription(
        digest: each.roster.digest, device: roster.manager, name: roster[roster.manager]?.name ?? "unnamed",
        term: roster.term, date: each.date)
    }
  }

  /// The devices, in the order in which they joined.
  public func devices() throws(SegueError) -> [DeviceDescription] {
    if let described = cache.devices { return described }
    let membership = try membership()
    let devices = membership.roster.devices.map { device in
      DeviceDescription(
        id: device.id, name: device.name, platform: device.platform,
        fingerprint: membership.roster.hasTwin(device) ? device.id.fingerprint : nil,
        isThisDevice: device.id == membership.identity.device, isManager: device.id == membership.roster.manager,
        isConfirmed: device.isConfirmed, isOutdated: isOutdated(device.id), joined: device.joined,
        certificateEnds: device.certificates.map { $0.until }.max() ?? 0)
    }
    cache.devices = devices
    return devices
  }

  /// The problem of this device's certificate by the device's clock, and what to do; nil if there is none.
  public func advice(at now: Instant) -> SegueError? {
    do throws(SegueError) {
      let membership = try membership()
      let problem: CertificateProblem? =
        membership.isRevoked
        ? .revoked
        : try verified.check(membership.record.certificate, membership, at: now.seconds, cryptography).problem
      return problem.map {
        ClockAdvice.problem($0, of: membership.certificate, at: now.seconds, isManager: membership.isManager)
      }
    } catch { return error.status == .notFound ? nil : error }
  }

  // MARK: - For links

  /// The credentials that links show, and with which they check others. Throws NOT_FOUND without an account,
  /// NOT_ALLOWED if this device was revoked or its certificate is not valid now, with what to do.
  public func credentials(at now: Instant) throws(SegueError) -> DeviceCredentials {
    let record = try membership().record
    if let advice = advice(at: now) { throw advice }
    return DeviceCredentials(
      key: record.key, certificate: record.certificate, root: record.root,
      revocations: record.roster.roster.revocations, members: record.roster.roster.members)
  }

  /// The keys of the epochs whose knocks and beacons are answered, the current one first. The own beacons
  /// use that one alone, and so do the own knocks, unless the other device does not answer them.
  public func epochKeys(at now: Instant) throws(SegueError) -> [EpochKeys] {
    let membership = try membership()
    guard !membership.isRevoked else { return [] }
    let keys = cache.keys ?? membership.roster.epochs.all.map { $0.keys }
    cache.keys = keys
    let answered = membership.roster.epochs.answered(at: now.seconds, membership.record.epochDates)
    return answered.compactMap { epoch in
      keys.first { $0.epoch == epoch.number }
    }
  }

  /// Takes what TLS has verified of a certificate, which is not verified again then.
  public func take(_ shown: PeerCertificate) {
    if case .member(let membership) = state { verified.take(shown, membership) }
  }

  /// The device that the certificate belongs to. Throws NOT_ALLOWED if it is not of this account, not valid now or
  /// revoked, or if the roster does not have its device, with a message that tells clocks that differ from the rest.
  public func accepted(_ certificate: [UInt8], at now: Instant) throws(SegueError) -> DeviceIdentity {
    let shown = try verify(certificate, at: now)
    guard shown.isListed else {
      throw SegueError(
        .notAllowed, "\(shown.identity.device.fingerprint): is not in the list of devices that counts here")
    }
    return shown.identity
  }

  /// The same, and what the certificate says; also of a device that the roster does not list.
  func verify(
    _ certificate: [UInt8], at now: Instant
  ) throws(SegueError) -> (identity: DeviceIdentity, fields: CertificateFields, isListed: Bool) {
    let membership = try membership()
    let (fields, problem) = try verified.check(certificate, membership, at: now.seconds, cryptography)
    let identity = try DeviceIdentity(of: fields)
    guard identity.account == membership.identity.account else {
      throw SegueError(.notAllowed, "a certificate is of another account")
    }
    guard let problem else {
      let standing = membership.roster.members.standing(of: identity.device)
      guard standing != .removed else {
        throw SegueError(.notAllowed, "\(identity.device.fingerprint) was removed from the account")
      }
      return (identity, fields, isListed: standing == .listed)
    }
    let name = membership.roster[identity.device]?.name ?? identity.device.fingerprint
    let here = ClockAdvice.text(now.seconds)
    throw switch problem {
    case .notYetValid:
      SegueError(
        .notAllowed,
        """
        \(name): its certificate begins at \(ClockAdvice.text(fields.from)), and here it is \(here) (UTC): one of \
        the two clocks is wrong
        """)
    case .expired:
      SegueError(
        .notAllowed,
        """
        \(name): its certificate ended at \(ClockAdvice.text(fields.until)), and here it is \(here) (UTC): if the \
        clocks are right, it has to join again
        """)
    case .revoked: SegueError(.notAllowed, "\(name): was removed from the account")
    case .notTrusted: SegueError(.notAllowed, "a certificate is of another account, whatever it says")
    }
  }

  // MARK: - Changes

  /// Stores a record, and then uses it.
  func keep(_ record: AccountRecord, at now: Instant) throws(SegueError) {
    var record = record
    record.epochDates.keep(record.roster.roster.epochs, at: now.seconds)
    let rootKey = try rootKey(of: record)
    let file = try record.encoding(rootKey, cryptography)
    guard file.count <= Limits.accountFile else {
      throw SegueError(.limitExceeded, "account: its file would have \(file.count) bytes")
    }
    record.rootKey = record.rootKey.afterStoring
    let membership = try Membership(record, storage, cryptography)
    try storage.store(file)
    state = .member(membership)
  }

  /// The key of the account that the file has, or is to have; nil if another device is the manager.
  private func rootKey(of record: AccountRecord) throws(SegueError) -> Secret? {
    switch record.rootKey {
    case .elsewhere: nil
    case .new(let key): key
    case .stored: try storage.rootKey(of: try cryptography.readRoot(record.root).publicKey, cryptography)
    }
  }

  /// Stores the first record of an account. Files that came from another machine with the state folder are set aside.
  func begin(_ record: AccountRecord, at now: Instant) throws(SegueError) -> [AccountEvent] {
    let aside = try storage.setAside()
    try keep(record, at: now)
    let events: [AccountEvent] = [.membershipChanged, .credentialsChanged, .devicesChanged]
    guard !aside.isEmpty else { return events }
    let names = aside.joined(separator: ", ")
    return events + [
      .notice(SegueError(.invalidState, "account: what came here from another machine is kept as \(names)"))
    ]
  }

  /// Stores a record with another roster, and says what follows from it.
  /// - Parameter source: the device that the roster came from, and that need not be told; nil if it is new.
  func commit(
    _ record: AccountRecord, from source: Identifier? = nil, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    let former = try membership()
    try keep(record, at: now)
    let membership = try membership()
    var events: [AccountEvent] = []
    let isReplaced = former.isManager && !membership.isManager
    if isReplaced {
      requests = RequestQueue()
      events = endInviting(SegueError(.notAllowed, "join: the inviting device is no longer the manager"))
    }
    guard !membership.isRevoked else { return events + [.membershipChanged] }
    if isReplaced {
      events.append(
        .notice(
          SegueError(
            .notAllowed,
            """
            account: \(membership.managerName) (\(membership.roster.manager.fingerprint)) has become its manager with \
            the recovery file; this device is it no more, and its invites are void
            """)))
    }
    for device in former.roster.devices where membership.roster[device.id] == nil { events.append(.cut(device.id)) }
    refused.removeAll { membership.roster.hasListed($0.device) }
    events.append(.credentialsChanged)
    events.append(.devicesChanged)
    events.append(.sendToAll(except: source, try membership.record.roster.message()))
    return events
  }

  /// Throws INVALID_STATE unless this device is in no account.
  func requireNoAccount(to what: StaticString) throws(SegueError) {
    switch state {
    case .none: return
    case .member(let membership):
      throw SegueError(
        .invalidState,
        "account: this device is in the account \"\(membership.accountName)\"; leave it first to \(what)")
    case .unusable(let error):
      throw SegueError(
        .invalidState,
        "account: there is one that cannot be used (\(error.message)); leave it first to \(what)")
    }
  }
}
