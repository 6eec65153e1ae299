import SegueModel
import SegueWire

/// Registration and removal of apps.
extension HubEngine {
  func register(_ app: AppIdentity, _ peer: Peer, version: UInt64, minimum: UInt64) {
    guard minimum <= ProtocolVersion.current, version >= ProtocolVersion.minimum else {
      let ours: DiagnosticText = "\(ProtocolVersion.minimum)…\(ProtocolVersion.current)"
      return disconnect(
        peer, SegueError(.unsupportedVersion, "the hub speaks protocol \(ours), the app \(minimum)…\(version)"))
    }
    if let former = peers[app: app.id] {
      // The same app again: its former connection is dead, but the end has not arrived.
      disconnect(former, SegueError(.connectionUnavailable, "the app has connected again"))
      remove(former)
    }
    peers.register(peer, app)
    send(
      .welcome(
        version: min(version, ProtocolVersion.current), generation: generation, deviceName: identity.deviceName,
        agent: agent),
      to: peer)
    subscribe(peer, app)
    peer.pending.expectReady()
    sendPending(peer)
    sendHeld(to: app.id)
    reportPresence(of: peer)
  }

  private func subscribe(_ peer: Peer, _ app: AppIdentity) {
    if app.isChooser {
      offers.subscribeToAll(peer)
      peer.pending.replace(by: offeredIdentifiers.map { .activity($0) })
      return
    }
    for id in offers.subscribe(peer, app) { peer.pending.append(.activity(id)) }
  }

  /// Removes a peer and notifies everyone involved with it. Idempotent.
  @inline(never)
  func remove(_ peer: Peer) {
    if peer.isHub { return removeHub(peer) }
    peers.removeUnidentified(peer)
    guard peers.deregister(peer), let app = peer.app else { return }
    reportAbsence(of: app)
    if let offer = peer.offer { withdraw(offer) }
    failUnanswered(of: app.id)
    offers.unsubscribe(peer, app)
    disconnectLinks(of: peer)
    dropExplains(of: peer)
    leaveContinuations(peer)
    peer.pending.removeAll()
  }
}
