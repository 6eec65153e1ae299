// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The state that a fetch asks for.
enum FetchedState {
  /// The state of the offered activity.
  case offered
  /// The state that is kept by the app that has continued the activity (R3.10).
  /// - Parameter principal: its own, as the origin was told; nil if another hub passes the fetch on.
  case back(principal: Identifier?)

  var isBack: Bool { if case .back = self { true } else { false } }
}

/// A continuation at a hub: the two peers that lead to its apps. The route outlives the attempt while the receiver
/// holds the activity and may send requests.
final class ContinuationRoute {
  let continuation: Message.Continuation
  /// The receiver.
  let receiver: Identifier
  /// The receiver's peer. Route and peers retain each other until the route is removed, with either of them, or the hub
  /// ends (`Peer.tearDown`).
  fileprivate(set) var receiverPeer: Peer
  /// Nil while the origin has not registered with this hub.
  fileprivate(set) var originPeer: Peer?
  /// The identifier of the activity at the origin's device; nil: the same as here.
  private var activityThere: Identifier?
  /// Nil without an attempt in progress.
  fileprivate(set) var attempt: Attempt?
  /// A message that waits until the origin has registered.
  fileprivate(set) var held: Held?
  /// Whether a request or a stream has used the route: if one side ends, the other may wait for it.
  fileprivate(set) var isAwaited = false
  /// The number of unanswered requests and streams.
  private var unanswered = 0
  /// The uptime until which an answer may come.
  private var awaitedUntil: Int64 = 0
  /// Its positions among the routes of the origin's peer, and among those with an attempt.
  fileprivate var originPlace = 0
  fileprivate var attemptPlace = 0

  /// From fetch to outcome.
  struct Attempt {
    /// The uptime at which it is removed, unless it ends before.
    let expiresAt: Int64
    /// Whether the outcome was forwarded; the origin has not acknowledged it yet.
    var isOver = false
  }

  /// A message for an origin that has not registered with this hub yet.
  struct Held {
    enum Message {
      case fetch(milliseconds: Int64, FetchedState)
      case outcome(Outcome, SegueError?)
    }

    let message: Message
    let receiver: Receiver
    let since: Int64
    let deadline: Int64

    var isFetch: Bool { if case .fetch = message { true } else { false } }
  }

  fileprivate init(_ continuation: Message.Continuation, _ receiver: Identifier, from peer: Peer) {
    self.continuation = continuation
    self.receiver = receiver
    receiverPeer = peer
  }

  var id: Identifier { continuation.id }

  /// The origin's device is found by this offer.
  func note(_ offer: HubOffer?) { if let offer, offer.isOfDevice { activityThere = offer.remote?.activity } }

  /// The continuation, as the origin's device calls the activity.
  var there: Message.Continuation {
    guard let activityThere else { return continuation }
    return Message.Continuation(id: continuation.id, origin: continuation.origin, activity: activityThere)
  }

  func leads(to peer: Peer) -> Bool { receiverPeer === peer || originPeer === peer }
  func other(than peer: Peer) -> Peer? { receiverPeer === peer ? originPeer : receiverPeer }

  /// The outcome was forwarded.
  func finish() { attempt?.isOver = true }

  /// Records a request or stream, with the uptime by which it is answered.
  func expectAnswer(until uptime: Int64) {
    isAwaited = true
    unanswered += 1
    awaitedUntil = max(awaitedUntil, uptime)
  }

  /// The origin has answered or refused one of them.
  func answered() { unanswered = max(0, unanswered - 1) }

  fileprivate func isNeeded(_ now: Int64) -> Bool {
    attempt != nil || held != nil || unanswered > 0 && awaitedUntil > now
  }
}

/// The routes of a peer.
final class PeerRoutes {
  /// Routes for which the peer leads to the receiver, oldest first.
  fileprivate var receiving: [ContinuationRoute] = []
  /// Routes for which the peer leads to the origin.
  fileprivate var origin = UnorderedList<ContinuationRoute>()

  var last: ContinuationRoute? { receiving.last ?? origin.all.last }
  var hasAttempts: Bool { receiving.contains { $0.attempt != nil } || origin.all.contains { $0.attempt != nil } }

  /// The attempts of that principal for which the peer leads to the origin.
  func attempts(of principal: Principal) -> Int {
    origin.all.count { $0.attempt != nil && $0.receiverPeer.principal == principal }
  }

  /// Usually it is among the oldest.
  fileprivate func removeReceiving(_ route: ContinuationRoute) {
    guard let place = receiving.firstIndex(where: { $0 === route }) else { return }
    receiving.remove(at: place)
  }

  fileprivate func appendReceiving(_ route: ContinuationRoute) { receiving.append(route) }

  /// Breaks reference cycles when the hub ends.
  func tearDown() {
    receiving = []
    origin = UnorderedList()
  }
}

/// The continuations at a hub. Each principal has a quota of attempts as the receiver, and each peer one of routes, so
/// that it cannot displace routes of others. No route with an outstanding answer is removed.
final class ContinuationTable {
  /// The routes of an app, and of a hub.
  static let appLimit = 256
  static let hubLimit = 1_024
  private var routes: [Identifier: ContinuationRoute] = .init()
  private var attempts = UnorderedList<ContinuationRoute>()
  /// Routes with a held message, in order of arrival.
  private var held: [ContinuationRoute] = []

  subscript(id: Identifier) -> ContinuationRoute? { routes[id] }

  var hasAttempts: Bool { !attempts.isEmpty }
  var hasHeld: Bool { !held.isEmpty }

