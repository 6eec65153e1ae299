/// Whether somebody is at this device who can ask its user about what others push (R3.15): who waits for what is new,
/// or has just been told of it. Who looks once, and waits for nothing, is not there to be asked.
public struct Attendance {
  /// Milliseconds for one that was told of the state to wait again, before it counts as gone.
  private static let pause: Int64 = 5_000

  private var loggedAt: Int64?

  public init() {}

  /// Somebody was told of the state.
  /// - Parameter hasWaited: for another state than one that it knew.
  public mutating func told(hasWaited: Bool, at uptime: Int64) {
    if hasWaited { loggedAt = uptime }
  }

  /// - Parameter waiting: who waits now.
  public func isAttended(waiting: Int, at uptime: Int64) -> Bool {
    waiting > 0 || loggedAt.map { uptime < $0 + Self.pause } ?? false
  }
}
