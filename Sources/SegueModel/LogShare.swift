/// The rate limit of log lines that others cause: a burst, then one a second.
public struct LogShare: Sendable {
  private static let burst: Int64 = 64
  /// Milliseconds that a line is charged.
  private static let pause: Int64 = 1_000

  /// The uptime at which all lines are paid.
  private var paidAt: Int64 = 0
  private var leftOut = 0

  public init() {}

  /// - Returns: whether one more line may be written; and how many were left out before it.
  public mutating func take(_ now: Instant) -> Int? {
    guard paidAt - now.uptime <= (Self.burst - 1) * Self.pause else {
      leftOut += 1
      return nil
    }
    paidAt = max(paidAt, now.uptime) + Self.pause
    defer { leftOut = 0 }
    return leftOut
  }
}
