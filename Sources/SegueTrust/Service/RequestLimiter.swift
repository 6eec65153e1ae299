import SegueModel

/// Lets each device ask for something that is stored once in a while: asking without end costs no more than that.
struct RequestLimiter {
  /// Milliseconds between two requests of one device.
  static let interval: Int64 = 5_000

  private var last: [(device: Identifier, uptime: Int64)] = []

  /// False: too soon after the last one.
  mutating func take(_ device: Identifier, at uptime: Int64) -> Bool {
    last.removeAll { uptime - $0.uptime >= Self.interval || $0.uptime > uptime }
    guard !last.contains(where: { $0.device == device }), last.count < 2 * Limits.devices else { return false }
    last.append((device, uptime))
    return true
  }
}
