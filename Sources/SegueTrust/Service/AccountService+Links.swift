import SegueModel

/// What linked devices tell each other about the account.
extension AccountService {
  /// The first message of a new link. Throws NOT_FOUND without an account.
  public func greeting(at now: Instant) throws(SegueError) -> [UInt8] {
    try RosterNumbers(try membership().record.roster).greeting(at: now)
  }

  /// Handles a message of a linked device.
  /// - Parameter certificate: which that device has shown in TLS. It is checked again here: it may have been revoked
  ///   since, and nothing of a revoked device counts.
  public func receive(_ message: [UInt8], from certificate: [UInt8], at now: Instant) -> [AccountEvent] {
    let (peer, shown): (Identifier, CertificateFields)
    do throws(SegueError) {
      let verified = try verify(certificate, at: now)
      (peer, shown) = (verified.identity.device, verified.fields)
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
      return try receive(message, from: peer, shown, at: now)
    } catch {
      // What is wrong with this device's certificate is about this device, as far as it goes.
      return notice(isOwn ? error : named(error, peer), of: peer, at: now)
    }
  }

  /// Nothing if the device has caused too many lately.
  private func notice(_ error: SegueError, of peer: Identifier, at now: Instant) -> [AccountEvent] {
    answers.take(peer.bytes, at: now.uptime) ? [.notice(error)] : []
  }

  /// Says first which device an error is about, unless this one has failed.
  private func named(_ error: SegueError, _ peer: Identifier) -> SegueError {
    guard error.status != .system, let name = (try? membership())?.roster[peer]?.name else { return error }
    return error.about(name)
  }

  private func receive(
    _ message: TrustMessage, from peer: Identifier, _ shown: CertificateFields, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    let membership = try membership()
    switch message {
    case .numbers(let term, let number, let digest, let date):
      let own = membership.record.roster
      let isOwnLater = (own.roster.term, own.roster.number) >= (term, number) && !own.digest.elementsEqual(digest)
      let events = isOwnLater ? try ownRoster(to: peer, at: now) : []
      return events + (try greet(peer, shown, date: date, at: now))
    case .roster(let encoding, let signature):
      switch try membership.adopting(encoding, signature, at: now.seconds, cryptography) {
      case .known: return []
      case .newer(let record, let hasMerged): return try commit(record, from: hasMerged ? nil : peer)
      case .objection: return try ownRoster(to: peer, at: now)
      }
    // Only the manager speaks for itself.
    case .certificate where peer != membership.roster.manager: return []
    case .refusal where peer != membership.roster.manager: return []
    case .certificate(let renewed):
      try keep(try membership.taking(certificate: renewed, at: now.seconds, cryptography))
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
    let membership = try membership()
    let name = membership.roster[peer]?.name ?? "a device"
    let difference = ClockAdvice.difference(here: now.seconds, there: date, name)
    var events = difference.map { notice($0.about(name), of: peer, at: now) } ?? []
    if membership.isManager {
      let record = try signed(for: peer, hasLeft: false) { () throws(SegueError) in
        try membership.confirming(peer, shown, at: now.seconds, cryptography)
      }
      if let record { events += try commit(record) }
    } else if peer == membership.roster.manager, difference == nil, membership.isRenewalDue(at: now.seconds) {
      // By which of two clocks that differ?
      events.append(try renewal(membership, at: now))
    }
    return events
  }

  /// Asks the manager for another certificate.
  func renewal(_ membership: Membership, at now: Instant) throws(SegueError) -> AccountEvent {
    renewalAskedAt = now.uptime
    return .send(to: membership.roster.manager, try TrustMessage.renew.encoding())
  }

  /// Nothing if the device has had it too often lately.
  private func ownRoster(to peer: Identifier, at now: Instant) throws(SegueError) -> [AccountEvent] {
    guard answers.take(peer.bytes, at: now.uptime) else { return [] }
    let roster = try membership().record.roster
    let message = TrustMessage.roster(encoding: roster.encoding, signature: roster.signature)
    return [.send(to: peer, try message.encoding())]
  }

  /// What a device asks of the manager, for itself alone.
  private func serve(
    _ message: TrustMessage, _ peer: Identifier, _ shown: CertificateFields, at now: Instant
  ) throws(SegueError) -> [AccountEvent] {
    do throws(SegueError) {
      let membership = try membership()
      _ = try membership.rootKey(to: "do that")
      guard membership.roster[peer] != nil else { throw Membership.unknown }
      switch message {
      case .renew: requests.add(.renewal(shown), of: peer)
      case .rename(let name): requests.add(.name(name), of: peer)
      // A device that leaves is let go, however much it has asked for.
      case .leave:
        let record = try signed(for: peer, hasLeft: true) { () throws(SegueError) in
          try membership.revoking(peer, at: now.seconds, cryptography)
        }
        if let record { return try commit(record) }
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
    while let (device, kind) = requests.take(at: now.uptime) {
      do throws(SegueError) {
        let membership = try membership()
        // It may have been removed since.
        guard membership.roster[device] != nil else { continue }
        switch kind {
        // It may have waited while this machine slept: who comes too late joins again.
        case .renewal(let shown) where shown.until < now.seconds: continue
        case .renewal(let shown):
          let (record, renewed) = try membership.renewing(shown, at: now.seconds, cryptography)
          events += try commit(record) + [.send(to: device, try TrustMessage.certificate(renewed).encoding())]
        case .name(let name):
          events += try commit(try membership.renaming(device, name, at: now.seconds, cryptography))
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
    if let found = unstored.first(where: { $0.device == device && $0.hasLeft == hasLeft }) { return found.record }
    guard let record = try sign() else { return nil }
    unstored.append((device, hasLeft, record))
    return record
  }

  private func refuse(_ peer: Identifier, _ error: SegueError, at now: Instant) -> [AccountEvent] {
    let reason = error.status == .system ? "it could not store that" : error.message
    let told = try? TrustMessage.refusal(status: error.status, reason: reason).encoding()
    return (told.map { [.send(to: peer, $0)] } ?? []) + notice(named(error, peer), of: peer, at: now)
  }
}
