// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

extension Peer {
  /// The limit for its principal.
  fileprivate var continuationLimit: Int { isHub ? HubContinuations.linkLimit : HubContinuations.limit }
}

/// Continuations (section 3): from the receiver's fetch to the origin's acknowledgement of the outcome.
final class HubContinuations: HubFeature {
  /// The most attempts of one process as the receiver, and through the links that one process maintains.
  static let limit = 32
  static let linkLimit = 1_024
  /// The most attempts of one principal for activities of one app.
  static let limitOfOrigin = OutgoingContinuations.limit / Principal.share
  /// Milliseconds for which a continuation is kept beyond its deadline.
  static let grace: Int64 = 10_000

  let connections: HubConnections
  private let presence: AgentPresence
  private let offers: HubOffers
  private let transfers: HubTransfers
  let table = ContinuationTable()

  init(_ connections: HubConnections, _ presence: AgentPresence, _ offers: HubOffers, _ transfers: HubTransfers) {
    self.connections = connections
    self.presence = presence
    self.offers = offers
    self.transfers = transfers
  }

  static var nameIsTaken: SegueError { SegueError(.handoffFailed, "the name is taken") }

  func fetch(
    _ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, _ state: FetchedState,
    by peer: Peer
  ) {
    guard !forward(continuation, milliseconds: milliseconds, receiver, state, by: peer) else { return }
    let message = ContinuationRoute.Held.Message.fetch(milliseconds: milliseconds, state)
    if hold(message, of: continuation, receiver, for: milliseconds, from: peer) { return }
    let error =
      isWithdrawn(continuation) && !state.isBack
      ? Self.isNotOffered : SegueError(.connectionUnavailable, "the other app is not connected")
    send(.refused(continuation.id, to: receiver.id, error), to: peer)
  }

  private static var isNotOffered: SegueError { SegueError(.handoffFailed, "the activity is no longer offered") }

  /// Whether the origin is there, as far as this hub knows, and offers the activity no longer.
  private func isWithdrawn(_ continuation: Message.Continuation) -> Bool {
    peers[app: continuation.origin] != nil || offers.hasWithdrawn(continuation.activity)
  }

  /// Whether team and types allow it; another hub checks its own apps, but gets nothing that is private.
  private func mayContinue(_ offer: HubOffer, _ peer: Peer) -> Bool {
    peer.app.map { offer.obstacle(for: $0) == nil && offers.mayKnow(offer, $0) } ?? !offers.isHidden(offer, from: peer)
  }

  /// False if the origin is unknown here.
  private func forward(
    _ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, _ state: FetchedState,
    by peer: Peer
  ) -> Bool {
    if forwardDelivered(continuation, milliseconds: milliseconds, receiver, by: peer) { return true }
    let offer: HubOffer?
    let found: Peer?
    switch state {
    case .offered:
      offer = self.offer(of: continuation)
      found = offer?.peer
    case .back(let principal):
      offer = nil
      found = keeper(of: continuation, principal)
    }
    guard let origin = found, peer.mayReach(origin) else { return false }
    @inline(never)
    func refuse(_ error: SegueError) -> Bool {
      send(.refused(continuation.id, to: receiver.id, error), to: peer)
      return true
    }
    // An app that may not see the offer may not have the activity either (R6.2), and does not learn that it exists.
    // Back, the app that keeps the activity knows its origin.
    if let offer, !mayContinue(offer, peer) || !offers.isOffered(offer) {
      return refuse(Self.isNotOffered)
    }
    useNewLinks(continuation, receiver, by: peer)
    if let route = table[continuation.id], route.attempt != nil {
      guard route.receiverPeer === peer, route.originPeer === origin else { return refuse(Self.nameIsTaken) }
    } else if !table.mayUse(continuation.id, receiver.id) {
      return refuse(Self.nameIsTaken)
    } else if origin === peer || begin(continuation, receiver, peer, origin, offer, milliseconds: milliseconds) == nil {
      return refuse(SegueError(.limitExceeded, "too many continuations are under way"))
    }
    let principal = origin.isHub ? nil : peer.principalID
    send(
      .fetch(
        named(continuation, for: origin), milliseconds: milliseconds, receiver: receiver, principal: principal,
        isBack: state.isBack, isNear: !origin.isHub && !peer.isHub), to: origin)
    return true
  }

