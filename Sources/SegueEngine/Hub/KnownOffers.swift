import SegueModel

/// What a hub knows of one activity.
final class KnownActivity {
  let id: Identifier
  /// The offer that counts.
  var offer: HubOffer?
  /// The ways on which it comes from other devices. The best of them counts, unless an app of this device offers it.
  var ways: [HubOffer] = []
  /// Whether it is found by its identifier.
  fileprivate(set) var isListed = true

  init(_ id: Identifier) { self.id = id }

  func way(by peer: Peer) -> HubOffer? { ways.first { $0.peer === peer } }
}

/// The activities that are offered, by their identifiers.
struct KnownOffers {
  private var activities: [Identifier: KnownActivity] = [:]

  var count: Int { activities.count }

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
}
