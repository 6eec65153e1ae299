// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The hub's work for the agent's participant, which delivers continuations to apps that did not run (R3.8), and keeps
/// the activities that apps leave (R2.5).
final class HubDeliveries: HubFeature {
  let connections: HubConnections
  private let presence: AgentPresence
  private let offers: HubOffers
  private let transfers: HubTransfers
  private let continuations: HubContinuations

  init(
    _ connections: HubConnections, _ presence: AgentPresence, _ offers: HubOffers, _ transfers: HubTransfers,
    _ continuations: HubContinuations
  ) {
    self.connections = connections
    self.presence = presence
    self.offers = offers
    self.transfers = transfers
    self.continuations = continuations
  }

  /// The participant delivers: records the way back, and passes it on. If the app is gone, the participant knows, or
  /// is about to learn it.
  func deliver(_ delivery: Message.DeliverRequest, from agent: Peer) {
    guard let participant = agent.app, presence.isAgent(participant.id), let peer = peers[app: delivery.to] else {
      return
    }
    let continuation = Message.Continuation(
      id: delivery.continuation.ofDelivery, origin: participant.id, activity: delivery.offer.description.id)
    guard
      continuations.beginDelivery(
        continuation, to: delivery.to, peer, from: agent, milliseconds: delivery.milliseconds)
    else { return send(.peerLost(continuation.id), to: agent) }
    send(.deliver(delivery), to: peer)
    continuations.resumeHeld()
  }

  /// An app leaves an activity with the participant, or takes it back (channel 0).
  func keep(
    _ activity: Identifier, channel: FramedConnection.Channel, size: UInt64, from peer: Peer, _ app: AppIdentity
  ) throws(SegueError) {
    if channel != 0 { try peer.link.accept(channel) }
    guard let agent = presence.agentPeer, !presence.owns(peer) else { return peer.link.reset(channel) }
    var outChannel: FramedConnection.Channel = 0
    if channel == 0 {
      offers.takeBack(activity, of: app.id)
    } else {
      guard offers.leave(activity, by: peer, app),
        let relayed = transfers.relay(from: peer, channel, to: agent, of: peer.principal)
      else {
        return peer.link.reset(channel)
      }
      outChannel = relayed
    }
    send(.keep(activity, app: app.id, channel: outChannel, size: size), to: agent)
  }

  /// Passes on the file of an attachment of what an app leaves, while that is on its way.
  func keepAttachment(
    _ name: String, changed: UInt64, of channel: FramedConnection.Channel, _ descriptor: PassedDescriptor?,
    from peer: Peer
  ) {
    guard let descriptor, !descriptor.isLost, case .relay(let relay)? = peer.channels[channel], relay.from === peer,
      relay.to === presence.agentPeer, relay.countAttachment()
    else { return }
    send(.keepAttachment(channel: relay.outChannel, name, changed: changed), to: relay.to, with: descriptor)
  }
}
