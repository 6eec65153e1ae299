import SegueModel

/// What a hub knows of one activity.
final class KnownActivity {
  let id: Identifier
  /// The offer that counts.
  fileprivate(set) var offer: HubOffer?
  /// The offers of it by other devices' hubs, one of each. The first of them counts, unless an app of this device offers it.
  fileprivate(set) var ways: [HubOffer] = []
  /// Whether it is found by its identifier.
  fileprivate(set) var isListed = true

  init(_ id: Identifier) { self.id = id }

  func way(of home: DistantHub) -> HubOffer? { ways.first { $0.distant?.home === home } }
  func hasWay(_ offer: HubOffer) -> Bool { ways.contains { $0 === offer } }

  /// Its hub ends: an offer and its activity hold each other no longer.
  func leave() {
    offer = nil
    ways = []
  }
}

/// The activities that are offered, by their identifiers. Whatever changes about their offers changes here, so that it
/// can be checked without a look at all of them.
struct KnownOffers {
  private var activities: [Identifier: KnownActivity] = [:]
  /// Ways that came, went, moved or may have lost their activity's offer; only if somebody asks.
  private var changes: [HubOffer] = []
  var keepsChanges = false

  var count: Int { activities.count }
  var isEmpty: Bool { activities.isEmpty }

  /// Whether something is known of an activity, and no offer.
  var hasEmpty: Bool { activities.values.contains { $0.offer == nil && $0.ways.isEmpty } }

  /// The offer of an activity that counts.
  subscript(id: Identifier) -> HubOffer? { activities[id]?.offer }

  /// Nil: nothing is known of it.
  func known(_ id: Identifier) -> KnownActivity? { activities[id] }

  /// One of which nothing is known yet is listed: give it an offer, or call `removeIfEmpty`.
  mutating func activity(_ id: Identifier) -> KnownActivity {
    if let known = activities[id] { return known }
    let activity = KnownActivity(id)
    activities[id] = activity
    return activity
  }

  mutating func removeIfEmpty(_ activity: KnownActivity) {
    guard activity.isListed, activity.offer == nil, activity.ways.isEmpty else { return }
    activity.isListed = false
    activities[activity.id] = nil
  }

  /// Makes an offer the one that counts; nil: none does.
  mutating func set(_ offer: HubOffer?, of activity: KnownActivity) {
    activity.offer = offer
    if keepsChanges, let way = activity.ways.first { changes.append(way) }
  }

  mutating func addWay(_ offer: HubOffer) {
    offer.distant?.home.append(offer)
    offer.activity.ways.append(offer)
    offer.peer.hub?.count(offer.cost)
    if keepsChanges { changes.append(offer) }
  }

  /// It comes by another hub now.
  mutating func move(_ offer: HubOffer, to peer: Peer) {
    offer.peer.hub?.count(-offer.cost)
    offer.move(to: peer)
    peer.hub?.count(offer.cost)
    if keepsChanges { changes.append(offer) }
  }

  /// The hub ends.
  func leave() { for activity in activities.values { activity.leave() } }

  /// Nothing, for an offer of this device.
  mutating func removeWay(_ offer: HubOffer) {
    guard let home = offer.distant?.home else { return }
    offer.activity.ways.removeAll { $0 === offer }
    offer.peer.hub?.count(-offer.cost)
    let moved = home.remove(offer)
    guard keepsChanges else { return }
    // One that is gone may have nothing left that it points to.
    changes.removeAll { $0 === offer }
    if let way = offer.activity.ways.first { changes.append(way) }
    if let moved { changes.append(moved) }
  }

  /// The first that `check` says is wrong with ways that have changed since this was asked last; nil: nothing.
  mutating func firstChange(_ check: (HubOffer) -> StaticString?) -> StaticString? {
    guard !changes.isEmpty else { return nil }
    defer { changes.removeAll(keepingCapacity: true) }
    for index in changes.indices { if let broken = check(changes[index]) { return broken } }
    return nil
  }
}
