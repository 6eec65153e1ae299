// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// When a device sends its beacon: at once when something has changed, then every 10 to 30 seconds, and not at all
/// while every device of the account that it knows is linked.
public struct BeaconSchedule {
  /// Milliseconds between two beacons; the time is drawn anew for each.
  public static let pause: ClosedRange<Int64> = 10_000...30_000
  /// Milliseconds between two beacons, however often something changes.
  public static let leastPause: Int64 = 1_000

  /// The uptime of the last beacon; nil before the first.
  private var lastAt: Int64?
  private var dueAt: Int64?
  private var isWanted = false

  public init() {}

  /// The uptime at which a beacon is due; nil while none is.
  public var nextDeadline: Int64? { dueAt }

  /// Sets whether a device that is known is not linked. If so now, and not before, a beacon is due at once.
  public mutating func set(isWanted: Bool, _ uptime: Int64) {
    guard isWanted != self.isWanted else { return }
    self.isWanted = isWanted
    if isWanted { changed(uptime) } else { dueAt = nil }
  }

  /// This device has another address, another network or another port, or it has woken up.
  public mutating func changed(_ uptime: Int64) {
    guard isWanted else { return }
    let soonest = lastAt.map { $0 + Self.leastPause } ?? uptime
    dueAt = min(dueAt ?? .max, max(uptime, soonest))
  }

  /// Whether to send a beacon now.
  /// - Parameter random: drawn for this call.
  public mutating func takeDue(_ uptime: Int64, random: UInt32) -> Bool {
    guard let dueAt, dueAt <= uptime else { return false }
    let span = UInt32(Self.pause.upperBound - Self.pause.lowerBound + 1)
    lastAt = uptime
    self.dueAt = uptime + Self.pause.lowerBound + Int64(random % span)
    return true
  }
}
