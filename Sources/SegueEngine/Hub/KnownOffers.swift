import SegueModel

/// What a hub knows of one activity.
final class KnownActivity {
  let id: Identifier
  /// The offer that counts.
  fileprivate(set) var offer: HubOffer?
  /// The ways on which it comes from other devices. The best of them counts, unless an app of this device offers it.
  fileprivate(set) var ways: [HubOffer] = []
  /// Whether it is found by its identifier.
  fileprivate(set) var isListed = true

  init(_ id: Identifier) { self.id = id }

  func way(by peer: Peer) -> HubOffer? { ways.first { $0.peer === peer } }
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
  /// Ways that came, went, moved or may have lost their activity's offer, with their hubs; only if somebody asks.
  private var changes: [(way: HubOffer, hub: LinkedHub)] = []
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
    if keepsChanges, let way = activity.ways.first, let hub = way.peer.hub { changes.append((way, hub)) }
  }

  mutating func addWay(_ offer: HubOffer, by hub: LinkedHub) {
    hub.append(offer)
    offer.activity.ways.append(offer)
    if keepsChanges { changes.append((offer, hub)) }
  }

  /// The hub ends.
  func leave() { for activity in activities.values { activity.leave() } }

  /// Nothing, for an offer of this device.
  mutating func removeWay(_ offer: HubOffer) {
    offer.activity.ways.removeAll { $0 === offer }
    guard let hub = offer.peer.hub else { return }
    let moved = hub.remove(offer)
    guard keepsChanges else { return }
    changes.append((offer, hub))
    if let moved { changes.append((moved, hub)) }
  }

  /// The first that `check` says is wrong with ways that have changed since this was asked last; nil: nothing.
  mutating func firstChange(_ check: (HubOffer, LinkedHub) -> StaticString?) -> StaticString? {
    guard !changes.isEmpty else { return nil }
    defer { changes.removeAll(keepingCapacity: true) }
    for index in changes.indices { if let broken = check(changes[index].way, changes[index].hub) { return broken } }
    return nil
  }
}
