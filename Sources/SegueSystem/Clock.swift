// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The device's clocks.
public enum Clock {
  public static var now: Instant { Instant(uptime: uptime, date: date) }

  /// Milliseconds since the system started, including sleep: monotonic, and the same in all processes.
  public static var uptime: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Milliseconds that the system has slept since it started.
  public static var slept: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return uptime - Int64(time.tv_sec) * 1000 - Int64(time.tv_nsec) / 1_000_000
  }

  /// Microseconds for which this thread has had a processor.
  public static var threadTime: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
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
    if let error = withUnsafeMutableBytes(of: &words, fill) { throw error }
    return Identifier(high: words.0, low: words.1)
  }

  /// 32 bits for jitter, of the clock where a sandbox refuses random ones.
  public static var jitter: UInt32 {
    let drawn = try? identifier().bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    return drawn ?? UInt32(truncatingIfNeeded: Clock.uptime)
  }

  /// Does the same for several, with one system call.
  static func identifiers(_ count: Int) throws(SegueError) -> [Identifier] {
    var identifiers = [Identifier](repeating: Identifier(high: 0, low: 0), count: count)
    if let error = identifiers.withUnsafeMutableBytes(fill) { throw error }
    return identifiers
  }

  private static func fill(_ bytes: UnsafeMutableRawBufferPointer) -> SegueError? {
    do throws(SegueError) {
      try RandomBytes.fill(bytes)
      return nil
    } catch { return error }
  }
}

/// Random identifiers, drawn in advance: one system call for several. Not for use after `fork`.
public struct IdentifierPool {
  private static let size = 16
  private var drawn: [Identifier] = []

  public init() {}

  /// Throws SYSTEM if a sandbox refuses random numbers.
  public mutating func next() throws(SegueError) -> Identifier {
    if drawn.isEmpty { drawn = try Randomness.identifiers(Self.size) }
    return drawn.removeLast()
  }
}
