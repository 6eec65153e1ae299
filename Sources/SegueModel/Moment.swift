/// A point in time, passed in to whatever may not ask for it.
public struct Moment: Sendable {
  /// Milliseconds that never go back; deadlines are counted in them.
  public var uptime: Int64
  /// Seconds since 1970 by the device's clock, which may jump; only expiration dates are.
  public var date: Double

  public init(uptime: Int64, date: Double) {
    self.uptime = uptime
    self.date = date
  }

  /// The uptime at which `date` will have come, never less than one millisecond and never more than a day from now, so
  /// that a clock that is set in between is noticed.
  public func uptime(of date: Double) -> Int64 {
    let milliseconds = ((date - self.date) * 1000).rounded(.up)
    guard milliseconds > 1 else { return uptime + 1 }
    let day: Int64 = 86_400_000
    return uptime + (milliseconds < Double(day) ? Int64(milliseconds) : day)
  }
}
