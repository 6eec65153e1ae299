// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The messages that linked devices exchange about the account.
extension AccountService {
  /// The first message of a new link. Throws NOT_FOUND without an account.
  public func greeting(at now: Instant) throws(SegueError) -> [UInt8] {
    try RosterNumbers(try membership().record.roster).greeting(at: now)
  }

  /// Handles a message of a linked device, or of one that the roster does not list: of such a one only rosters.
  /// - Parameter certificate: which that device has shown in TLS. It is checked again here: it may have been revoked
  ///   since, and nothing of a revoked device counts.
  public func receive(_ message: [UInt8], from certificate: [UInt8], at now: Instant) -> [AccountEvent] {
    let (peer, shown, isListed): (Identifier, CertificateFields, Bool)
    do throws(SegueError) {
      let verified = try verify(certificate, at: now)
      (peer, shown, isListed) = (verified.identity.device, verified.fields, verified.isListed)
    } catch {
      guard let fields = try? cryptography.readCertificate(certificate), let identity = try? DeviceIdentity(of: fields)
      else { return [.notice(error)] }
      return [.cut(identity.device)] + notice(error, of: identity.device, at: now)
    }
    var isOwn = false
    do throws(SegueError) {
      // One of a later version is skipped.
      guard let message = try TrustMessage.known(message) else { return [] }
      if case .certificate = message { isOwn = true }
      guard isListed else { return try receiveUnlisted(message, from: peer, at: now) }
      return try receive(message, from: peer, shown, at: now)
    } catch {
      // An error in this device's own certificate is about this device: it does not name the peer.
      return notice(isOwn ? error : named(error, peer), of: peer, at: now)
    }
  }

  /// A device that the roster does not list may carry one that lists it.
  private func receiveUnlisted(
    _ message: TrustMessage, from peer: Identifier, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    guard case .roster(let encoding, let signature, let managerSignature) = message,
      answers.take(peer.bytes, at: now.uptime)
    else { return [] }
    return try adopt(encoding, signature, managerSignature, from: peer, isListed: false, at: now)
  }

  private func adopt(
    _ encoding: [UInt8], _ signature: [UInt8], _ managerSignature: [UInt8], from peer: Identifier, isListed: Bool,
    at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    // All that the manager has signed is taken. The effects of other rosters are rationed; the messages of an unlisted
    // device were rationed before.
    let mayTake = { [self] in !isListed || answers.take(peer.bytes, at: now.uptime) }
    switch try membership.adopting(encoding, signature, managerSignature, at: now.seconds, cryptography) {
    case .known: return []
    case .newer(let record, hasMerged: false): return try commit(record, from: peer, at: now)
    case .newer(let record, hasMerged: true): return mayTake() ? try commit(record, at: now) : []
    case .rejection: return isListed ? try ownRoster(to: peer, at: now) : []
    case .aside(let record): return mayTake() ? try keepAside(record, membership, at: now) : []
    }
  }

  /// Stores a roster that the user has to accept, and says so once for each manager.
  private func keepAside(
    _ record: AccountRecord, _ former: Membership, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    try keep(record, at: now)
    let known = former.record.takeOvers.map { $0.roster.roster.manager }
    var events: [AccountEvent] = []
    for waiting in takeOvers where !known.contains(waiting.device) {
      events.append(
        .notice(
          SegueError(
            .notAllowed,
            """
            \(waiting.name) (\(waiting.device.fingerprint)): has taken the account over with the recovery file, and \
            this device does not know it; if that was you, `segue account accept` takes it over here, too
            """)))
    }
    return events + [.devicesChanged]
  }

