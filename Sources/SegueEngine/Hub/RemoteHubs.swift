// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Hubs of other devices that have offers, linked with this one or not.
final class RemoteHubs {
  /// Those of each identifier, in the order in which they came. Links of apps hear of the first.
  private var byID: [Identifier: [RemoteHub]] = .init()
  private var list = UnorderedList<RemoteHub>()
  private var former = FormerRoutes()
  /// The bytes kept for linked hubs.
  let bytes = LinkedBytes()
  /// The route of this hub to itself.
  let ownRoute = OwnRoute()
  private var due = EarliestDeadline()
  private var lastList: UInt64 = 0

  var all: [RemoteHub] { list.all }
  var count: Int { list.count }
  var isEmpty: Bool { list.isEmpty }
  subscript(id: Identifier) -> RemoteHub? { byID[id]?.first }
  /// - Parameter device: whose links lead to it; nil: links of apps do.
  subscript(id: Identifier, device: Identifier?) -> RemoteHub? { byID[id]?.first { $0.device == device } }
  func isFirst(_ hub: RemoteHub) -> Bool { self[hub.id] === hub }

  /// - Parameter uptime: from which on routes that were lost count.
  func add(_ id: Identifier, of device: Identifier?, lostSince uptime: Int64) -> RemoteHub {
    // The route to a device is direct, and derives from no other one.
    let hub = RemoteHub(id, of: device, shortest: device == nil ? former.take(id, since: uptime) : nil)
    hub.moved(to: list.append(hub))
    byID[id] = (byID[id] ?? []) + [hub]
    return hub
  }

  func remove(_ hub: RemoteHub, _ now: Int64) {
    if let shortest = hub.shortest, hub.device == nil { former.note(hub.id, shortest, now) }
    let others = byID[hub.id]?.filter { $0 !== hub } ?? []
    byID[hub.id] = others.isEmpty ? nil : others
    list.remove(at: hub.index)?.moved(to: hub.index)
  }

  /// Returns the number of a new list of offers, higher than all before.
  func takeList() -> UInt64 {
    lastList += 1
    return lastList
  }

  /// Invariant: each is listed at its position, and found.
  var isConsistent: Bool {
    list.all.indices.allSatisfy {
      list.all[$0].index == $0 && self[list.all[$0].id, list.all[$0].device] === list.all[$0]
    }
  }

  /// The uptime at which to check them, or nil.
  var nextDeadline: Int64? { due.uptime }
  func check(by uptime: Int64) { due.set(uptime) }
  /// - Returns: whether to check them now.
  func takeDue(_ now: Int64) -> Bool { due.take(now) }

  /// Breaks reference cycles when the hub ends.
  func tearDown() { for hub in list.all { hub.tearDown() } }
}

/// The route of this hub to itself, announced anew when others have lost theirs.
final class OwnRoute {
  private(set) var sequence: UInt64 = 1
  /// The uptime from which on the sequence may be raised again.
  private var raisableAt: Int64 = 0

  /// Many may ask for the same reason, and one without a reason.
  /// - Returns: whether it is a new one.
  func raise(to sequence: UInt64, _ now: Int64, pause: Int64) -> Bool {
    guard sequence > self.sequence, now >= raisableAt else { return false }
    raisableAt = now + pause
    self.sequence += 1
    return true
  }
}
