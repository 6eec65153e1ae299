import SegueModel

/// Another machine that has the keys of this device, too. For the loop.
struct DeviceCopy {
  /// Milliseconds for which it is named after it was met last, and between two messages about it to the other devices.
  private static let time: Int64 = 600_000
  private static let pause: Int64 = 3_600_000

  /// What the user is told; nil if none was met lately.
  private(set) var problem: SegueError?
  /// The uptime at which that is over.
  private(set) var nextDeadline: Int64?
  /// The uptime at which the other devices were told last.
  private var toldAt: Int64?

  /// The other machine was met.
  /// - Returns: whether the other devices are told now: it is met again and again, and each hears of it once an hour.
  mutating func met(_ problem: SegueError, _ uptime: Int64) -> Bool {
    self.problem = problem
    nextDeadline = uptime + Self.time
    guard toldAt.map({ uptime - $0 >= Self.pause }) ?? true else { return false }
    toldAt = uptime
    return true
  }

  /// - Returns: whether it is named no longer.
  mutating func tick(_ uptime: Int64) -> Bool {
    guard let deadline = nextDeadline, deadline <= uptime else { return false }
    (problem, nextDeadline) = (nil, nil)
    return true
  }
}
