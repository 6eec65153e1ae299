import SegueModel

/// How near this hub was to others to which it has no route any more, for a while. What is told of them then may be what
/// another hub has made of a route that is lost: if each hub took that up, all would go through all the routes of a mesh.
struct FormerRoutes {
  /// Hubs that are remembered; the oldest is forgotten first.
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

  /// Takes what is remembered of a hub to which there is a route again; nil if it was lost before `uptime`.
  mutating func take(_ hub: Identifier, since uptime: Int64) -> RemoteHub.Distance? {
    entries.removeAll { $0.lostAt < uptime }
    return entries.firstIndex { $0.hub == hub }.map { entries.remove(at: $0).shortest }
  }
}
