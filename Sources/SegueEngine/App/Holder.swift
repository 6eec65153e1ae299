import SegueModel
import SegueWire

/// An app that has had an activity of this one, and may ask for more of it.
struct Holder {
  let continuation: Identifier
  let activity: Identifier
  let app: Identifier
}

/// The last of each app; older ones are forgotten. If they are too many in all, that is the oldest of the app that has most.
struct Holders {
  static let capacity = 1_024
  /// Of one app.
  static let appLimit = 64
  private var holders: [Holder] = []

  func contains(_ continuation: Message.Continuation, _ app: Identifier) -> Bool {
    holders.contains { $0.continuation == continuation.id && $0.activity == continuation.activity && $0.app == app }
  }

  func app(_ continuation: Identifier) -> Identifier? { holders.first { $0.continuation == continuation }?.app }

  mutating func insert(_ holder: Holder) {
    guard !holders.contains(where: { $0.continuation == holder.continuation }) else { return }
    let theirs = holders.count { $0.app == holder.app }
    if theirs >= Self.appLimit {
      removeOldest(of: holder.app)
    } else if holders.count >= Self.capacity {
      removeOldest(of: greediest)
    }
    holders.append(holder)
  }

  private mutating func removeOldest(of app: Identifier?) {
    if let index = holders.firstIndex(where: { $0.app == app }) { holders.remove(at: index) }
  }

  /// The app that has most; of equals the one whose oldest is the older.
  private var greediest: Identifier? {
    var counts: [Identifier: Int] = [:]
    for holder in holders { counts[holder.app, default: 0] += 1 }
    return holders.max { counts[$0.app, default: 0] < counts[$1.app, default: 0] }?.app
  }

  mutating func remove(continuation: Identifier) { holders.removeAll { $0.continuation == continuation } }
  mutating func remove(activity: Identifier) { holders.removeAll { $0.activity == activity } }
}

extension AppEngine {
  /// What is wrong with an app that asks for more of an activity; nil: nothing (R7.1).
  func objection(to continuation: Message.Continuation, of app: Identifier) -> SegueError? {
    guard holders.contains(continuation, app) else {
      return SegueError(
        .handoffFailed, "the app is not among the last that continued the activity, or it was invalidated")
    }
    return nil
  }
}
