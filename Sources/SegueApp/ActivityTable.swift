// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The activities of an app that can be offered, the one that is, and who answers for them. Guarded by the app's lock.
struct ActivityTable {
  private var activities: [Identifier: LiveActivity] = .init()
  /// Those that were invalidated while other apps continue them: until the last of these attempts has ended (R3.6).
  private var awaitingEnd: [LiveActivity] = []
  private var current: LiveActivity?
  /// The delegate of the activities that have none of their own (R3.12).
  var delegate: ActivityDelegate?

  subscript(id: Identifier) -> LiveActivity? { activities[id] }

  /// Those that are private, in the order of their identifiers.
  var privateOnes: [Identifier] {
    var found: [Identifier] = []
    for activity in activities.values where activity.read({ $0.isPrivate }) {
      found.insert(activity.id, at: found.firstIndex { activity.id < $0 } ?? found.count)
    }
    return found
  }

  /// The activity that a continuation has brought, and its origin; nil if it is not kept.
  func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? {
    for activity in activities.values {
      guard let from = activity.continuedFrom, from.continuation == continuation else { continue }
      return (activity.id, from.offer.origin)
    }
    return nil
  }

  mutating func add(_ activity: LiveActivity) { activities[activity.id] = activity }

  /// The activity was invalidated.
  /// - Parameter isAttempted: whether the end of an attempt to continue it is still to come.
  /// - Returns: what the table no longer holds, for the caller to release without the lock.
  mutating func remove(_ id: Identifier, isAttempted: Bool) -> LiveActivity? {
    let gone = activities.removeValue(forKey: id)
    guard isAttempted, let gone else { return gone }
    awaitingEnd.append(gone)
    return nil
  }

  /// For the end of an attempt: the activity, even one that was invalidated meanwhile.
  func attempted(_ id: Identifier) -> LiveActivity? { activities[id] ?? awaitingEnd.first { $0.id == id } }

  /// No attempt to continue it is under way, or waits to be told.
  mutating func forgetAttempted(_ id: Identifier) { awaitingEnd.removeAll { $0.id == id } }

  /// The app is closed, or dead: no end of an attempt is told any longer.
  mutating func forgetAttempted(_ released: ReleasedObjects) {
    for activity in awaitingEnd { released.add(activity) }
    awaitingEnd = []
  }

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
