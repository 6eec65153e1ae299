// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A session with another hub, which may outlive its connection (R7.4).
final class HubSession {
  let identity: HubIdentity
  /// The secret of the session: a hub that names it to this hub took part when the session began.
  let sessionID: Identifier
  /// The secret of the other hub.
  let peerSessionID: Identifier
  /// The uptime at which a session without a connection is given up (R7.4); nil with a connection.
  private(set) var resumeBy: Int64?
  /// The connection over which it resumes once the other hub has sent the number of bytes received.
  private(set) var replacement: Peer?
  /// The uptime of the last received bytes.
  private(set) var heardAt: Int64
  /// Whether a ping was sent since then.
  private(set) var isAsked = false
  /// Hubs whose offers it follows through this one. Never iterated.
  private var followed: Set<Identifier> = .init()
  /// Lists that it has requested before the previous list of the same hub was sent completely.
  private var relisted: [(hub: Identifier, list: UInt64)] = []
  /// Hubs to which it was sent a route, including unsent news that there was none for a while. Never iterated.
  private var announcedRoutes: Set<Identifier> = .init()
  private var lostRoutes: Set<Identifier> = .init()
  /// The offers of this device that it was sent, and that are not gone. Never iterated.
  private var announcedOffers: Set<Identifier> = .init()
  /// Routes through it.
  private var routes = UnorderedList<HubRoute>()
  /// Bytes of the routes and offers that came through it, and through all.
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
    received(at: uptime)
  }

  func replace(by peer: Peer?) { replacement = peer }

  func received(at uptime: Int64) {
    heardAt = uptime
    isAsked = false
  }

  func ask() { isAsked = true }

  // MARK: Followed hubs

  func follows(_ id: Identifier) -> Bool { followed.contains(id) }
  func follow(_ id: Identifier) { followed.insert(id) }
  func followsAny(where isGone: (Identifier) -> Bool) -> Bool { followed.contains(where: isGone) }

  func unfollow(_ id: Identifier) {
    followed.remove(id)
    _ = takeRelisted(id)
  }

  func unfollowAll() {
    followed = .init()
    relisted = []
  }

  /// The list begins when the current one ends.
  func relist(_ id: Identifier, _ list: UInt64) {
    _ = takeRelisted(id)
    relisted.append((id, list))
  }

  func takeRelisted(_ id: Identifier) -> UInt64? {
    guard let place = relisted.firstIndex(where: { $0.hub == id }) else { return nil }
    return relisted.remove(at: place).list
  }

  // MARK: Announced routes

  func isAnnounced(_ id: Identifier) -> Bool { announcedRoutes.contains(id) }
  func told(_ id: Identifier) { announcedRoutes.insert(id) }
  func clearAnnounced(_ id: Identifier) { announcedRoutes.remove(id) }
  var hasLostRoutes: Bool { !lostRoutes.isEmpty }

  /// - Returns: whether it was sent one.
  func loseRoute(to id: Identifier) -> Bool {
    guard announcedRoutes.remove(id) != nil else { return false }
    lostRoutes.insert(id)
    return true
  }

  func takeLostRoute(to id: Identifier) -> Bool { lostRoutes.remove(id) != nil }

  func resetAnnouncements() {
    announcedRoutes = .init()
    lostRoutes = .init()
    announcedOffers = .init()
  }

  // MARK: Announced offers of this device

  func tell(_ offer: Identifier) { announcedOffers.insert(offer) }
  /// - Returns: whether it was sent that one.
  func clearAnnounced(offer: Identifier) -> Bool { announcedOffers.remove(offer) != nil }

  // MARK: Routes through it

  /// Hubs to which it has a route.
  var reached: [RemoteHub] { routes.all.map { $0.destination } }

  func append(_ route: HubRoute) {
    count(route.cost)
    route.moved(to: routes.append(route))
  }

  func remove(_ route: HubRoute) {
    count(-route.cost)
    routes.remove(at: route.place)?.moved(to: route.place)
  }

  /// Adds to the count.
  func count(_ bytes: Int) {
    self.bytes += bytes
    allBytes.count += bytes
  }
}

/// The bytes that this hub keeps for all linked hubs.
final class LinkedBytes {
  fileprivate(set) var count = 0
}
