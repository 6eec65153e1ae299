// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The time in a beacon that differs from the time here: the devices do not find each other then.
struct OtherClock {
  /// Milliseconds between two notices, and for which a beacon counts as the present state.
  private static let noticePause: Int64 = 86_400_000
  private static let presentTime: Int64 = 60_000

  private var last: (error: SegueError, uptime: Int64)?
  private var toldAt: Int64?

  /// A beacon of the current epoch is of another time.
  /// - Parameter date: that time, in seconds since 1970.
  /// - Returns: the notice for the user, once a day; nil else.
  mutating func heard(_ date: Double, at now: Instant) -> SegueError? {
    let error = ClockAdvice.ofBeacon(there: date, at: now)
    last = (error, now.uptime)
    guard toldAt.map({ now.uptime - $0 >= Self.noticePause }) ?? true else { return nil }
    toldAt = now.uptime
    return error
  }

  /// The present problem; nil if no such beacon was heard lately.
  var problem: SegueError? { last?.error }
  /// The uptime at which `expire` has something to do.
  var deadline: Int64? { last.map { $0.uptime + Self.presentTime } }

  /// - Returns: whether the problem has just ended.
  mutating func expire(at uptime: Int64) -> Bool {
    guard let deadline, deadline <= uptime else { return false }
    last = nil
    return true
  }
}
