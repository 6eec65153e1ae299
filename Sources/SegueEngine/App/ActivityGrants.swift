import SegueModel
import SegueWire

/// An app that has had an activity of this one, and may ask for more of it.
struct ActivityGrant {
  let continuation: Identifier
  let activity: Identifier
  let app: Identifier
}

/// The last of each app; older ones are forgotten. If they are too many in all, that is the oldest of the app that has most.
final class ActivityGrants {
  static let capacity = 1_024
  /// Of one app.
  static let appLimit = 64
  private var grants: [ActivityGrant] = []

  /// What is wrong with an app that asks for more of an activity; nil: nothing (R7.1).
  func objection(to continuation: Message.Continuation, of app: Identifier) -> SegueError? {
    let isGranted = grants.contains {
      $0.continuation == continuation.id && $0.activity == continuation.activity && $0.app == app
    }
    guard !isGranted else { return nil }
    return SegueError(
      .handoffFailed, "the app is not among the last that continued the activity, or it was invalidated")
  }

  func app(_ continuation: Identifier) -> Identifier? { grants.first { $0.continuation == continuation }?.app }

  func insert(_ grant: ActivityGrant) {
    guard !grants.contains(where: { $0.continuation == grant.continuation }) else { return }
    let theirs = grants.count { $0.app == grant.app }
    if theirs >= Self.appLimit {
      removeOldest(of: grant.app)
    } else if grants.count >= Self.capacity {
      removeOldest(of: greediest)
    }
    grants.append(grant)
  }

  private func removeOldest(of app: Identifier?) {
    if let index = grants.firstIndex(where: { $0.app == app }) { grants.remove(at: index) }
  }

  /// The app that has most; of equals the one whose oldest is the older.
  private var greediest: Identifier? {
    var counts: [Identifier: Int] = [:]
    for grant in grants { counts[grant.app, default: 0] += 1 }
    return grants.max { counts[$0.app, default: 0] < counts[$1.app, default: 0] }?.app
  }

  func remove(continuation: Identifier) { grants.removeAll { $0.continuation == continuation } }
  func remove(activity: Identifier) { grants.removeAll { $0.activity == activity } }
}
