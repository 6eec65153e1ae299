import SegueModel
import SegueWire

/// The way of a continuation through this hub, for what its two apps say to each other as long as one holds the activity
/// of the other: it outlives the continuation itself.
final class Path {
  let continuation: Identifier
  let receiver: Identifier
  /// Both outlive it: it is taken out when either goes.
  unowned(unsafe) let receiverPeer: Peer
  unowned(unsafe) let originPeer: Peer
  /// Where it stands among those of the origin's peer.
  fileprivate var place = 0
  /// A request or a stream was asked for: if one side goes, the other may wait for something of it.
  fileprivate(set) var isAwaited = false
  /// Requests and streams that were asked for and not answered yet.
  fileprivate var unanswered = 0
  /// Uptime up to which an answer to one of them may come.
  fileprivate var awaitedUntil: Int64 = 0

  init(continuation: Identifier, receiver: Identifier, receiverPeer: Peer, originPeer: Peer) {
    self.continuation = continuation
    self.receiver = receiver
    self.receiverPeer = receiverPeer
    self.originPeer = originPeer
  }

  /// The origin has answered one of them, or refused it.
  func answered() { unanswered = max(0, unanswered - 1) }

  fileprivate func isAwaited(_ now: Int64) -> Bool { unanswered > 0 && awaitedUntil > now }
}

/// The last paths. Each peer has room for its own as the receiver, so that none displaces those of another, and none by
/// which an answer may come is forgotten.
struct Paths {
  /// Of one app, and of one hub.
  static let appLimit = 256
  static let hubLimit = 1_024
  private var paths: [Identifier: Path] = [:]

  subscript(continuation: Identifier) -> Path? { paths[continuation] }

  /// - Returns: false: the receiver's peer awaits answers by all that it has room for.
  mutating func insert(
    _ continuation: Identifier, _ receiver: Identifier, from peer: Peer, to origin: Peer,
    awaitedUntil: Int64? = nil, now: Int64
  ) -> Bool {
    var path = paths[continuation]
    if path?.receiver != receiver || path?.receiverPeer !== peer || path?.originPeer !== origin {
      guard makeRoom(for: peer, now) else { return false }
      let next = Path(continuation: continuation, receiver: receiver, receiverPeer: peer, originPeer: origin)
      if let path {
        next.isAwaited = path.isAwaited
        next.unanswered = path.unanswered
        next.awaitedUntil = path.awaitedUntil
        remove(path)
      }
      paths[continuation] = next
      peer.receivingPaths.append(next)
      next.place = origin.originPaths.append(next)
      path = next
    }
    if let path, let awaitedUntil {
      path.isAwaited = true
      path.unanswered += 1
      path.awaitedUntil = max(path.awaitedUntil, awaitedUntil)
    }
    return true
  }

  private mutating func makeRoom(for peer: Peer, _ now: Int64) -> Bool {
    guard peer.receivingPaths.count >= (peer.isHub ? Self.hubLimit : Self.appLimit) else { return true }
    guard let oldest = peer.receivingPaths.first(where: { !$0.isAwaited(now) }) else { return false }
    remove(oldest)
    return true
  }

  private mutating func remove(_ path: Path) {
    paths[path.continuation] = nil
    path.receiverPeer.receivingPaths.removeAll { $0 === path }
    removeFromOrigin(path)
  }

  private func removeFromOrigin(_ path: Path) {
    if let moved = path.originPeer.originPaths.remove(at: path.place) { moved.place = path.place }
  }

  /// - Returns: those that were removed.
  mutating func remove(of peer: Peer) -> [Path] {
    let (receiving, origin) = (peer.receivingPaths, peer.originPaths.all)
    // They may be many: none is searched for in a list that goes.
    peer.receivingPaths = []
    peer.originPaths.removeAll()
    for path in receiving {
      paths[path.continuation] = nil
      removeFromOrigin(path)
    }
    for path in origin {
      paths[path.continuation] = nil
      path.receiverPeer.receivingPaths.removeAll { $0 === path }
    }
    return receiving + origin
  }
}

extension HubEngine {
  /// Milliseconds within which the origin answers who asks for a stream.
  static let streamAnswerTime: Int64 = 60_000

  static var nameIsTaken: SegueError { SegueError(.handoffFailed, "the name is taken") }

  /// Whether it is not another app that continues under this name.
  func mayUse(_ continuation: Message.Continuation, _ receiver: Identifier) -> Bool {
    paths[continuation.id].map({ $0.receiver == receiver }) ?? true
  }

  /// Remembers the way of something that is asked for, and answered within so many milliseconds.
  /// - Returns: false: the asker awaits too much already.
  func recordPath(
    of continuation: Message.Continuation, _ receiver: Identifier, from peer: Peer, to origin: Peer,
    awaiting milliseconds: Int64? = nil
  ) -> Bool {
    paths.insert(
      continuation.id, receiver, from: peer, to: origin,
      awaitedUntil: milliseconds.map { now.uptime + $0 + Self.continuationGrace }, now: now.uptime)
  }

  /// The peer that leads to an app from another that takes part in the same continuation; nil: there is none.
  func next(to app: Identifier, of continuation: Message.Continuation, from peer: Peer) -> Peer? {
    var next = apps[app]
    if next == nil, let path = paths[continuation.id] {
      if app == continuation.origin { next = path.originPeer } else if app == path.receiver { next = path.receiverPeer }
    }
    if next == nil, app == continuation.origin, let offer = offers[continuation.activity], offer.origin == app {
      next = offer.peer
    }
    return next === peer ? nil : next
  }
}
