// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The lengths of recently lost routes. A route that others still announce for such a hub may derive from the lost one:
/// if each hub accepted such routes, all of them would try every route of a mesh.
struct FormerRoutes {
  /// The most hubs that are remembered; the oldest is dropped first.
  static let capacity = 256

  private struct Entry {
    let hub: Identifier
    let shortest: RemoteHub.Distance
    let lostAt: Int64
  }
  private var entries: [Entry] = []

  /// The route to a hub is lost.
  mutating func note(_ hub: Identifier, _ shortest: RemoteHub.Distance, _ now: Int64) {
    if entries.count == Self.capacity { entries.removeFirst() }
    entries.append(Entry(hub: hub, shortest: shortest, lostAt: now))
  }

  /// Removes and returns the entry of a hub that has a route again; nil if the route was lost before `uptime`.
  mutating func take(_ hub: Identifier, since uptime: Int64) -> RemoteHub.Distance? {
    entries.removeAll { $0.lostAt < uptime }
    return entries.firstIndex { $0.hub == hub }.map { entries.remove(at: $0).shortest }
  }
}
