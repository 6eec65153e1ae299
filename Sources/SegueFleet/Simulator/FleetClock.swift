// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Synchronization

/// The simulated time of a fleet, which only the fleet advances. Any thread may read it.
public final class FleetClock: Sendable {
  /// The uptime at which a fleet begins: an arbitrary number, so that no code relies on it.
  static let start: Int64 = 1_000_000
  /// The date at which a fleet begins, in seconds since 1970: 2023-11-14T22:13:20Z.
  static let startDate: Double = 1_700_000_000

  private let milliseconds = Atomic<Int64>(FleetClock.start)

  public internal(set) var uptime: Int64 {
    get { milliseconds.load(ordering: .relaxed) }
    set { milliseconds.store(newValue, ordering: .relaxed) }
  }

  /// Milliseconds since the fleet was created.
  public var elapsed: Int64 { uptime - Self.start }

  public var now: Instant { Instant(uptime: uptime, date: Self.startDate + Double(elapsed) / 1000) }
}

/// The clock of a device: the time of the fleet, with a date of its own.
final class DeviceClock {
  private let fleet: FleetClock
  /// Seconds by which the date is ahead of the fleet's.
  var offset: Double = 0

  init(_ fleet: FleetClock) { self.fleet = fleet }

  var now: Instant {
    let now = fleet.now
    return Instant(uptime: now.uptime, date: now.date + offset)
  }
}
