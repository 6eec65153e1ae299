import SegueModel
import SegueWire

/// What the hub of an agent does for the agent's participant, which holds continuations for apps that do not run
/// (R3.8). To a hub that an app carries the participant is an app like any other.
extension HubEngine {
  /// The most bytes of activity types of an app that the participant gets.
  private static let typesSize = 1024

  /// Whether the app is the participant of the agent that carries this hub.
  func isAgent(_ app: Identifier) -> Bool { agent?.participant == app }

  /// Nil while it is not registered.
  private var agentPeer: Peer? { agent?.participant.flatMap { peers[app: $0] } }

  /// The number of apps besides one of them, without the agent's participant.
  func appCount(besides peer: Peer) -> Int {
    let agent = agentPeer
    return peers.apps.count - 1 - (agent != nil && agent !== peer ? 1 : 0)
  }

  /// The receiver as the origin sees it: the agent names the app for which it asks.
  func receiver(_ app: AppIdentity, named: Receiver?) -> Receiver {
    guard let named, isAgent(app.id) else { return receiver(app) }
    return Receiver(
      id: app.id, deviceName: identity.deviceName, appName: named.appName, bundleIdentifier: named.bundleIdentifier)
  }

  // MARK: Which apps are open

  /// An app has registered: the participant learns of it, and a new participant of all.
  func reportPresence(of peer: Peer) {
    guard let agent = agentPeer else { return }
    guard peer === agent else { return reportPresence(of: peer, to: agent) }
    for other in peers.apps where other !== agent { reportPresence(of: other, to: agent) }
  }

  private func reportPresence(of peer: Peer, to agent: Peer) {
    guard let session = peer.appSession, !session.identity.isChooser else { return }
    send(.present(described(session.identity), accepts: session.acceptsDeliveries), to: agent)
  }

  /// With as many types as fit.
  private func described(_ app: AppIdentity) -> AppIdentity {
    var types: [String] = []
    var size = 0
    for type in app.types {
      size += type.utf8.count
      guard size <= Self.typesSize else { break }
      types.append(type)
    }
    return AppIdentity(
      known: app.id, bundleIdentifier: app.bundleIdentifier, name: app.name, team: app.team, types: types)
  }

  func reportAbsence(of app: AppIdentity) {
    if let agent = agentPeer, !app.isChooser { send(.absent(app.id), to: agent) }
  }

  func setAccepts(_ accepts: Bool, _ peer: Peer) {
    guard let session = peer.appSession, session.acceptsDeliveries != accepts else { return }
    session.setAcceptsDeliveries(accepts)
    if let agent = agentPeer { reportPresence(of: peer, to: agent) }
  }

  // MARK: Deliveries

  /// The participant delivers: records the way back, and passes it on. If the app is gone, the participant knows, or
  /// is about to learn it.
  func deliver(_ delivery: Message.InboxDelivery, from agent: Peer) {
    guard let participant = agent.app, isAgent(participant.id), let peer = peers[app: delivery.to] else { return }
    let continuation = Message.Continuation(
      id: delivery.continuation.ofDelivery, origin: participant.id, activity: delivery.offer.description.id)
    // Another process of the app may have had it, and failed.
    if let former = continuations[continuation.id]?.receiver, former != delivery.to {
      continuations.removeIdle(continuation.id, from: former)
    }
    guard
      let route = continuations.connect(continuation, delivery.to, from: peer, to: agent, now.uptime)
    else { return send(.peerLost(continuation.id), to: agent) }
    continuations.begin(route, until: now.uptime + delivery.milliseconds + Self.continuationGrace)
    send(.deliver(delivery), to: peer)
    resumeHeld()
  }

  /// Forwards the fetch of an app to which the participant has delivered.
  /// - Returns: false if this is no such continuation.
  func forwardDelivered(
    _ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, by peer: Peer
  ) -> Bool {
    guard isAgent(continuation.origin), let route = continuations[continuation.id], route.attempt != nil,
      route.receiverPeer === peer, let origin = route.originPeer
    else { return false }
    send(.fetch(continuation, milliseconds: milliseconds, receiver: receiver), to: origin)
    return true
  }
}
