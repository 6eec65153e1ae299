import CLinux
import SegueModel

/// The device's clocks.
public enum Clock {
  public static var now: Moment { Moment(uptime: uptime, date: date) }

  /// Milliseconds since the system started, including sleep: monotonic, and the same in all processes.
  public static var uptime: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Seconds since 1970.
  public static var date: Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// The system's random numbers.
public enum Randomness {
  /// Throws SYSTEM if a sandbox refuses them.
  public static func identifier() throws(SegueError) -> Identifier {
    var words: (UInt64, UInt64) = (0, 0)
    let error = withUnsafeMutableBytes(of: &words) { bytes -> SegueError? in
      var filled = 0
      while filled < bytes.count {
        // Blocks only once, shortly after the system has started.
        let count = getrandom(bytes.baseAddress! + filled, bytes.count - filled, 0)
        if count > 0 {
          filled += count
        } else if linux_errno() != EINTR {
          return .system("random numbers")
        }
      }
      return nil
    }
    if let error { throw error }
    return Identifier(high: words.0, low: words.1)
  }
}
