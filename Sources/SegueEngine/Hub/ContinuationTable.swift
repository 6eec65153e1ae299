import SegueModel
import SegueWire

/// A continuation as a hub knows it: the two peers that lead to its apps. The route outlives the attempt, for as long
/// as one app holds the activity of the other and may say something to it.
final class ContinuationRoute {
  let continuation: Message.Continuation
  /// The app that continues.
  let receiver: Identifier
  /// Outlives the route, as the origin's does: a route goes with either.
  unowned(unsafe) fileprivate(set) var receiverPeer: Peer
  /// Nil: the origin has yet to register with this hub.
  unowned(unsafe) fileprivate(set) var originPeer: Peer?
  /// Nil: nothing is under way that the hub would have to answer for.
  fileprivate(set) var attempt: Attempt?
  /// Waits until the origin has registered.
  fileprivate(set) var held: Held?
  /// A request or a stream was asked for: if one side goes, the other may wait for something of it.
  fileprivate(set) var isAwaited = false
  /// Requests and streams that were asked for and not answered yet.
  private var unanswered = 0
  /// Uptime up to which an answer to one of them may come.
  private var awaitedUntil: Int64 = 0
  /// Its place among the routes of the origin's peer, and among those with an attempt.
  fileprivate var originPlace = 0
  fileprivate var attemptPlace = 0

  /// From fetch to outcome.
  struct Attempt {
    /// Uptime at which it is forgotten, if nobody ends it.
    let expiresAt: Int64
    /// The outcome was passed on; the origin has yet to note it.
    var isOver = false
  }

  /// A message for an origin that is not known to this hub yet.
  struct Held {
    enum Message {
      case fetch(milliseconds: Int64)
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
  func leads(to peer: Peer) -> Bool { receiverPeer === peer || originPeer === peer }
  func other(than peer: Peer) -> Peer? { receiverPeer === peer ? originPeer : receiverPeer }

  /// The outcome was passed on.
  func finish() { attempt?.isOver = true }

  /// Something is asked for, and answered by then.
  func expectAnswer(until uptime: Int64) {
    isAwaited = true
    unanswered += 1
    awaitedUntil = max(awaitedUntil, uptime)
  }

  /// The origin has answered one of them, or refused it.
  func answered() { unanswered = max(0, unanswered - 1) }

  fileprivate func isNeeded(_ now: Int64) -> Bool {
    attempt != nil || held != nil || unanswered > 0 && awaitedUntil > now
  }
}

/// The routes of a peer.
struct PeerRoutes {
  /// Those of which it leads to the receiver, the oldest first.
  fileprivate var receiving: [ContinuationRoute] = []
  /// Those of which it leads to the origin.
  fileprivate var origin = UnorderedList<ContinuationRoute>()

  var last: ContinuationRoute? { receiving.last ?? origin.all.last }
  var hasAttempts: Bool { receiving.contains { $0.attempt != nil } || origin.all.contains { $0.attempt != nil } }

  func attempts(to origin: Peer) -> Int { receiving.count { $0.attempt != nil && $0.originPeer === origin } }
  var attempts: Int { receiving.count { $0.attempt != nil } }
  func held(_ held: ContinuationRoute.Held) -> Int { receiving.count { $0.held?.isFetch == held.isFetch } }
}

/// The continuations that a hub knows. Each peer has room for its own as the receiver, so that none displaces those of
/// another, and none by which something may still come is forgotten.
struct ContinuationTable {
  /// Of one app, and of one hub.
  static let appLimit = 256
  static let hubLimit = 1_024
  private var routes: [Identifier: ContinuationRoute] = [:]
  private var attempts = UnorderedList<ContinuationRoute>()
  /// Those with a held message, in the order in which it came.
  private var held: [ContinuationRoute] = []

  subscript(id: Identifier) -> ContinuationRoute? { routes[id] }

  var hasAttempts: Bool { !attempts.isEmpty }
  var hasHeld: Bool { !held.isEmpty }

  /// Invariant: attempts and held messages are those of routes that are known.
  var isConsistent: Bool {
    attempts.all.allSatisfy { $0.attempt != nil && routes[$0.id] === $0 }
      && held.allSatisfy { $0.held != nil && routes[$0.id] === $0 }
  }