  /// Invariant: attempts and held messages belong to known routes.
  var isConsistent: Bool {
    attempts.all.allSatisfy { $0.attempt != nil && routes[$0.id] === $0 }
      && held.allSatisfy { $0.held != nil && routes[$0.id] === $0 }
  }

  /// Whether no other app uses this continuation identifier.
  func mayUse(_ id: Identifier, _ receiver: Identifier) -> Bool { routes[id].map { $0.receiver == receiver } ?? true }

  /// Returns the route between two peers, and creates or moves it if necessary. Nil if the quota is used up, or another
  /// app uses its identifier.
  func connect(
    _ continuation: Message.Continuation, _ receiver: Identifier, from peer: Peer, to origin: Peer, _ now: Int64
  ) -> ContinuationRoute? {
    guard let route = route(of: continuation, receiver, from: peer, now) else { return nil }
    guard route.originPeer !== origin else { return route }
    leaveOrigin(route)
    route.originPeer = origin
    route.originPlace = origin.routes.origin.append(route)
    return route
  }

  private func route(
    of continuation: Message.Continuation, _ receiver: Identifier, from peer: Peer, _ now: Int64
  ) -> ContinuationRoute? {
    let known = routes[continuation.id]
    guard known?.receiver ?? receiver == receiver else { return nil }
    if let known, known.receiverPeer === peer { return known }
    guard makeRoom(for: peer, now) else { return nil }
    let route = known ?? ContinuationRoute(continuation, receiver, from: peer)
    if known != nil { route.receiverPeer.routes.removeReceiving(route) }
    routes[route.id] = route
    route.receiverPeer = peer
    peer.routes.appendReceiving(route)
    return route
  }

  private func makeRoom(for peer: Peer, _ now: Int64) -> Bool {
    guard peer.routes.receiving.count >= (peer.isHub ? Self.hubLimit : Self.appLimit) else { return true }
    guard let oldest = peer.routes.receiving.first(where: { !$0.isNeeded(now) }) else { return false }
    remove(oldest)
    return true
  }

  /// Removes the route to a receiver, unless it has an attempt or a held message.
  func removeIdle(_ id: Identifier, from receiver: Identifier) {
    guard let route = routes[id], route.receiver == receiver, route.attempt == nil, route.held == nil else { return }
    remove(route)
  }

  private func remove(_ route: ContinuationRoute) {
    end(route)
    release(route)
    routes[route.id] = nil
    route.receiverPeer.routes.removeReceiving(route)
    leaveOrigin(route)
  }

  private func leaveOrigin(_ route: ContinuationRoute) {
    guard let origin = route.originPeer else { return }
    if let moved = origin.routes.origin.remove(at: route.originPlace) { moved.originPlace = route.originPlace }
    route.originPeer = nil
  }

  // MARK: Attempts

  /// The attempts of a principal as the receiver.
  func attempts(of principal: Principal) -> Int { attempts.all.count { $0.receiverPeer.principal == principal } }

  func begin(_ route: ContinuationRoute, until expiresAt: Int64) {
    if route.attempt == nil { route.attemptPlace = attempts.append(route) }
    route.attempt = ContinuationRoute.Attempt(expiresAt: expiresAt)
  }

  /// Ends the attempt; the route stays.
  func end(_ route: ContinuationRoute) {
    guard route.attempt != nil else { return }
    route.attempt = nil
    if let moved = attempts.remove(at: route.attemptPlace) { moved.attemptPlace = route.attemptPlace }
  }

  func endExpired(_ now: Int64) {
    for route in attempts.all { if let attempt = route.attempt, attempt.expiresAt <= now { end(route) } }
  }

  // MARK: Held messages

  /// Holds a message, in place of an earlier one of the same continuation. Returns false if the quota is used up, or
  /// another app uses its identifier.
  func hold(
    _ message: ContinuationRoute.Held, of continuation: Message.Continuation, from peer: Peer, atMost limit: Int,
    _ now: Int64
  ) -> Bool {
    if let known = routes[continuation.id] {
      guard known.receiverPeer === peer, known.receiver == message.receiver.id else { return false }
      release(known)
    }
    let others = held.count { $0.held?.isFetch == message.isFetch && $0.receiverPeer.principal == peer.principal }
    guard others < limit, let route = route(of: continuation, message.receiver.id, from: peer, now)
    else { return false }
    route.held = message
    held.append(route)
    return true
  }

  /// - Returns: routes with a held message, to forward or to hold again.
  var heldRoutes: [ContinuationRoute] { held }

  /// Removes its held message.
  func release(_ route: ContinuationRoute) {
    guard route.held != nil else { return }
    route.held = nil
    held.remove(route)
    // Without an origin the route existed only for the message.
    if route.originPeer == nil { remove(route) }
  }

  /// Returns a route with a message that was held for long enough.
  func overdue(_ now: Int64) -> ContinuationRoute? { held.first { $0.held.map { $0.deadline <= now } ?? false } }

  var nextDeadline: Int64? {
    var next: Int64?
    for route in held { if let held = route.held { next = min(next ?? .max, held.deadline) } }
    for route in attempts.all { if let attempt = route.attempt { next = min(next ?? .max, attempt.expiresAt) } }
    return next
  }

  // MARK: Removed peers

  /// The peer is gone, and with it the route. A held message stays, and waits for the origin again.
  func leave(_ route: ContinuationRoute, _ peer: Peer) {
    guard route.held != nil, route.receiverPeer !== peer else { return remove(route) }
    end(route)
    leaveOrigin(route)
  }
}