  /// The peer that leads to the app that has continued an activity: along the route of that continuation; else to an
  /// app of this device, or to one that itself offers something where that continuation came from. The identifier of an
  /// app proves nothing there: another hub may claim it for an app of its own. Nil if there is none of these.
  private func keeper(of back: Message.Continuation, _ principal: Identifier?) -> Peer? {
    let known = table[back.activity].flatMap { $0.receiver == back.origin ? $0.receiverPeer : nil }
    if let known, !known.isSuspended { return known }
    if let peer = peers[app: back.origin] { return peer }
    let device = if let known { known.device } else { principal.flatMap { Principal.device(of: $0) } }
    return offers.remoteOffer(of: back.origin, device)?.peer ?? known
  }

  /// Records the attempt, to route the answers. Nil if there are too many.
  /// - Parameter offer: by which the origin was found.
  private func begin(
    _ continuation: Message.Continuation, _ receiver: Receiver, _ peer: Peer, _ origin: Peer, _ offer: HubOffer?,
    milliseconds: Int64
  ) -> ContinuationRoute? {
    let attempts = table.attempts(of: peer.principal)
    guard attempts < peer.continuationLimit,
      attempts < Self.limitOfOrigin
        || origin.routes.attempts(of: peer.principal) < Self.limitOfOrigin,
      let route = table.connect(continuation, receiver.id, from: peer, to: origin, now.uptime)
    else { return nil }
    route.note(offer)
    table.begin(route, until: now.uptime + milliseconds + Self.grace)
    return route
  }

  /// Moves a continuation from a suspended link to the one that leads to the same app now: its hub was restarted. So no
  /// outcome waits for an acknowledgement that never comes.
  private func useNewLinks(_ continuation: Message.Continuation, _ receiver: Receiver, by peer: Peer) {
    guard let route = table[continuation.id], route.attempt != nil,
      let origin = route.originPeer
    else { return }
    let mayReplace = route.receiverPeer.isSuspended && route.receiverPeer.device == peer.device
    let receiverPeer = mayReplace ? peer : route.receiverPeer
    let originPeer = origin.isSuspended ? self.origin(of: continuation) ?? origin : origin
    guard receiverPeer !== originPeer else { return }
    _ = table.connect(continuation, receiver.id, from: receiverPeer, to: originPeer, now.uptime)
  }

  func offer(of continuation: Message.Continuation) -> HubOffer? {
    offers.offer(of: continuation.activity).flatMap { $0.origin == continuation.origin ? $0 : nil }
  }

  /// The peer that leads to the origin.
  private func origin(of continuation: Message.Continuation) -> Peer? {
    peers[app: continuation.origin] ?? offer(of: continuation)?.peer
  }

  // MARK: Deliveries (R3.8)

  /// Records the attempt of an app to which the agent's participant delivers, to route the answers.
  /// - Returns: false if there are too many.
  func beginDelivery(
    _ continuation: Message.Continuation, to receiver: Identifier, _ peer: Peer, from agent: Peer, milliseconds: Int64
  ) -> Bool {
    // Another process of the app may have had it, and failed.
    if let former = table[continuation.id]?.receiver, former != receiver {
      table.removeIdle(continuation.id, from: former)
    }
    guard let route = table.connect(continuation, receiver, from: peer, to: agent, now.uptime) else { return false }
    table.begin(route, until: now.uptime + milliseconds + Self.grace)
    return true
  }

