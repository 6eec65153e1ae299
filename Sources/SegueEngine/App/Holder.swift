import SegueModel
import SegueWire

/// An app that has had an activity of this one, and may ask for more of it.
struct Holder {
  let continuation: Identifier
  let activity: Identifier
  let app: Identifier
}

/// The last of them; older ones are forgotten.
struct Holders {
  static let capacity = 256
  private var holders: [Holder] = []

  func contains(_ continuation: Message.Continuation, _ app: Identifier) -> Bool {
    holders.contains { $0.continuation == continuation.id && $0.activity == continuation.activity && $0.app == app }
  }

  func app(_ continuation: Identifier) -> Identifier? { holders.first { $0.continuation == continuation }?.app }

  mutating func insert(_ holder: Holder) {
    guard !holders.contains(where: { $0.continuation == holder.continuation }) else { return }
    if holders.count == Self.capacity { holders.removeFirst() }
    holders.append(holder)
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
