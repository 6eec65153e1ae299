import SegueModel
import SegueWire

/// The way of a continuation through this hub, for what its two apps say to each other as long as one holds the activity
/// of the other: it outlives the continuation itself.
struct Path {
  let continuation: Identifier
  let receiver: Identifier
  /// Both outlive it: it is taken out when either goes.
  unowned(unsafe) let receiverPeer: Peer
  unowned(unsafe) let originPeer: Peer
  /// A request or a stream was asked for: if one side goes, the other may wait for something of it.
  var isAwaited = false
}

/// The last paths; older ones are forgotten.
struct Paths {
  static let capacity = 1_024
  private var paths: [Path] = []

  subscript(continuation: Identifier) -> Path? { paths.last { $0.continuation == continuation } }

  mutating func insert(_ path: Path) {
    if let index = paths.lastIndex(where: { $0.continuation == path.continuation }) {
      let isAwaited = path.isAwaited || paths[index].isAwaited
      paths[index] = path
      paths[index].isAwaited = isAwaited
      return
    }
    if paths.count == Self.capacity { paths.removeFirst(Self.capacity / 4) }
    paths.append(path)
  }

  /// - Returns: those that were removed.
  mutating func remove(of peer: Peer) -> [Path] {
    let removed = paths.filter { $0.receiverPeer === peer || $0.originPeer === peer }
    if !removed.isEmpty { paths.removeAll { $0.receiverPeer === peer || $0.originPeer === peer } }
    return removed
  }
}

extension HubEngine {
  static var nameIsTaken: SegueError { SegueError(.handoffFailed, "the name is taken") }

  /// Whether it is not another app that continues under this name.
  func mayUse(_ continuation: Message.Continuation, _ receiver: Identifier) -> Bool {
    paths[continuation.id].map({ $0.receiver == receiver }) ?? true
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