  /// Whether no other app continues under this name.
  func mayUse(_ id: Identifier, _ receiver: Identifier) -> Bool { routes[id].map { $0.receiver == receiver } ?? true }

  /// Returns the route between two peers, and makes or moves it if need be. Nil if there is no room for it, or another
  /// app has its name.
  mutating func connect(
    _ continuation: Message.Continuation, _ receiver: Identifier, from peer: Peer, to origin: Peer, _ now: Int64
  ) -> ContinuationRoute? {
    guard let route = route(of: continuation, receiver, from: peer, now) else { return nil }
    guard route.originPeer !== origin else { return route }
    leaveOrigin(route)
    route.originPeer = origin
    route.originPlace = origin.routes.origin.append(route)
    return route
  }

  private mutating func route(
    of continuation: Message.Continuation, _ receiver: Identifier, from peer: Peer, _ now: Int64
  ) -> ContinuationRoute? {
    let known = routes[continuation.id]
    guard known?.receiver ?? receiver == receiver else { return nil }
    if let known, known.receiverPeer === peer { return known }
    guard makeRoom(for: peer, now) else { return nil }
    let route = known ?? ContinuationRoute(continuation, receiver, from: peer)
    if known != nil { route.receiverPeer.routes.receiving.removeAll { $0 === route } }
    routes[route.id] = route
    route.receiverPeer = peer
    peer.routes.receiving.append(route)
    return route
  }

  private mutating func makeRoom(for peer: Peer, _ now: Int64) -> Bool {
    guard peer.routes.receiving.count >= (peer.isHub ? Self.hubLimit : Self.appLimit) else { return true }
    guard let oldest = peer.routes.receiving.first(where: { !$0.isNeeded(now) }) else { return false }
    remove(oldest)
    return true
  }

  private mutating func remove(_ route: ContinuationRoute) {
    end(route)
    release(route)
    routes[route.id] = nil
    route.receiverPeer.routes.receiving.removeAll { $0 === route }
    leaveOrigin(route)
  }

  private func leaveOrigin(_ route: ContinuationRoute) {
    guard let origin = route.originPeer else { return }
    if let moved = origin.routes.origin.remove(at: route.originPlace) { moved.originPlace = route.originPlace }
    route.originPeer = nil
  }

  // MARK: Attempts

  mutating func begin(_ route: ContinuationRoute, until expiresAt: Int64) {
    if route.attempt == nil { route.attemptPlace = attempts.append(route) }
    route.attempt = ContinuationRoute.Attempt(expiresAt: expiresAt)
  }

  /// The attempt has ended; the route stays.
  mutating func end(_ route: ContinuationRoute) {
    guard route.attempt != nil else { return }
    route.attempt = nil
    if let moved = attempts.remove(at: route.attemptPlace) { moved.attemptPlace = route.attemptPlace }
  }

  mutating func endExpired(_ now: Int64) {
    for route in attempts.all { if let attempt = route.attempt, attempt.expiresAt <= now { end(route) } }
  }

  // MARK: Messages for origins that have yet to register

  /// Keeps a message, in the place of another of the same continuation. Returns false if there is no room, or another
  /// app has its name.
  mutating func hold(
    _ message: ContinuationRoute.Held, of continuation: Message.Continuation, from peer: Peer, atMost limit: Int,
    _ now: Int64
  ) -> Bool {
    if let known = routes[continuation.id] {
      guard known.receiverPeer === peer, known.receiver == message.receiver.id else { return false }
      release(known)
    }
    guard peer.routes.held(message) < limit, let route = route(of: continuation, message.receiver.id, from: peer, now)
    else { return false }
    route.held = message
    held.append(route)
    return true
  }

  /// - Returns: those with a held message, which are to be passed on, or held again.
  var heldRoutes: [ContinuationRoute] { held }

  /// Its held message was dealt with, or is void.
  mutating func release(_ route: ContinuationRoute) {
    guard route.held != nil else { return }
    route.held = nil
    held.removeAll { $0 === route }
    // Without an origin it was there for that only.
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

  // MARK: Peers that go

  /// The peer is gone, and with it the route. A held message stays, and waits for the origin again.
  mutating func leave(_ route: ContinuationRoute, _ peer: Peer) {
    guard route.held != nil, route.receiverPeer !== peer else { return remove(route) }
    end(route)
    leaveOrigin(route)
  }
}
