import SegueModel
import SegueWire

/// A session with another hub, which may outlive its connection (R7.4).
final class HubSession {
  let identity: HubIdentity
  /// Secret: whoever names it to this hub was there when the session began.
  let sessionID: Identifier
  /// The same for the other hub.
  let peerSessionID: Identifier
  /// Nil: it has a connection. Else the uptime at which the session is given up (R7.4).
  private(set) var resumeBy: Int64?
  /// The connection over which it goes on once the other hub has said how far it has come.
  private(set) var replacement: Peer?
  /// Uptime at which the last was heard of it.
  private(set) var heardAt: Int64
  /// It was asked for a sign of life since then.
  private(set) var isAsked = false
  /// Hubs of whose offers it hears by this one. Never iterated.
  private var followed: Set<Identifier> = []
  /// Lists that it has asked for before it was told the last of the same hub.
  private var relisted: [(hub: Identifier, list: UInt64)] = []
  /// Hubs to which it was told a route; of those, as far as it has yet to hear, to which there was none for a while.
  /// Never iterated.
  private var toldRoutes: Set<Identifier> = []
  private var lostRoutes: Set<Identifier> = []
  /// Routes that come by it.
  private var routes = UnorderedList<HubRoute>()
  /// Of the routes and offers that come by it, and by all.
  private(set) var bytes = 0
  private let allBytes: LinkedBytes

  init(
    _ identity: HubIdentity, sessionID: Identifier, peerSessionID: Identifier, heardAt: Int64, _ allBytes: LinkedBytes
  ) {
    self.identity = identity
    self.allBytes = allBytes
    self.sessionID = sessionID
    self.peerSessionID = peerSessionID
    self.heardAt = heardAt
  }

  // MARK: Its connection

  func suspend(until uptime: Int64) { resumeBy = uptime }

  func resumed(at uptime: Int64) {
    resumeBy = nil
    replacement = nil
    heard(at: uptime)
  }

  func replace(by peer: Peer?) { replacement = peer }

  func heard(at uptime: Int64) {
    heardAt = uptime
    isAsked = false
  }

  func ask() { isAsked = true }

  // MARK: What it has asked to hear

  func follows(_ id: Identifier) -> Bool { followed.contains(id) }
  func follow(_ id: Identifier) { followed.insert(id) }
  func followsAny(where isGone: (Identifier) -> Bool) -> Bool { followed.contains(where: isGone) }

  func unfollow(_ id: Identifier) {
    followed.remove(id)
    _ = takeRelisted(id)
  }

  func unfollowAll() {
    followed = []
    relisted = []
  }

  /// The list begins once the one that it is being told ends.
  func relist(_ id: Identifier, _ list: UInt64) {
    _ = takeRelisted(id)
    relisted.append((id, list))
  }

  func takeRelisted(_ id: Identifier) -> UInt64? {
    guard let place = relisted.firstIndex(where: { $0.hub == id }) else { return nil }
    return relisted.remove(at: place).list
  }

  // MARK: Routes that it was told

  func isTold(_ id: Identifier) -> Bool { toldRoutes.contains(id) }
  func told(_ id: Identifier) { toldRoutes.insert(id) }
  func untell(_ id: Identifier) { toldRoutes.remove(id) }
  var hasLostRoutes: Bool { !lostRoutes.isEmpty }

  /// - Returns: whether it was told of one.
  func loseRoute(to id: Identifier) -> Bool {
    guard toldRoutes.remove(id) != nil else { return false }
    lostRoutes.insert(id)
    return true
  }

  func takeLostRoute(to id: Identifier) -> Bool { lostRoutes.remove(id) != nil }

  func forgetWhatWasTold() {
    toldRoutes = []
    lostRoutes = []
  }

  // MARK: What comes by it

  /// Hubs to which it has a route.
  var reached: [RemoteHub] { routes.all.map { $0.destination } }

  func append(_ route: HubRoute) {
    count(route.cost)
    route.place = routes.append(route)
  }

  func remove(_ route: HubRoute) {
    count(-route.cost)
    if let moved = routes.remove(at: route.place) { moved.place = route.place }
  }

  /// So many more, or fewer.
  func count(_ bytes: Int) {
    self.bytes += bytes
    allBytes.count += bytes
  }
}

/// Bytes that all linked hubs have this one keep.
final class LinkedBytes {
  fileprivate(set) var count = 0
}
