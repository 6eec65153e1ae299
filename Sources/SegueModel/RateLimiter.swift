// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A rate limit: a number of uses at once, then as many in each second as `perSecond` says.
public struct RateLimiter: Sendable {
  private static let second: Int64 = 1_000_000

  /// Microseconds that a use is charged.
  private let pause: Int64
  /// Microseconds that may be charged ahead: those of all uses at once but the last one.
  private let credit: Int64
  /// The uptime at which all uses are paid, in microseconds.
  private var paidAt: Int64 = 0

  /// - Parameters:
  ///   - burst: 1...10000.
  ///   - perSecond: 1...10000.
  public init(burst: Int, perSecond: Int = 1) {
    pause = Self.second / Int64(perSecond)
    credit = Int64(burst - 1) * pause
  }

  /// Whether one more use is within the limit.
  /// - Parameter uptime: milliseconds; rises.
  public func allows(at uptime: Int64) -> Bool { paidAt - uptime * 1_000 <= credit }

  /// Whether all uses are paid, so that a new limiter would allow the same.
  public func isUnused(at uptime: Int64) -> Bool { paidAt <= uptime * 1_000 }

  /// Charges a use.
  /// - Returns: false if it is beyond the limit, and not charged.
  public mutating func take(at uptime: Int64) -> Bool {
    guard allows(at: uptime) else { return false }
    paidAt = max(paidAt, uptime * 1_000) + pause
    return true
  }
}