  /// A connection with a device has ended, because the roster does not list it.
  public func refuse(_ certificate: [UInt8], at now: Instant) -> [AccountEvent] {
    guard let shown = try? verify(certificate, at: now), !shown.isListed else { return [] }
    let device = shown.identity.device
    let isKnown = refused.contains { $0.device == device }
    refused.removeAll { $0.device == device }
    let named = (try? membership())?.record.takeOvers.compactMap { $0.roster.roster[device]?.name }.first
    refused.append(
      RefusedDevice(device: device, name: named, date: now.seconds, serial: shown.fields.serial))
    refused.removeFirst(max(0, refused.count - Limits.refusedDevices))
    guard !isKnown else { return [] }
    let name: DiagnosticText = named.map { "\($0) (\(device.fingerprint))" } ?? "\(device.fingerprint)"
    let error = SegueError(
      .notAllowed,
      """
      \(name): has a certificate of the account, and is not in its list of devices, so it is refused; \
      `segue revoke \(device.start)` at the manager keeps it out for good
      """)
    return notice(error, of: device, at: now)
  }

  /// Nothing if the device has caused too many lately.
  private func notice(_ error: SegueError, of peer: Identifier, at now: Instant) -> [AccountEvent] {
    let isListed = (try? membership())?.roster[peer] != nil
    return notice(error, of: peer, isListed ? .device(peer) : .unlisted, at: now)
  }

  private func notice(
    _ error: SegueError, of peer: Identifier, _ source: NoticeSource, at now: Instant
  ) -> [AccountEvent] {
    answers.take(peer.bytes, at: now.uptime) ? [.notice(error, of: source)] : []
  }

  /// Says first which device an error is about, unless this one has failed.
  private func named(_ error: SegueError, _ peer: Identifier) -> SegueError {
    guard error.status != .system else { return error }
    return error.about((try? membership())?.roster[peer]?.name ?? peer.fingerprint)
  }

  private func receive(
    _ message: TrustMessage, from peer: Identifier, _ shown: CertificateFields, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    switch message {
    case .numbers(let term, _, let digest, let date, let version):
      let own = membership.record.roster
      // In one term both send theirs: a manager that was restored from a backup may lack what an earlier one has.
      let isMissing = own.roster.term >= term && !own.digest.elementsEqual(digest)
      let events = isMissing ? try ownRoster(to: peer, at: now) : []
      note(PeerGreeting(device: peer, date: date, uptime: now.uptime, version: version))
      return events + (try greet(peer, shown, date: date, at: now))
    case .roster(let encoding, let signature, let managerSignature):
      return try adopt(encoding, signature, managerSignature, from: peer, isListed: true, at: now)
    // Only the manager speaks for itself.
    case .certificate where peer != membership.roster.manager: return []
    case .refusal where peer != membership.roster.manager: return []
    case .certificate(let renewed):
      try keep(try membership.taking(certificate: renewed, at: now.seconds, cryptography), at: now)
      return [.credentialsChanged]
    case .refusal(let status, let reason):
      let text = String(decoding: Text.oneLine(reason), as: UTF8.self)
      return notice(SegueError(status, DiagnosticText(of: text)).about(membership.managerName), of: peer, at: now)
    case .renew, .rename, .leave: return try serve(message, peer, shown, at: now)
    }
  }

  private func greet(
    _ peer: Identifier, _ shown: CertificateFields, date: Int64, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    var membership = try membership()
    let name = membership.roster[peer]?.name ?? "a device"
    let difference = ClockAdvice.difference(here: now.seconds, there: date, name)
    var events = difference.map { notice($0.about(name), of: peer, .clock(of: peer), at: now) } ?? []
    if difference == nil, membership.record.epochDates.isAhead(of: now.seconds) {
      // Two clocks agree: the own one was ahead.
      var record = membership.record
      record.epochDates.setRight(now.seconds)
      try keep(record, at: now)
      membership = try self.membership()
      events.append(.credentialsChanged)
    }
    if membership.isManager {
      let record = try signed(for: peer, hasLeft: false) { () throws(SegueError) in
        try membership.confirming(peer, shown, at: now.seconds, cryptography)
      }
      if let record { events += try commit(record, at: now) }
    } else if peer == membership.roster.manager, difference == nil, membership.isRenewalDue(at: now.seconds) {
      // By which of two clocks that differ?
      events += try renewal(membership, at: now)
    }
    return events
  }

  private func note(_ greeting: PeerGreeting) {
    greetings.removeAll { $0.device == greeting.device }
    greetings.append(greeting)
    greetings.removeFirst(max(0, greetings.count - Limits.devices))
    // Descriptions say which devices are outdated.
    cache.devices = nil
  }

