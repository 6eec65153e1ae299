/// The earliest of several deadlines.
struct EarliestDeadline {
  private(set) var uptime: Int64?

  mutating func set(_ uptime: Int64) { self.uptime = min(self.uptime ?? uptime, uptime) }

  /// - Returns: whether it has passed; it is then unset.
  mutating func take(_ now: Int64) -> Bool {
    guard let uptime, uptime <= now else { return false }
    self.uptime = nil
    return true
  }
}