  /// Forwards the fetch of an app to which the participant has delivered.
  /// - Returns: false if this is no such continuation.
  private func forwardDelivered(
    _ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, by peer: Peer
  ) -> Bool {
    guard presence.isAgent(continuation.origin), let route = table[continuation.id], route.attempt != nil,
      route.receiverPeer === peer, let origin = route.originPeer
    else { return false }
    send(.fetch(continuation, milliseconds: milliseconds, receiver: receiver, isNear: true), to: origin)
    return true
  }

  // MARK: Held messages (R3.14)

  /// - Parameter milliseconds: how long it may wait.
  private func hold(
    _ message: ContinuationRoute.Held.Message, of continuation: Message.Continuation, _ receiver: Receiver,
    for milliseconds: Int64, from peer: Peer
  ) -> Bool {
    let deadline = min(connections.gracePeriodEnd, now.uptime + milliseconds)
    let held = ContinuationRoute.Held(message: message, receiver: receiver, since: now.uptime, deadline: deadline)
    return now.uptime < deadline
      && table.hold(held, of: continuation, from: peer, atMost: peer.continuationLimit, now.uptime)
  }

  /// An offer arrived: a fetch may wait for it.
  func resumeHeld() {
    guard table.hasHeld else { return }
    for route in table.heldRoutes {
      guard let held = route.held, case .fetch(let milliseconds, let state) = held.message else { continue }
      let remaining = max(1, milliseconds - (now.uptime - held.since))
      if forward(route.continuation, milliseconds: remaining, held.receiver, state, by: route.receiverPeer) {
        table.release(route)
      }
    }
  }

  /// An app registered: outcomes, and fetches of what it has continued, may wait for it.
  func sendHeld(to origin: Identifier) {
    guard table.hasHeld else { return }
    resumeHeld()
    for route in table.heldRoutes where route.continuation.origin == origin {
      guard let held = route.held, case .outcome(let outcome, let error) = held.message else { continue }
      if deliver(outcome, error, of: route.continuation, held.receiver, from: route.receiverPeer) {
        table.release(route)
      }
    }
  }

  private func endHeld() {
    while let route = table.overdue(now.uptime) {
      let isFetch = route.held?.isFetch ?? false
      table.release(route)
      if isFetch {
        let error =
          isWithdrawn(route.continuation)
          ? Self.isNotOffered : SegueError(.connectionUnavailable, "the other app has not connected again")
        send(.refused(route.id, to: route.receiver, error), to: route.receiverPeer)
      } else {
        send(.outcomeAck(route.id, to: route.receiver), to: route.receiverPeer)
      }
    }
  }

  // MARK: Answers

  /// The folders of an origin on this device, for a receiver on this device alone (R13.4).
  func originFolders(_ id: Identifier, _ text: [UInt8], from origin: Peer) {
    guard text.count <= OriginFolders.sizeLimit, let route = table[id], route.originPeer === origin,
      let attempt = route.attempt, !attempt.isOver, !route.receiverPeer.isHub
    else { return }
    send(.originFolders(id, to: route.receiver, text), to: route.receiverPeer)
  }

  func state(
    _ id: Identifier, channel: FramedConnection.Channel, size: UInt64, isStale: Bool, why: String, from origin: Peer
  ) throws(SegueError) {
    try origin.link.accept(channel)
    guard let route = table[id], route.originPeer === origin, let attempt = route.attempt, !attempt.isOver
    else {
      return origin.link.reset(channel)
    }
    let peer = route.receiverPeer
    guard let outChannel = transfers.relay(from: origin, channel, to: peer, of: peer.principal) else {
      origin.link.reset(channel)
      send(.refused(id, to: route.receiver, .tooManyTransfers), to: peer)
      return peerLost(id, beyond: peer)
    }
    send(.state(id, to: route.receiver, channel: outChannel, size: size, isStale: isStale, why: why), to: peer)
  }

  func refused(_ id: Identifier, _ error: SegueError, by origin: Peer) {
    guard let route = table[id], route.originPeer === origin, route.attempt != nil else { return }
    table.end(route)
    send(.refused(id, to: route.receiver, error), to: route.receiverPeer)
  }

