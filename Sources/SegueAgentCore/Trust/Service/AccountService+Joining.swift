// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

extension AccountService {
  // MARK: - Inviting

  /// Makes an invite, which one device can use within ten minutes.
  /// - Parameter addresses: where this device can be reached, as text; `port`: where it listens.
  /// - Parameter isAutomatic: admits the device that comes with it without asking, for machines without a user.
  /// Throws NOT_ALLOWED at any device but the manager, INVALID_ARGUMENT, LIMIT_EXCEEDED.
  public func invite(
    addresses: [String], port: UInt16, isAutomatic: Bool = false, at now: Instant
  ) throws(SegueError) -> Invite {
    let membership = try membership()
    try membership.requireManager(to: "invite")
    if let advice = advice(at: now) { throw advice }
    let invite = try Invite(
      account: membership.identity.account, fingerprint: SecureHash.sha256(membership.record.root),
      accountName: membership.accountName, token: try cryptography.random(Invite.tokenSize), addresses: addresses,
      port: port)
    try invites.add(invite, isAutomatic: isAutomatic, at: now)
    return invite
  }

  /// Voids all invites.
  public func cancelInvites() { invites.burnAll() }

  /// Voids an invite, if it can still be used. A join that has begun with it goes on.
  public func cancel(_ invite: Invite, at now: Instant) { _ = invites.burn(invite, at: now) }

  /// Voids the invites that name another port than the one at which this device listens now. Returns what the user is
  /// told.
  public func cancelInvites(exceptFor port: UInt16, at now: Instant) -> [AccountEvent] {
    let stale = openInvites(at: now).filter { $0.port != port }
    guard !stale.isEmpty else { return [] }
    for invite in stale { cancel(invite, at: now) }
    return [
      .notice(
        SegueError(
          .cancelled, "invite: this device listens at another port now, so \(stale.count) open are void; make new ones"
        ))
    ]
  }

  /// Voids all invites, and ends what other devices join with them: they do not get in.
  func endInviting(_ error: SegueError) -> [AccountEvent] {
    invites.burnAll()
    var events: [AccountEvent] = []
    for var session in joins.inviters {
      for case .send(let bytes) in session.machine.end(error) { events.append(.joinSend(session.number, bytes)) }
      events.append(.joinEnded(session.number, error))
    }
    joins.inviters = []
    return events
  }

  /// The invites that can be used, oldest first: connections knock with their keys.
  public func openInvites(at now: Instant) -> [Invite] {
    invites.expire(at: now)
    return invites.invites
  }

  /// Whether a connection from there may try to join now.
  /// - Parameter source: the address.
  public func mayTry(from source: [UInt8], at now: Instant) -> Bool { invites.mayTry(from: source, at: now) }

  /// The invite for the key that a TLS client names; nil if there is none, or no longer.
  public func invite(forKey identity: [UInt8], at now: Instant) -> Invite? {
    invites.invite(for: identity, at: now)
  }

  /// Begins a connection whose TLS handshake is done.
  /// - Parameter exporter: 32 bytes of TLS (`Invite.exporterLabel`).
  /// - Returns: its number.
  public func beginInviting(_ invite: Invite, exporter: [UInt8], at now: Instant) throws(SegueError) -> UInt64 {
    let membership = try membership()
    let silent = joins.inviters.count { $0.isAutomatic == nil && isSameSecret($0.machine.invite.token, invite.token) }
    guard silent < Limits.connectionsPerInvite else {
      throw SegueError(
        .busy, "join: \(silent) connections with one invite say nothing: somebody else may have it; make a new one")
    }
    guard joins.inviters.count < (Limits.connectionsPerInvite + 1) * Limits.invites else {
      throw SegueError(.busy, "join: too many connections join now")
    }
    let number = joins.takeNumber()
    let machine = try JoinServer(
      invite: invite, exporter: exporter, deviceName: membership.deviceName, at: now, cryptography)
    joins.inviters.append(InviterAttempt(number: number, machine: machine, isAutomatic: nil))
    return number
  }

