// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The rate limit of log lines that others cause: 64 at once, then one a second.
public struct LogLimiter: Sendable {
  private var lines = RateLimiter(burst: 64)
  private var leftOut = 0

  public init() {}

  /// - Returns: the number of lines that were left out before this one; nil if it is left out, too.
  public mutating func take(_ now: Instant) -> Int? {
    guard lines.take(at: now.uptime) else {
      leftOut += 1
      return nil
    }
    defer { leftOut = 0 }
    return leftOut
  }
}