  func outcome(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, _ receiver: Receiver,
    from peer: Peer
  ) {
    if let route = table[continuation.id], route.receiverPeer === peer, route.held?.isFetch ?? false {
      table.release(route)
    }
    guard !deliver(outcome, error, of: continuation, receiver, from: peer) else { return }
    if !hold(.outcome(outcome, error), of: continuation, receiver, for: .max - now.uptime, from: peer) {
      send(.outcomeAck(continuation.id, to: receiver.id), to: peer)
    }
  }

  /// False if the origin is unknown here.
  private func deliver(
    _ outcome: Outcome, _ error: SegueError?, of continuation: Message.Continuation, _ receiver: Receiver,
    from peer: Peer
  ) -> Bool {
    useNewLinks(continuation, receiver, by: peer)
    let route: ContinuationRoute
    if let known = table[continuation.id], known.attempt != nil {
      // An app may not affect a continuation of others.
      guard known.receiverPeer === peer, known.receiver == receiver.id else { return true }
      route = known
    } else {
      // Declined before a fetch, or begun with another hub. An app that may not see the offer cannot have had an
      // attempt (R6.2).
      let offer = offer(of: continuation)
      if let offer, !mayContinue(offer, peer) { return false }
      guard let origin = origin(of: continuation), origin !== peer, peer.mayReach(origin) else { return false }
      guard table.mayUse(continuation.id, receiver.id) else { return true }
      guard let begun = begin(continuation, receiver, peer, origin, offer, milliseconds: 0) else { return false }
      route = begun
    }
    route.finish()
    if let origin = route.originPeer {
      send(.outcome(named(continuation, for: origin), outcome, error, receiver: receiver), to: origin)
    }
    return true
  }

  func outcomeAcknowledged(_ id: Identifier, by origin: Peer) {
    guard let route = table[id], route.originPeer === origin, route.attempt?.isOver ?? false else { return }
    table.end(route)
    send(.outcomeAck(id, to: route.receiver), to: route.receiverPeer)
  }

  // MARK: Ends

  /// A hub reports that the app at the other end of a continuation is gone.
  func peerLost(_ id: Identifier, beyond peer: Peer) {
    transfers.failUnanswered(id, beyond: peer)
    guard let route = table[id], route.leads(to: peer), let other = route.other(than: peer) else { return }
    let attempt = route.attempt
    table.end(route)
    reportPeerLost(route, attempt, other: other)
  }

  /// A peer is gone: notifies the other side of each of its continuations.
  @inline(never)
  func remove(_ peer: Peer) {
    while let route = peer.routes.last {
      let (attempt, other) = (route.attempt, route.other(than: peer))
      table.leave(route, peer)
      if let other { reportPeerLost(route, attempt, other: other) }
    }
    transfers.endRelays(of: peer)
  }

  private func reportPeerLost(_ route: ContinuationRoute, _ attempt: ContinuationRoute.Attempt?, other: Peer) {
    if attempt?.isOver ?? false, route.receiverPeer === other {
      // No origin is left to acknowledge it.
      send(.outcomeAck(route.id, to: route.receiver), to: other)
    }
    // After the outcome the attempt has ended.
    if route.isAwaited || !(attempt?.isOver ?? true) { send(.peerLost(route.id), to: other) }
  }

  var nextDeadline: Int64? { table.nextDeadline }

  func tick() {
    endHeld()
    table.endExpired(now.uptime)
  }

  // MARK: Invariants

  var leak: StaticString? {
    if table.hasAttempts { return "hub: it keeps a continuation" }
    return table.hasHeld ? "hub: a held message has no route" : nil
  }

  var brokenInvariant: StaticString? {
    table.isConsistent ? nil : "hub: a continuation is listed that it does not know"
  }

  /// Whether there are attempts, those of a principal as the receiver, and the held messages: for tests.
  var hasAttempts: Bool { table.hasAttempts }
  func attempts(of principal: Principal) -> Int { table.attempts(of: principal) }
  var heldCount: Int { table.heldRoutes.count }
}
