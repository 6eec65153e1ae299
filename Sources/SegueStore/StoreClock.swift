// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The clocks of the device, as a store reads them when it is used.
public struct ClockReading: Sendable {
  /// The uptime in milliseconds, and the date.
  public let now: Instant
  /// Differs each time that the system starts; empty if it is not known.
  public let boot: String

  public init(_ now: Instant, boot: String) { (self.now, self.boot) = (now, boot) }
}

/// The clock of a store: tells a date that was set from time that has passed (docs/decisions/lifetimes-are-uptime.md).
///
/// While the system runs, uptime says how much time has passed. After a start of the system the dates say it, but at
/// most as much as the system has run since, and `longestOff`: no more can be told from a date that was set. By what
/// the date has moved besides, the dates at which what is in the store ends move with it.
struct StoreClock {
  /// Seconds by which a date may differ without having been set.
  private static let tolerance: Double = 60
  /// The most seconds that count between a reading and the next start of the system.
  private static let longestOff: Double = 6 * 3_600
  /// Seconds for which a date has to go on like uptime before it deletes what has a date of its own.
  private static let trial: Double = 600
  /// Seconds since 1970 that a clock can say: Linux lets nobody set a date before them, or after the year 2232.
  private static let dates: ClosedRange<Double> = 0...8_277_292_036
  /// Milliseconds after which the disk gets a newer reading.
  private static let storingPause: Int64 = 3_600_000

  private(set) var last: ClockReading
  /// Seconds of uptime since the date was set last, as far as is known: at most those since the system started.
  private(set) var steady: Double = 0

  init(_ first: ClockReading) { last = first }

  /// The clock as a disk has it; nil if no clock can have had these readings.
  init?(_ stored: ClockReading, steady: Double) {
    let (uptime, date) = (stored.now.uptime, stored.now.date)
    guard uptime >= 0, Self.dates.contains(date), 0...Double(uptime) / 1000 + 1 ~= steady else { return nil }
    (last, self.steady) = (stored, steady)
  }

  /// Whether the date has not been set for a while.
  var isSteady: Bool { steady >= Self.trial }

  /// Whether the disk, which has this one, is to get the present one.
  func isOutdated(by present: StoreClock) -> Bool {
    isSteady != present.isSteady || present.last.now.uptime - last.now.uptime >= Self.storingPause
  }

  /// A date that has moved by other than the time that has passed.
  struct Jump {
    /// Negative if the date went back.
    let seconds: Double
    /// Whether the date was set. Otherwise perhaps the system was off for longer than counts.
    let isSet: Bool
  }

  /// Takes another reading.
  mutating func follow(_ reading: ClockReading) -> Jump? {
    let moved = reading.now.date - last.now.date
    let isSameBoot =
      !reading.boot.isEmpty && Text.isSame(reading.boot, last.boot) && reading.now.uptime >= last.now.uptime
    let passed: Double
    if isSameBoot {
      passed = Double(reading.now.uptime - last.now.uptime) / 1000
    } else {
      // If starts of the system cannot be told apart, uptime says nothing. The last reading may be of another machine.
      let sinceStart = reading.boot.isEmpty ? 0 : Double(reading.now.uptime) / 1000
      passed = min(max(moved, 0), sinceStart + Self.longestOff)
    }
    last = reading
    // A date that goes on like uptime says nothing of the one with which the next start begins.
    if !isSameBoot { steady = 0 }
    guard abs(moved - passed) <= Self.tolerance else {
      steady = 0
      return Jump(seconds: moved - passed, isSet: isSameBoot || moved < 0)
    }
    if isSameBoot { steady += passed }
    return nil
  }
}
