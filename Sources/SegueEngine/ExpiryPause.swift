// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// When to look again at what has expired by its date early: the clock was set ahead perhaps, and may be set back. The
/// pauses grow with the time, up to an hour.
struct ExpiryPause {
  /// Milliseconds.
  static let least: Int64 = 1_000
  private static let longest: Int64 = 3_600_000

  /// The uptime since which the date is past.
  private var since: Int64?

  /// Returns the uptime at which to look again.
  mutating func next(_ now: Instant) -> Int64 {
    let since = since ?? now.uptime
    self.since = since
    return now.uptime + min(max(now.uptime - since, Self.least), Self.longest)
  }

  /// The date is ahead.
  mutating func end() { since = nil }
}
