// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The requests of users.
extension AccountService {
  /// Makes an account, with this device as its manager. Throws INVALID_STATE if there is one already.
  /// - Parameter name: of the account, as other devices will show it when they join.
  public func create(
    name: String, deviceName: String, platform: String, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    try requireNoAccount(to: "create another")
    try DisplayName.check(name, "name")
    try DisplayName.check(deviceName, "device_name")
    return try begin(
      try Membership.create(
        name: name, deviceName: deviceName, platform: platform, at: now.seconds, cryptography), at: now)
  }

  /// Removes a device, at once and for good: it has to be invited to come back. Throws NOT_FOUND, NOT_ALLOWED at any
  /// device but the manager.
  /// - Parameter device: a listed one, or one that was refused, or has taken over without the user's consent.
  public func revoke(_ device: Identifier, at now: Instant) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    let outdated = membership.roster.devices.filter { $0.id != device && isOutdated($0.id) }.map { $0.name }
    let record = try membership.revoking(device, stranger: stranger(device), at: now.seconds, cryptography)
    let events = try commit(record, at: now)
    guard !outdated.isEmpty else { return events }
    return events + [
      .notice(
        SegueError(
          .unsupportedVersion,
          """
          \(outdated.joined(separator: ", ")): runs an older Segue, and does not hear that a device was revoked; \
          update Segue there
          """))
    ]
  }

  /// A device that is not listed, and that the user has been shown; nil if there is none.
  private func stranger(_ device: Identifier) -> RemovedDevice? {
    if let found = refused.first(where: { $0.device == device }) {
      return RemovedDevice(device, serials: [found.serial])
    }
    return takeOvers.contains { $0.device == device } ? RemovedDevice(device, serials: []) : nil
  }

  /// Takes a list of devices that waits for the user: another device has become the manager with the recovery file.
  /// - Parameter device: the one that has taken over; `digest`: of its list, as it was shown.
  /// Throws NOT_FOUND if it does not wait.
  public func accept(
    _ digest: [UInt8], of device: Identifier, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    try commit(try membership().accepting(digest, of: device), at: now)
  }

  /// Renames a device. Any device may ask that for itself; the manager does it.
  /// - Parameter device: nil for this one.
  public func rename(
    _ device: Identifier? = nil, _ name: String, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    try DisplayName.check(name, "name")
    let device = device ?? membership.identity.device
    guard !membership.isManager, device == membership.identity.device else {
      let events = try commit(try membership.renaming(device, name, at: now.seconds, cryptography), at: now)
      // An older name that waits would take its place.
      requests.removeName(of: device)
      return events
    }
    return [.send(to: membership.roster.manager, try TrustMessage.rename(DisplayName.clean(name)).encoding())]
  }

  /// Leaves the account: this device forgets its keys. The manager is told if it is linked; otherwise the user should
  /// revoke this device there.
  /// - Parameter isAbandoning: the manager leaves although others stay. Throws INVALID_STATE without it.
  /// - Returns: after the events, the names of files that were set aside because they cannot be used.
  /// Throws NOT_FOUND if there is neither an account nor anything that came from another machine.
  public func leave(isAbandoning: Bool = false) throws(SegueError) -> (events: [AccountEvent], aside: [String]) {
    switch state {
    case .none:
      let aside = try storage.setAside()
      guard !aside.isEmpty else { throw SegueError(.notFound, "account: this device is in none") }
      return ([], aside)
    case .unusable:
      let aside = try storage.setAside()
      return (forget(), aside)
    case .member(let membership):
      let others = membership.roster.devices.count - 1
      guard !membership.isManager || others <= 0 || isAbandoning else {
        throw SegueError(
          .invalidState,
          """
          account: this device is its manager, and \(others) others stay: make one of them the manager first, with the \
          recovery file
          """)
      }
      let isTold = !membership.isManager && !membership.isRevoked
      let farewell = isTold ? try TrustMessage.leave.encoding() : nil
      try storage.erase()
      return ((farewell.map { [.send(to: membership.roster.manager, $0)] } ?? []) + forget(), [])
    }
  }

  private func forget() -> [AccountEvent] {
    let ends = endInviting(SegueError(.cancelled, "join: the inviting device has left the account"))
    state = .none
    requests = RequestQueue()
    (greetings, refused) = ([], [])
    return ends + [.membershipChanged]
  }

  // MARK: - The key of the account

  /// The recovery file: the key of the account under a passphrase, as PEM (PKCS#8). It makes any device of the account
  /// the manager. Throws NOT_ALLOWED at any device but the manager, INVALID_ARGUMENT for a short passphrase.
  public func recoveryFile(passphrase: String) throws(SegueError) -> [UInt8] {
    let membership = try membership()
    try membership.requireManager(to: "make a recovery file")
    try check(passphrase)
    var bytes = Array(passphrase.utf8)
    defer { Secret.erase(&bytes) }
    return try cryptography.seal(try membership.rootKey(to: "make a recovery file", cryptography), passphrase: bytes)
  }

  /// Makes this device the manager of its account; the former one stops being it when it hears of that.
  /// Throws NOT_ALLOWED for a wrong passphrase or the file of another account, MALFORMED.
  public func recover(_ file: [UInt8], passphrase: String, at now: Instant) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    guard !file.isEmpty, file.count <= Limits.recoveryFile else {
      throw SegueError(.malformed, "recovery file: has \(file.count) bytes, so it is none")
    }
    guard passphrase.utf8.count <= Limits.passphrase else {
      throw SegueError(.notAllowed, "recovery file: the passphrase is wrong")
    }
    var bytes = Array(passphrase.utf8)
    defer { Secret.erase(&bytes) }
    let key = try cryptography.open(file, passphrase: bytes)
    return try commit(try membership.managing(with: key, at: now.seconds, cryptography), at: now)
  }

  private func check(_ passphrase: String) throws(SegueError) {
    try Text.check(passphrase, "passphrase", atMost: Limits.passphrase)
    guard passphrase.unicodeScalars.count >= Limits.shortestPassphrase else {
      throw SegueError(
        .invalidArgument,
        "passphrase: has fewer than \(Limits.shortestPassphrase) characters; a finder of the file can try many")
    }
  }

  // MARK: - Time

  /// When `tick` has something to do, by uptime in milliseconds; at most five minutes from now: clocks are set, and
  /// while a device sleeps its uptime stands still.
  public func deadline(at now: Instant) -> Int64 {
    var deadline = now.uptime + Limits.dateCheck
    if let next = invites.deadline { deadline = min(deadline, next) }
    if let next = joins.deadline { deadline = min(deadline, next) }
    if let next = requests.deadline { deadline = min(deadline, next) }
    return deadline
  }

  /// Ends what took too long, does what devices have asked for too early, renews the manager's own certificate, and
  /// asks for another one at other devices: once a day, since a link may last, and an answer may be lost.
  public func tick(at now: Instant) -> [AccountEvent] {
    invites.expire(at: now)
    var events = greetAnew(at: now) + upgrade(at: now) + tickJoins(at: now) + serveRequests(at: now)
    guard case .member(let membership) = state, !membership.isRevoked, membership.isRenewalDue(at: now.seconds) else {
      return events
    }
    do throws(SegueError) {
      guard membership.isManager else {
        let isDue = renewalAskedAt.map { now.uptime - $0 >= 1000 * Limits.renewalInterval } ?? true
        return isDue ? events + (try renewal(membership, at: now)) : events
      }
      var (record, certificate) = try membership.renewing(membership.certificate, at: now.seconds, cryptography)
      record.certificate = certificate
      events += try commit(record, at: now)
    } catch { events.append(.notice(error)) }
    return events
  }

  /// Says to all linked devices what time it is here if the clock was set since the last call, or this device has
  /// slept: they count on from what they have heard.
  private func greetAnew(at now: Instant) -> [AccountEvent] {
    let last = ticked
    ticked = now
    guard let last, case .member(let membership) = state, !membership.isRevoked else { return [] }
    let step = now.seconds - last.seconds - (now.uptime - last.uptime) / 1000
    guard step.magnitude >= UInt64(Limits.clockStep),
      let greeting = try? RosterNumbers(membership.record.roster).greeting(at: now)
    else { return [] }
    return [.sendToAll(except: nil, greeting)]
  }

  /// Brings what an earlier version has stored up to this one: the manager signs its roster anew, and all take now for
  /// the time at which they have got their epochs. To be called first; `tick` does it again if the disk has failed.
  public func upgrade(at now: Instant) -> [AccountEvent] {
    guard case .member(let membership) = state else { return [] }
    do throws(SegueError) {
      if let record = try membership.signingAnew(at: now.seconds, cryptography) { return try commit(record, at: now) }
      if membership.record.epochDates.all.isEmpty { try keep(membership.record, at: now) }
      return []
    } catch { return [.notice(error)] }
  }
}