  // MARK: - Joining

  /// Begins to join, on a connection whose TLS handshake is done; the user has consented to the account.
  /// Throws INVALID_STATE if this device is in an account, or joins one already.
  /// - Returns: its number, and what to send.
  public func beginJoining(
    _ invite: Invite, exporter: [UInt8], deviceName: String, platform: String, at now: Instant
  ) throws(SegueError) -> (number: UInt64, events: [AccountEvent]) {
    try checkMayJoin()
    try DisplayName.check(deviceName, "device_name")
    let number = joins.takeNumber()
    let machine = try JoinClient(
      invite: invite, exporter: exporter, deviceName: deviceName, platform: platform, at: now, cryptography)
    joins.setGuest(number, machine)
    return (number, handle(machine.start, number, at: now))
  }

  /// To be asked before anything is dialled.
  public func checkMayJoin() throws(SegueError) {
    try requireNoAccount(to: "join another")
    guard joins.guest == nil else { throw SegueError(.busy, "join: this device is joining already") }
  }

  // MARK: - Both

  /// Handles bytes of a connection that joins.
  public func receive(_ bytes: [UInt8], onJoin number: UInt64, at now: Instant) -> [AccountEvent] {
    if var machine = joins.guest(number) {
      let outputs = machine.receive(bytes, at: now, cryptography)
      joins.setGuest(number, machine)
      return handle(outputs, number, at: now)
    }
    guard let index = joins.index(of: number), !bytes.isEmpty else { return [] }
    if joins.inviters[index].isAutomatic == nil {
      guard let isAutomatic = invites.burn(joins.inviters[index].machine.invite, at: now) else {
        return endAll(of: joins.inviters[index].machine.invite, at: now)
      }
      joins.inviters[index].isAutomatic = isAutomatic
    }
    let outputs = joins.inviters[index].machine.receive(bytes, at: now, cryptography)
    return handle(outputs, number, at: now)
  }

  /// Two connections have spoken with the key of one invite: somebody else has it, or it is over.
  private func endAll(of invite: Invite, at now: Instant) -> [AccountEvent] {
    let error = SegueError(
      .notAllowed,
      """
      join: the invite is used up, or was used twice: somebody else may have it; make a new one, and pass it on safely
      """)
    var events: [AccountEvent] = []
    for session in joins.inviters where isSameSecret(session.machine.invite.token, invite.token) {
      guard let index = joins.index(of: session.number) else { continue }
      // A device that was admitted before stays.
      events += handle(joins.inviters[index].machine.end(error), session.number, at: now)
    }
    return events
  }

  /// The connection has closed.
  public func closed(join number: UInt64, at now: Instant) -> [AccountEvent] {
    if var machine = joins.guest(number) {
      return handle(machine.closed(), number, at: now)
    }
    guard let index = joins.index(of: number) else { return [] }
    guard joins.inviters[index].isAutomatic != nil else {
      // One of several that the other device has dialled: it uses one, and drops the others.
      joins.inviters.remove(at: index)
      return []
    }
    return handle(joins.inviters[index].machine.closed(), number, at: now)
  }

  /// The user has compared the digits, and admits the device. Stored before it is answered.
  public func approve(_ number: UInt64, at now: Instant) throws(SegueError) -> [AccountEvent] {
    guard let index = joins.index(of: number),
      let hello = joins.inviters[index].machine.approved
    else { throw SegueError(.notFound, "join: nothing waits to be approved under that number") }
    do throws(SegueError) {
      let membership = try membership()
      let (record, certificate) = try membership.admitting(
        publicKey: hello.publicKey, name: hello.name, platform: hello.platform, at: now.seconds, cryptography)
      let events = try commit(record, at: now)
      let outputs = try joins.inviters[index].machine.answer(
        device: try DeviceIdentity.id(ofKey: hello.publicKey), root: record.root, certificate: certificate,
        roster: record.roster, at: now)
      return events + handle(outputs, number, at: now)
    } catch {
      return handle(joins.inviters[index].machine.end(error), number, at: now)
    }
  }