  /// Whether a device has said that it takes no roster of this version.
  func isOutdated(_ device: Identifier) -> Bool {
    greetings.contains { $0.device == device && $0.version < Roster.version }
  }

  /// Asks the manager for another certificate, and says what time it is here: the manager makes none while the clocks
  /// differ, and this one may have been set since the link began.
  func renewal(_ membership: Membership, at now: Instant) throws(SegueError) -> [AccountEvent] {
    renewalAskedAt = now.uptime
    let manager = membership.roster.manager
    return [
      .send(to: manager, try RosterNumbers(membership.record.roster).greeting(at: now)),
      .send(to: manager, try TrustMessage.renew.encoding()),
    ]
  }

  /// Nothing if the device has had it too often lately, or no device would take it.
  private func ownRoster(to peer: Identifier, at now: Instant) throws(SegueError) -> [AccountEvent] {
    let roster = try membership().record.roster
    guard roster.isSignedTwice, answers.take(peer.bytes, at: now.uptime) else { return [] }
    return [.send(to: peer, try roster.message())]
  }

  /// Answers a request of a device to the manager, for that device alone.
  private func serve(
    _ message: TrustMessage, _ peer: Identifier, _ shown: CertificateFields, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    do throws(SegueError) {
      let membership = try membership()
      try membership.requireManager(to: "do that")
      guard membership.roster[peer] != nil else { throw Membership.unknown }
      switch message {
      case .renew: requests.add(.renewal(shown), of: peer)
      case .rename(let name): requests.add(.name(name), of: peer)
      // A device that leaves is let go, however much it has asked for.
      case .leave:
        let record = try signed(for: peer, hasLeft: true) { () throws(SegueError) in
          try membership.revoking(peer, at: now.seconds, cryptography)
        }
        if let record { return try commit(record, at: now) }
      default: break
      }
      return serveRequests(at: now)
    } catch {
      return refuse(peer, error, at: now)
    }
  }

  /// Does what devices have asked for and is due.
  func serveRequests(at now: Instant) -> [AccountEvent] {
    var events: [AccountEvent] = []
    // A request for a certificate waits while its clock, or this one, is wrong.
    let isHeld = { [greetings] (device: Identifier) in
      greetings.contains { $0.device == device && $0.clocks(at: now) != nil }
    }
    while let (device, kind) = requests.take(at: now.uptime, holdsRenewal: isHeld) {
      do throws(SegueError) {
        let membership = try membership()
        // It may have been removed since.
        guard membership.roster[device] != nil else { continue }
        switch kind {
        // It may have waited while this machine slept: who comes too late joins again.
        case .renewal(let shown) where shown.until < now.seconds: continue
        case .renewal(let shown):
          let (record, renewed) = try membership.renewing(shown, at: now.seconds, cryptography)
          events += try commit(record, at: now) + [.send(to: device, try TrustMessage.certificate(renewed).encoding())]
        case .name(let name):
          events += try commit(
            try membership.renaming(device, name, at: now.seconds, cryptography), at: now)
        }
      } catch {
        events += refuse(device, error, at: now)
      }
    }
    return events
  }

  /// Signs a record because of a device, unless that was done before and only the disk has failed.
  private func signed(
    for device: Identifier, hasLeft: Bool, _ sign: () throws(SegueError) -> AccountRecord?
  ) throws(SegueError) -> AccountRecord? {
    if let found = cache.record(of: device, hasLeft: hasLeft) { return found }
    guard let record = try sign() else { return nil }
    cache.add(record, of: device, hasLeft: hasLeft)
    return record
  }

  private func refuse(_ peer: Identifier, _ error: SegueError, at now: Instant) -> [AccountEvent] {
    let reason = error.status == .system ? "it could not store that" : error.message
    let told = try? TrustMessage.refusal(status: error.status, reason: reason).encoding()
    return (told.map { [.send(to: peer, $0)] } ?? []) + notice(named(error, peer), of: peer, at: now)
  }
}
