import SegueModel

/// The activities of an app that can be offered, the one that is, and who answers for them. Guarded by the app's lock.
struct ActivityTable {
  private var activities: [Identifier: LiveActivity] = .init()
  private var current: LiveActivity?
  /// Of those that have none of their own (R3.12).
  var delegate: ActivityDelegate?

  subscript(id: Identifier) -> LiveActivity? { activities[id] }

  /// The activity that a continuation has brought, and its origin; nil if it is not kept.
  func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? {
    for activity in activities.values {
      guard let from = activity.continuedFrom, from.continuation == continuation else { continue }
      return (activity.id, from.offer.origin)
    }
    return nil
  }

  mutating func add(_ activity: LiveActivity) { activities[activity.id] = activity }

  mutating func remove(_ id: Identifier) -> LiveActivity? { activities.removeValue(forKey: id) }

  /// - Returns: all that there were.
  mutating func removeAll() -> [LiveActivity] {
    defer {
      activities = .init()
      current = nil
    }
    return Array(activities.values)
  }

  /// The engine offers that one from now on; nil: none.
  mutating func setCurrent(_ id: Identifier?) {
    guard current?.id != id else { return }
    current?.setCurrent(false)
    current = id.flatMap { activities[$0] }
    current?.setCurrent(true)
  }

  /// Its own delegate, else that of all activities of the app.
  func delegate(of activity: LiveActivity) -> ActivityDelegate? { activity.ownDelegate ?? delegate }
  func delegate(of id: Identifier) -> ActivityDelegate? { self[id].flatMap { delegate(of: $0) } }
}
