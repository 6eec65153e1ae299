// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A hub of another device that has offers: the routes to it, and its known offers. Withdrawn offers leave no state.
///
/// Any hub can claim any identifier. So what the links of a device say of its hub, and what the links of apps say of a
/// hub with that identifier, are two remote hubs.
final class RemoteHub {
  let id: Identifier
  /// The device whose links lead to it; nil: links of apps do.
  let device: Identifier?
  /// One route per linked hub that has one. Unordered.
  private(set) var routes: [HubRoute] = []
  /// The chosen route. Only offers that arrive through it are accepted.
  private(set) var route: HubRoute?
  /// The shortest announced route of the highest sequence; nil if any route is acceptable. A longer one may derive from
  /// it, and be lost with it.
  private(set) var shortest: Distance?
  /// Since when the route is lost, and the uptime of the next `seek`. Nil with a route.
  private(set) var seeking: (since: Int64, askAt: Int64)?
  /// The last sequence that this hub has sought on behalf of another, and its uptime.
  private var asked: (sequence: UInt64, at: Int64) = (0, 0)
  /// The last list of its offers that was requested through the chosen route.
  private(set) var list = RequestedList()
  /// The known version of its offers.
  private(set) var version = KnownVersion()
  /// Unordered; `OfferDirectory` keeps them consistent with their activities.
  private(set) var offers: [HubOffer] = []
  /// Those that its device, a mailbox, has retained for others (R14.5); at most `retainedLimit`.
  private(set) var retained: [HubOffer] = []
  static let retainedLimit = 256
  /// The activities that its device has last withdrawn.
  private var withdrawn = RecentIdentifiers()
  /// Its position in the list of its hub.
  private(set) var index = 0

  typealias Distance = (sequence: UInt64, count: Int)

  /// - Parameter shortest: of a recently lost route.
  init(_ id: Identifier, of device: Identifier?, shortest: Distance?) {
    self.id = id
    self.device = device
    self.shortest = shortest
  }

  func moved(to index: Int) { self.index = index }

  /// Returns this hub's identifier of an activity that is offered there. If a device offers it, no other device can
  /// offer the same identifier.
  func identifier(of activity: Identifier) -> Identifier {
    device.map { Identifier(of: activity, onDevice: $0) } ?? activity
  }

  func noteWithdrawn(_ activity: Identifier) { withdrawn.insert(activity) }
  func hasWithdrawn(_ activity: Identifier) -> Bool { withdrawn.contains(activity) }

  func route(by peer: Peer) -> HubRoute? { routes.first { $0.peer === peer } }
  func has(_ route: HubRoute) -> Bool { routes.contains { $0 === route } }

  func set(_ route: HubRoute?, by peer: Peer) {
    if let index = routes.firstIndex(where: { $0.peer === peer }) {
      peer.hub?.remove(routes.remove(at: index))
    }
    guard let route else { return }
    peer.hub?.append(route)
    routes.append(route)
  }

  /// The route with the fewest hubs; of equals the one chosen before, or through the hub linked first.
  /// - Parameter isSure: only routes that cannot derive from a lost one.
  func bestRoute(isSure: Bool) -> HubRoute? {
    var best: HubRoute?
    for route in routes where !route.isSought && (!isSure || mayTake(route)) {
      if let best {
        guard route.hubs.count <= best.hubs.count else { continue }
        if route.hubs.count == best.hubs.count,
          best.peer === self.route?.peer || route.peer !== self.route?.peer && route.peer.number > best.peer.number
        {
          continue
        }
      }
      best = route
    }
    return best
  }

  /// A route from the hub itself is acceptable; others if they are newer, or shorter than this hub's ever was (Babel,
  /// RFC 8966 3.5.1).
  private func mayTake(_ route: HubRoute) -> Bool {
    guard let shortest, !route.isDirect else { return true }
    return route.sequence > shortest.sequence
      || route.sequence == shortest.sequence && route.hubs.count <= shortest.count
  }

  func choose(_ route: HubRoute?) { self.route = route }

  // MARK: Seeking a lost route

  /// Begins to seek, unless it already does.
  func seek(_ now: Int64, askAt: Int64) -> Bool {
    guard seeking == nil else { return false }
    seeking = (now, askAt)
    return true
  }

  func askAgain(at uptime: Int64) { seeking?.askAt = uptime }

  /// Sends the next `seek` at an uptime, unless it is due earlier.
  func askAgain(by uptime: Int64) {
    guard let seeking else { return }
    self.seeking?.askAt = min(seeking.askAt, uptime)
  }

  /// Another hub seeks a newer route; many may do so for the same reason.
  /// - Returns: whether to pass it on along the chosen route.
  func passOn(_ sequence: UInt64, _ now: Int64, pause: Int64) -> Bool {
    guard asked.sequence != sequence || asked.at + pause <= now else { return false }
    asked = (sequence, now)
    return true
  }

  /// Records that the route was announced.
  func noteAnnounced(_ route: HubRoute) {
    seeking = nil
    if let shortest, !route.isDirect, route.sequence == shortest.sequence, route.hubs.count >= shortest.count { return }
    shortest = (route.sequence, route.hubs.count)
  }

  /// No better route was found for long: any is acceptable.
  func takeAny() { shortest = nil }

  // MARK: Versions of its offers

  /// Begins a new list: offers that are missing at its end are gone.
  /// - Parameters:
  ///   - number: that of the list.
  ///   - believing: accepts an older version than the known one.
  func follow(list number: UInt64, believing: Bool) {
    list.request(number, hasBegun: route?.isDirect ?? false)
    version.restart(believing: believing)
  }

  func unfollow() { list.cancel() }

  /// The list has ended.
  func noteComplete() { list.end() }

  /// A list begins.
  func begin(_ number: UInt64) { list.begin(number) }

  /// Whether a message about it is not older than the known version. Messages of the hub itself always count.
  func accept(_ number: UInt64, at uptime: Int64) -> Bool {
    version.accept(number, isSure: route?.isDirect ?? false, at: uptime)
  }

  /// Without a route: forgets the version of its offers.
  func forget() { version = KnownVersion() }

  // MARK: Its offers

  func append(_ offer: HubOffer) {
    offer.placed(at: offers.count)
    offers.append(offer)
    if offer.remote?.retained != nil { retained.append(offer) }
  }

  /// - Returns: the one that replaced it, if any.
  func remove(_ offer: HubOffer) -> HubOffer? {
    if offer.remote?.retained != nil { retained.removeAll { $0 === offer } }
    let last = offers.removeLast()
    guard last !== offer else { return nil }
    offers[offer.place] = last
    last.placed(at: offer.place)
    return last
  }

  func has(_ offer: HubOffer) -> Bool { offer.place < offers.count && offers[offer.place] === offer }

  /// Breaks its reference cycles when the hub ends.
  func tearDown() { (offers, retained) = ([], []) }
}
