import SegueModel
import SegueWire

/// Links with the hubs of other devices, which come and go.
extension HubEngine {
  /// Milliseconds after which a hub that was not heard of is asked for a sign of life.
  static let hubAskTime: Int64 = 10_000
  /// Milliseconds after which a hub that was not heard of is given up.
  static let hubSilenceTime: Int64 = 30_000

  /// A connection to another hub is there. Whoever gives it to us vouches for whom it leads to.
  /// - Parameter side: which end of it this hub has; the other has the other.
  public func connectedHub(_ number: PeerNumber, side: LinkSide, _ now: Moment) {
    self.now = now
    let peer = Peer(number: number, isHub: true, side: side, helloBy: now.uptime + Self.helloTime)
    peers[number] = peer
    peer.index = hubList.count
    hubList.append(peer)
    send(.link(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum), to: peer)
    checkHubs(by: peer.helloBy)
  }

  func handle(_ message: Message, fromHub peer: Peer) throws(SegueError) {
    guard let hub = peer.hub else {
      guard case .link(let hub, let version, let minimum) = message else {
        if case .goodbye = message { return close(peer) }
        throw SegueError(.malformed, "the first message of a hub must be link")
      }
      return meet(hub, peer, version: version, minimum: minimum)
    }
    switch message {
    case .goodbye: close(peer)
    case .ping(let number): send(.pong(number), to: peer)
    case .offer(let offer, let timing, let route):
      guard let route, route.hubs.first == hub.identity.id else {
        throw SegueError(.malformed, "an offer between hubs must say by which it comes")
      }
      heard(offer, timing, route, by: peer, hub)
    case .gone(let id, let withdrawal): heardGone(id, withdrawal, by: peer)
    case .fetch(let continuation, let milliseconds, let receiver):
      guard let receiver else { throw SegueError(.malformed, "a fetch between hubs must name the receiver") }
      fetch(continuation, milliseconds: milliseconds, receiver, by: peer)
    case .state(let id, _, let channel, let size, let isStale):
      try state(id, channel: channel, size: size, isStale: isStale, from: peer)
    case .refused(let id, _, let error): refused(id, error, by: peer)
    case .outcome(let continuation, let outcome, let error, let receiver):
      guard let receiver else { throw SegueError(.malformed, "an outcome between hubs must name the receiver") }
      self.outcome(continuation, outcome, error, receiver, from: peer)
    case .noted(let id, _): noted(id, by: peer)
    case .vanished(let id): vanished(id, beyond: peer)
    case .link: throw SegueError(.malformed, "link came twice")
    case .pong, .hello, .welcome, .put, .withdraw, .ready, .explain, .explanation: break
    }
  }

  private func meet(_ hub: HubIdentity, _ peer: Peer, version: UInt64, minimum: UInt64) {
    guard minimum <= ProtocolVersion.current, version >= ProtocolVersion.minimum else {
      let ours = "\(ProtocolVersion.minimum)…\(ProtocolVersion.current)"
      return dismiss(
        peer, SegueError(.unsupportedVersion, "this hub speaks protocol \(ours), the other \(minimum)…\(version)"))
    }
    guard hub.id != identity.id else {
      return dismiss(peer, SegueError(.invalidState, "the link leads back to the hub that it comes from"))
    }
    // Two ways to one hub: the newer counts, and one of the two hubs says so.
    if identity.id < hub.id, let former = hubList.first(where: { $0.hub?.identity.id == hub.id }) {
      dismiss(former, SegueError(.invalidState, "the same two hubs were linked again"))
      forget(former)
    }
    peer.hub = LinkedHub(hub, heardAt: now.uptime)
    peer.pending = offeredIdentifiers
    tellPending(peer)
    checkHubs(by: now.uptime + Self.hubAskTime)
  }

  /// All offers that are known, of this device and of others.
  var offeredIdentifiers: [Identifier] {
    var identifiers = peerList.compactMap { $0.offer?.description.id }
    for peer in hubList {
      for offer in peer.hub?.offers ?? [] where offers[offer.description.id] === offer {
        identifiers.append(offer.description.id)
      }
    }
    return identifiers
  }

  func forgetHub(_ peer: Peer) {
    guard peer.index < hubList.count, hubList[peer.index] === peer else { return }
    let last = hubList.removeLast()
    if last !== peer {
      hubList[peer.index] = last
      last.index = peer.index
    }
    if let hub = peer.hub { dropAll(by: hub) }
    held.removeAll { $0.peer === peer }
    heldOutcomes.removeAll { $0.peer === peer }
    leaveContinuations(peer)
    peer.pending = []
  }

  // MARK: Signs of life

  private func checkHubs(by deadline: Int64) { hubsCheckedAt = min(hubsCheckedAt ?? deadline, deadline) }

  func tickHubs() {
    guard let at = hubsCheckedAt, at <= now.uptime else { return }
    hubsCheckedAt = nil
    for peer in hubList where !peer.isClosing {
      guard let hub = peer.hub else {
        if peer.helloBy <= now.uptime {
          dismiss(peer, SegueError(.remoteApplicationTimedOut, "no word within \(Self.helloTime) ms"))
        } else {
          checkHubs(by: peer.helloBy)
        }
        continue
      }
      if hub.heardAt + Self.hubSilenceTime <= now.uptime {
        dismiss(peer, SegueError(.remoteApplicationTimedOut, "nothing heard for \(Self.hubSilenceTime) ms"))
        forget(peer)
        continue
      }
      if !hub.isAsked, hub.heardAt + Self.hubAskTime <= now.uptime {
        hub.isAsked = true
        send(.ping(UInt64(clamping: now.uptime)), to: peer)
      }
      checkHubs(by: hub.heardAt + (hub.isAsked ? Self.hubSilenceTime : Self.hubAskTime))
    }
  }
}
