// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Registers and removes the peers of a hub, and informs the features that this concerns.
final class HubRegistration: HubFeature {
  let connections: HubConnections
  private let presence: AgentPresence
  private let offers: HubOffers
  private let links: HubLinks
  private let transfers: HubTransfers
  private let continuations: HubContinuations
  private let explanations: HubExplanations

  init(
    _ connections: HubConnections, _ presence: AgentPresence, _ offers: HubOffers, _ links: HubLinks,
    _ transfers: HubTransfers, _ continuations: HubContinuations, _ explanations: HubExplanations
  ) {
    self.connections = connections
    self.presence = presence
    self.offers = offers
    self.links = links
    self.transfers = transfers
    self.continuations = continuations
    self.explanations = explanations
  }

  /// - Parameter knowsManifest: an agent has welcomed the app before, and said what its manifest was: only the first
  ///   welcome of an open adds (R6.1).
  func register(_ app: AppIdentity, _ peer: Peer, version: UInt64, minimum: UInt64, knowsManifest: Bool) {
    guard minimum <= ProtocolVersion.current, version >= ProtocolVersion.minimum else {
      let ours: DiagnosticText = "\(ProtocolVersion.minimum)…\(ProtocolVersion.current)"
      return connections.disconnect(
        peer, SegueError(.unsupportedVersion, "the hub speaks protocol \(ours), the app \(minimum)…\(version)"))
    }
    if let refusal = peer.sandbox?.refusal(of: app) { return connections.disconnect(peer, refusal) }
    if let former = peers[app: app.id] {
      // The same app again: its former connection is dead, but the end has not arrived.
      connections.disconnect(former, SegueError(.connectionUnavailable, "the app has connected again"))
      remove(former)
    }
    let manifest = knowsManifest ? nil : presence.manifests?(app.bundleIdentifier)
    let said = peer.sandbox == nil ? app : app.sandboxed
    let app = manifest.map { said.adding($0) } ?? said
    peers.register(peer, app)
    connections.send(
      .welcome(
        version: min(version, ProtocolVersion.current), generation: connections.generation,
        deviceName: connections.identity.deviceName, agent: presence.agent, manifest: manifest),
      to: peer)
    presence.tellFolders(peer)
    offers.subscribe(peer, app)
    continuations.sendHeld(to: app.id)
    presence.report(peer)
  }

  /// Removes the peers that were dropped, last in each call: loops of the call may still refer to them.
  func removeDropped() { while let peer = connections.takeDropped() { remove(peer) } }

  /// Removes a peer and notifies everyone involved with it. Idempotent.
  @inline(never)
  private func remove(_ peer: Peer) {
    if peer.isHub {
      guard peers.removeHub(peer) else { return }
      links.remove(peer)
      transfers.failStreams(over: peer)
    } else {
      peers.removeUnidentified(peer)
      guard peers.deregister(peer), let app = peer.app else { return }
      presence.reportAbsence(of: app)
      if let offer = peer.offer { offers.withdraw(offer) }
      transfers.failUnanswered(of: app.id)
      offers.unsubscribe(peer, app)
      links.disconnectAll(of: peer)
      explanations.remove(peer)
    }
    continuations.remove(peer)
    peer.pending.removeAll()
  }
}
