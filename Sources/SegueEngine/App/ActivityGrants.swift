// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A receiver that has continued an activity of this app, and may ask for more of it.
struct ActivityGrant {
  let continuation: Identifier
  let activity: Identifier
  let app: Identifier
  /// The principal of the receiver, which is charged for its requests.
  let principal: Identifier
  /// The revision of the activity that it was sent, or that has come back from it (R3.10).
  var revision: UInt64
}

/// The latest grants of each app; older ones are dropped. If there are too many in all, the oldest of the principal
/// with the most is dropped.
final class ActivityGrants {
  static let capacity = 1_024
  /// The limit for one app.
  static let appLimit = 64
  private var grants: [ActivityGrant] = []

  /// The error for an app that may not ask for more of an activity, or nil (R7.1).
  func rejection(to continuation: Message.Continuation, of app: Identifier) -> SegueError? {
    let isGranted = grants.contains {
      $0.continuation == continuation.id && $0.activity == continuation.activity && $0.app == app
    }
    guard !isGranted else { return nil }
    return SegueError(
      .handoffFailed, "the app is not among the last that continued the activity, or it was invalidated")
  }

  /// The latest for an activity.
  /// - Parameter isOver: whether a continuation has ended.
  func last(of activity: Identifier, where isOver: (Identifier) -> Bool) -> ActivityGrant? {
    grants.last { $0.activity == activity && isOver($0.continuation) }
  }

  func app(_ continuation: Identifier) -> Identifier? { grants.first { $0.continuation == continuation }?.app }

  func principal(_ continuation: Identifier) -> Identifier? {
    grants.first { $0.continuation == continuation }?.principal
  }

  func revision(of continuation: Identifier) -> UInt64? {
    grants.first { $0.continuation == continuation }?.revision
  }

  func setRevision(_ revision: UInt64, of continuation: Identifier) {
    guard let index = grants.firstIndex(where: { $0.continuation == continuation }) else { return }
    grants[index].revision = revision
  }

  func insert(_ grant: ActivityGrant) {
    var theirs = 0
    for index in grants.indices {
      guard grants[index].continuation != grant.continuation else { return }
      if isOfSameApp(grants[index], grant) { theirs += 1 }
    }
    if theirs >= Self.appLimit {
      removeOldest { isOfSameApp($0, grant) }
    } else if grants.count >= Self.capacity, let greediest {
      removeOldest { $0.principal == greediest }
    }
    grants.append(grant)
  }

  /// The identifier of an app is what its hub says: a principal takes nothing from another one by it.
  private func isOfSameApp(_ one: ActivityGrant, _ other: ActivityGrant) -> Bool {
    one.app == other.app && one.principal == other.principal
  }

  private func removeOldest(where isMeant: (ActivityGrant) -> Bool) {
    if let index = grants.firstIndex(where: isMeant) { grants.remove(at: index) }
  }

  /// The principal with the most; of equals the one with the oldest.
  private var greediest: Identifier? {
    var counts: [Identifier: Int] = .init()
    for grant in grants { counts[grant.principal, default: 0] += 1 }
    return grants.max { counts[$0.principal, default: 0] < counts[$1.principal, default: 0] }?.principal
  }

  func remove(continuation: Identifier) { grants.removeAll { $0.continuation == continuation } }
  func remove(activity: Identifier) { grants.removeAll { $0.activity == activity } }
}
