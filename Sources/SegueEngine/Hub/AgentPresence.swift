// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Tells an agent's participant which apps are open, at the hub that the agent carries. The participant holds
/// continuations for apps that do not run (R3.8). At a hub that an app carries, the participant is an app like any
/// other.
final class AgentPresence: HubFeature {
  /// The most bytes of activity types of an app that the participant gets.
  private static let typesSize = 1024

  let connections: HubConnections
  /// The agent that carries the hub; nil if an app does.
  let agent: AgentDescription?
  /// See `HubEngine.manifests`.
  var manifests: ((_ bundleIdentifier: String) -> AppManifest?)?

  /// The text of the user's folders (R13.4), as `Message.folders` has it; nil: not known yet.
  private var folders: [UInt8]?

  /// See `HubEngine.pageReasons`.
  var pageReasons: ((AppIdentity, OfferDescription) -> [Message.Explanation])?

  /// See `HubEngine.unheardFailure`.
  var unheardFailure: ((UnheardFailure) -> Void)?

  init(_ connections: HubConnections, _ agent: AgentDescription?) {
    self.connections = connections
    self.agent = agent
  }

  /// Whether the app is the participant of the agent that carries this hub.
  func isAgent(_ app: Identifier) -> Bool { agent?.participant == app }

  /// Nil while it is not registered.
  var agentPeer: Peer? { agent?.participant.flatMap { peers[app: $0] } }

  /// Whether it is the agent's participant, or offers for the agent what an app has left (R2.5): a connection of its
  /// process.
  func owns(_ peer: Peer) -> Bool { agentPeer.map { $0.principal == peer.principal } ?? false }

  /// The number of apps besides one of them, without those of the agent.
  func appCount(besides peer: Peer) -> Int { peers.apps.count { $0 !== peer && !owns($0) } }

  /// The receiver as the origin sees it: the agent names the app for which it asks.
  func receiver(_ app: AppIdentity, named: Receiver?) -> Receiver {
    guard let named, isAgent(app.id) else {
      return Receiver(
        id: app.id, deviceName: connections.deviceName, appName: app.name, bundleIdentifier: app.bundleIdentifier)
    }
    return Receiver(
      id: app.id, deviceName: connections.deviceName, appName: named.appName,
      bundleIdentifier: named.bundleIdentifier)
  }

  // MARK: The user's folders

  /// See `HubEngine.setFolders`.
  func setFolders(_ text: [UInt8]) {
    guard folders != text else { return }
    folders = text
    for peer in peers.apps { tellFolders(peer) }
  }

  /// An app has registered, or the folders have changed. In a sandbox other folders have these paths (R13.8).
  func tellFolders(_ peer: Peer) {
    guard agent != nil, !owns(peer), peer.sandbox == nil, let folders else { return }
    send(.folders(folders), to: peer)
  }

  // MARK: Open apps

  /// An app has registered: the participant learns of it, and a new participant of all. The apps learn of the
  /// participant.
  func report(_ peer: Peer) {
    guard let agent = agentPeer else { return }
    for other in peer === agent ? peers.apps : [peer] where !owns(other) {
      report(other, to: agent)
      send(.keeps, to: other)
    }
  }

  private func report(_ peer: Peer, to agent: Peer) {
    guard let session = peer.appSession, !session.identity.isChooser else { return }
    send(
      .present(described(session.identity), accepts: session.acceptsDeliveries, principal: peer.principal.id), to: agent
    )
  }

  /// With as many types as fit.
  private func described(_ app: AppIdentity) -> AppIdentity {
    var types: [String] = []
    var size = 0
    for type in app.types {
      size += Text.size(type)
      guard size <= Self.typesSize else { break }
      types.append(type)
    }
    return AppIdentity(
      known: app.id, bundleIdentifier: app.bundleIdentifier, name: app.name, team: app.team, types: types)
  }

  func reportAbsence(of app: AppIdentity) {
    if let agent = agentPeer, !app.isChooser { send(.absent(app.id), to: agent) }
  }

  /// A continuation in an app has failed, and no function of its host was told (R3.13).
  func note(_ type: String, _ error: SegueError, age: Int64, of app: AppIdentity, _ principal: Principal) {
    unheardFailure?(
      UnheardFailure(
        bundleIdentifier: app.bundleIdentifier, appName: app.name, type: type, error: error,
        date: now.date - Double(age) / 1_000, principal: principal.id))
  }

  func setAccepts(_ accepts: Bool, _ peer: Peer) {
    guard let session = peer.appSession, session.acceptsDeliveries != accepts else { return }
    session.setAcceptsDeliveries(accepts)
    if let agent = agentPeer { report(peer, to: agent) }
  }
}
