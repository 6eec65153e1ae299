// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A point in time, passed to code that must not read clocks.
public struct Instant: Sendable {
  /// Monotonic milliseconds; the unit of deadlines.
  public var uptime: Int64
  /// Seconds since 1970 by the device's clock, which may jump; used for expiration dates only.
  public var date: Double

  public init(uptime: Int64, date: Double) {
    self.uptime = uptime
    self.date = date
  }

  /// The uptime at which to look again whether `date` has passed: at least one millisecond and at most a day from now,
  /// so that a change of the clock is noticed.
  public func uptime(of date: Double) -> Int64 {
    let milliseconds = ((date - self.date) * 1000).rounded(.up)
    guard milliseconds > 1 else { return uptime + 1 }
    let day: Int64 = 86_400_000
    return uptime + (milliseconds < Double(day) ? Int64(milliseconds) : day)
  }
}
