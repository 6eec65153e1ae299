import SegueModel
import SegueWire

/// The agent's participant delivers continuations to apps that did not run (R3.8), and keeps what apps leave (R2.5).
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

  /// An app leaves an activity with the participant, or takes it back (channel 0).
  func keep(
    _ activity: Identifier, channel: Link.Channel, size: UInt64, from peer: Peer, _ app: AppIdentity
  ) throws(SegueError) {
    if channel != 0 { try peer.link.accept(channel) }
    guard let agent = presence.agentPeer, !presence.owns(peer) else { return peer.link.reset(channel) }
    var outChannel: Link.Channel = 0
    if channel != 0 {
      guard let relayed = transfers.relay(from: peer, channel, to: agent, of: peer.account) else {
        return peer.link.reset(channel)
      }
      outChannel = relayed
    }
    send(.keep(activity, app: app.id, channel: outChannel, size: size), to: agent)
  }

  /// Passes on the file of an attachment of what an app leaves, while that is on its way.
  func keepAttachment(
    _ name: String, changed: UInt64, of channel: Link.Channel, _ descriptor: PassedDescriptor?, from peer: Peer
  ) {
    guard let descriptor, !descriptor.isLost, case .relay(let relay)? = peer.channels[channel], relay.from === peer,
      relay.to === presence.agentPeer, relay.attachments < Limits.attachments
    else { return }
    relay.attachments += 1
    send(.keepAttachment(channel: relay.outChannel, name, changed: changed), to: relay.to, with: descriptor)
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
