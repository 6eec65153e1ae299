// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// When an agent takes the place of the hub again after another process has taken it: at once, then with a back-off,
/// and at most five times a minute (docs/agent.md).
struct AgentPlace {
  /// Times that the place is taken again in any `window`.
  private static let limit = 5
  /// Milliseconds.
  private static let window: Int64 = 60_000
  /// Milliseconds until the second time of a series; the others follow twice as late each.
  private static let firstPause: Int64 = 500

  /// Uptimes for which it was allowed to take the place again, within the last window; in ascending order.
  private var taken: [Int64] = []

  /// The place was lost.
  /// - Returns: the uptime at which it may be taken again.
  mutating func lost(_ now: Int64) -> Int64 {
    taken.removeAll { $0 <= now - Self.window }
    var next = now
    if let last = taken.last { next = max(next, last + Self.firstPause << Int64(min(taken.count - 1, Self.limit))) }
    if taken.count >= Self.limit { next = max(next, taken[taken.count - Self.limit] + Self.window) }
    taken.append(next)
    return next
  }
}
