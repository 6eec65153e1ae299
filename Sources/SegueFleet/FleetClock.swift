import SegueModel
import Synchronization

/// The time of a fleet: it stands still until the fleet moves it. Any thread may read it.
public final class FleetClock: Sendable {
  /// Milliseconds at which a fleet begins: no special number, so that nothing comes to rely on one.
  static let start: Int64 = 1_000_000
  /// The date at which a fleet begins, in seconds since 1970: 2023-11-14T22:13:20Z.
  static let startDate: Double = 1_700_000_000

  private let milliseconds = Atomic<Int64>(FleetClock.start)

  public internal(set) var uptime: Int64 {
    get { milliseconds.load(ordering: .relaxed) }
    set { milliseconds.store(newValue, ordering: .relaxed) }
  }

  /// Milliseconds since the fleet began.
  public var elapsed: Int64 { uptime - Self.start }

  public var now: Moment { Moment(uptime: uptime, date: Self.startDate + Double(elapsed) / 1000) }
}

/// The clock of a device: the time of the fleet, and a date of its own.
final class DeviceClock {
  private let fleet: FleetClock
  /// Seconds that it is ahead of the fleet's.
  var offset: Double = 0

  init(_ fleet: FleetClock) { self.fleet = fleet }

  var now: Moment {
    let now = fleet.now
    return Moment(uptime: now.uptime, date: now.date + offset)
  }
}
