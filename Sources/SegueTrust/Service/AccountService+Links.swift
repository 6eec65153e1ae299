import SegueModel

/// What linked devices tell each other about the account.
extension AccountService {
  /// The first message of a new link. Throws NOT_FOUND without an account.
  public func greeting(at now: Instant) throws(SegueError) -> [UInt8] {
    try TrustMessage.numbers(roster: try membership().roster.number, date: now.seconds).encoding()
  }

  /// Handles a message of a linked device.
  /// - Parameter certificate: which that device has shown in TLS. It is checked again here: it may have been revoked
  ///   since, and nothing of a revoked device counts.
  public func receive(_ message: [UInt8], from certificate: [UInt8], at now: Instant) -> [AccountEvent] {
    let peer: Identifier
    do throws(SegueError) {
      peer = try accepted(certificate, at: now).device
    } catch {
      guard let fields = try? cryptography.readCertificate(certificate), let identity = try? DeviceIdentity(of: fields)
      else { return [.notice(error)] }
      return [.cut(identity.device), .notice(error)]
    }
    do throws(SegueError) {
      // One of a later version is skipped.
      guard let message = try TrustMessage.known(message) else { return [] }
      return try receive(message, from: peer, certificate, at: now)
    } catch {
      return [.notice(error)]
    }
  }

  private func receive(
    _ message: TrustMessage, from peer: Identifier, _ certificate: [UInt8], at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    switch message {
    case .numbers(let roster, let date): return try greet(peer, roster: roster, date: date, at: now)
    case .roster(let encoding, let signature):
      switch try membership.adopting(encoding, signature, at: now.seconds, cryptography) {
      case .known: return []
      case .newer(let record, let hasMerged): return try commit(record, from: hasMerged ? nil : peer)
      case .objection: return [try ownRoster(to: peer)]
      }
    case .certificate(let renewed):
      try keep(try membership.taking(certificate: renewed, at: now.seconds, cryptography))
      return [.credentialsChanged]
    case .refusal(let status, let reason):
      let text = String(decoding: Text.oneLine(reason), as: UTF8.self)
      return [.notice(SegueError(status, "account: the manager says: \(text)"))]
    case .renew, .rename, .leave: return try serve(message, peer, certificate, at: now)
    }
  }

  private func greet(
    _ peer: Identifier, roster: UInt64, date: Int64, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    var events: [AccountEvent] = []
    let name = membership.roster[peer]?.name ?? "a device"
    if let error = ClockAdvice.difference(here: now.seconds, there: date, name) { events.append(.notice(error)) }
    if roster < membership.roster.number { events.append(try ownRoster(to: peer)) }
    if membership.isManager {
      if let record = try membership.confirming(peer, at: now.seconds, cryptography) { events += try commit(record) }
    } else if peer == membership.roster.manager, membership.isRenewalDue(at: now.seconds) {
      events.append(.send(to: peer, try TrustMessage.renew.encoding()))
    }
    return events
  }

  private func ownRoster(to peer: Identifier) throws(SegueError) -> AccountEvent {
    let roster = try membership().record.roster
    return .send(
      to: peer, try TrustMessage.roster(encoding: roster.encoding, signature: roster.signature).encoding())
  }

  /// What a device asks of the manager, for itself alone.
  private func serve(
    _ message: TrustMessage, _ peer: Identifier, _ certificate: [UInt8], at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    do throws(SegueError) {
      let membership = try membership()
      _ = try membership.rootKey(to: "do that")
      guard requests.take(peer, at: now.uptime) else {
        throw SegueError(.busy, "account: the last request was less than \(RequestLimiter.interval / 1000) s ago")
      }
      switch message {
      case .renew:
        let publicKey = try cryptography.readCertificate(certificate).publicKey
        let (record, renewed) = try membership.renewing(publicKey: publicKey, at: now.seconds, cryptography)
        return try commit(record) + [.send(to: peer, try TrustMessage.certificate(renewed).encoding())]
      case .rename(let name):
        return try commit(try membership.renaming(peer, name, at: now.seconds, cryptography))
      case .leave: return try commit(try membership.revoking(peer, at: now.seconds, cryptography))
      default: return []
      }
    } catch {
      let reason = error.status == .system ? "it could not store that" : error.message
      return [
        .send(to: peer, try TrustMessage.refusal(status: error.status, reason: reason).encoding()), .notice(error),
      ]
    }
  }
}