  /// The user does not admit the device, or at the joining device does not go on.
  public func decline(_ number: UInt64, at now: Instant) -> [AccountEvent] {
    if var machine = joins.guest(number) {
      return handle(machine.end(SegueError(.declined, "join: its user has given up")), number, at: now)
    }
    guard let index = joins.index(of: number) else { return [] }
    return handle(joins.inviters[index].machine.end(SegueError(.declined, "join: the user declined")), number, at: now)
  }

  /// Ends joins that took too long.
  func tickJoins(at now: Instant) -> [AccountEvent] {
    var events: [AccountEvent] = []
    if let (number, guest) = joins.guest {
      var machine = guest
      events += handle(machine.tick(at: now), number, at: now)
    }
    for session in joins.inviters {
      guard let index = joins.index(of: session.number) else { continue }
      events += handle(joins.inviters[index].machine.tick(at: now), session.number, at: now)
    }
    return events
  }

  private func handle(_ outputs: [JoinOutput], _ number: UInt64, at now: Instant) -> [AccountEvent] {
    var events: [AccountEvent] = []
    for output in outputs {
      switch output {
      case .send(let bytes): events.append(.joinSend(number, bytes))
      case .show(let question): events.append(.joinShows(number, question))
      case .ask(let question):
        guard joins.inviters.first(where: { $0.number == number })?.isAutomatic == true else {
          events.append(.joinAsks(number, question))
          continue
        }
        if let (here, there) = question.clocks {
          let error = ClockAdvice.difference(here: here, there: there, question.deviceName)
          events += end(number, error ?? SegueError(.declined, "join: the clocks differ"), at: now)
          continue
        }
        events.append(.joinShows(number, question))
        do throws(SegueError) { events += try approve(number, at: now) } catch { events.append(.notice(error)) }
      case .store(let record): events += store(record, number, at: now)
      case .confirmed(let device):
        do throws(SegueError) {
          let record = try membership().confirming(device, nil, at: now.seconds, cryptography)
          if let record { events += try commit(record, at: now) }
        } catch { events.append(.notice(error)) }
      case .rejected(let device):
        // Its certificate is on the way to somebody who says that it was not stored.
        do throws(SegueError) { events += try revoke(device, at: now) } catch { events.append(.notice(error)) }
      case .ended(let error):
        joins.remove(number)
        events.append(.joinEnded(number, error))
      }
    }
    return events
  }

  /// Ends the connection of a device that joins: there is no user to be asked about what is wrong.
  private func end(_ number: UInt64, _ error: SegueError, at now: Instant) -> [AccountEvent] {
    guard let index = joins.index(of: number) else { return [] }
    return handle(joins.inviters[index].machine.end(error), number, at: now)
  }

  /// Stores what makes this device one of the account, and says so to the inviting one.
  private func store(_ record: AccountRecord, _ number: UInt64, at now: Instant) -> [AccountEvent] {
    guard var machine = joins.guest?.machine else { return [] }
    var events: [AccountEvent] = []
    do throws(SegueError) {
      // The user has created an account meanwhile.
      try requireNoAccount(to: "join another")
    } catch { return handle(machine.end(error), number, at: now) }
    do throws(SegueError) {
      events = try begin(record, at: now)
      return events + handle(try machine.stored(cryptography), number, at: now)
    } catch {
      // The other device is told that this one did not join: what may be on the disk all the same must not say
      // otherwise. If it was stored, only the signature failed, and the first link confirms it.
      if events.isEmpty { try? storage.erase() }
      return events + handle(machine.end(error), number, at: now)
    }
  }
}
