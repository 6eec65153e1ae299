// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The routes of continuations, for what else goes along them: requests, streams, and names of activities.
extension HubContinuations {
  /// Returns the route of a continuation; nil if there is none.
  func route(of id: Identifier) -> ContinuationRoute? { table[id] }

  /// Whether no other app uses this continuation identifier.
  func mayUse(_ id: Identifier, _ receiver: Identifier) -> Bool { table.mayUse(id, receiver) }

  /// Records the route of a request or stream, answered within that many milliseconds.
  /// - Returns: false if the receiver awaits too much already.
  func expectAnswer(
    to continuation: Message.Continuation, _ receiver: Identifier, from peer: Peer, to origin: Peer,
    for milliseconds: Int64
  ) -> Bool {
    guard let route = table.connect(continuation, receiver, from: peer, to: origin, now.uptime) else {
      return false
    }
    route.note(offer(of: continuation))
    route.expectAnswer(until: now.uptime + milliseconds + Self.grace)
    return true
  }

  /// The peer that leads from one participant of a continuation to the other, or nil.
  func next(to app: Identifier, of continuation: Message.Continuation, from peer: Peer) -> Peer? {
    var next = peers[app: app]
    if next == nil, let route = table[continuation.id] {
      if app == continuation.origin {
        next = route.originPeer
      } else if app == route.receiver {
        next = route.receiverPeer
      }
    }
    if next == nil, app == continuation.origin, let home = offer(of: continuation)?.peer, peer.mayReach(home) {
      next = home
    }
    return next === peer ? nil : next
  }

  /// A continuation, as the device at the other end of a link calls its activity.
  func named(_ continuation: Message.Continuation, for peer: Peer) -> Message.Continuation {
    guard peer.device != nil, let route = table[continuation.id], route.originPeer === peer else { return continuation }
    return route.there
  }

  /// A continuation about which another hub has said something, as this device calls its activity.
  func known(_ continuation: Message.Continuation, by peer: Peer) -> Message.Continuation {
    guard peer.device != nil, let route = table[continuation.id], route.originPeer === peer else { return continuation }
    return route.continuation
  }
}
