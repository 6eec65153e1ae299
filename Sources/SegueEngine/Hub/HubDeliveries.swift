import SegueModel
import SegueWire

/// The agent's participant delivers continuations to apps that did not run (R3.8).
extension HubContinuations {
  /// The participant delivers: records the way back, and passes it on. If the app is gone, the participant knows, or
  /// is about to learn it.
  func deliver(_ delivery: Message.InboxDelivery, from agent: Peer) {
    guard let participant = agent.app, presence.isAgent(participant.id), let peer = peers[app: delivery.to] else {
      return
    }
    let continuation = Message.Continuation(
      id: delivery.continuation.ofDelivery, origin: participant.id, activity: delivery.offer.description.id)
    // Another process of the app may have had it, and failed.
    if let former = table[continuation.id]?.receiver, former != delivery.to {
      table.removeIdle(continuation.id, from: former)
    }
    guard
      let route = table.connect(continuation, delivery.to, from: peer, to: agent, now.uptime)
    else { return send(.peerLost(continuation.id), to: agent) }
    table.begin(route, until: now.uptime + delivery.milliseconds + Self.grace)
    send(.deliver(delivery), to: peer)
    resumeHeld()
  }

  /// Forwards the fetch of an app to which the participant has delivered.
  /// - Returns: false if this is no such continuation.
  func forwardDelivered(
    _ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, by peer: Peer
  ) -> Bool {
    guard presence.isAgent(continuation.origin), let route = table[continuation.id], route.attempt != nil,
      route.receiverPeer === peer, let origin = route.originPeer
    else { return false }
    send(.fetch(continuation, milliseconds: milliseconds, receiver: receiver), to: origin)
    return true
  }
}
