// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Another machine that has the keys of this device: for how long that is said, and which devices were told of it.
struct DeviceCopy {
  /// Milliseconds for which it is said after the other machine was met last, and between two messages to one device:
  /// the other machine is met again and again.
  static let presentTime: Int64 = 600_000
  static let pause: Int64 = 3_600_000

  private var present: (problem: SegueError, until: Int64)?
  /// When each device was told last, at most `Limits.devices`.
  private var told: [(device: Identifier, uptime: Int64)] = []

  /// Nil if the other machine was not met lately.
  var problem: SegueError? { present?.problem }
  /// The uptime at which `expire` has something to do.
  var deadline: Int64? { present?.until }

  /// The other machine was met.
  mutating func met(_ problem: SegueError, at uptime: Int64) { present = (problem, uptime + Self.presentTime) }

  /// - Returns: whether the problem has just ended.
  mutating func expire(at uptime: Int64) -> Bool {
    guard let deadline, deadline <= uptime else { return false }
    present = nil
    return true
  }

  /// Those of some linked devices that are to be told now; each counts as told.
  mutating func takeUntold(of linked: [Identifier], at uptime: Int64) -> [Identifier] {
    guard present != nil else { return [] }
    told.removeAll { uptime - $0.uptime >= Self.pause }
    let untold = linked.filter { device in !told.contains { $0.device == device } }
    told += untold.map { ($0, uptime) }
    told.removeFirst(max(0, told.count - Limits.devices))
    return untold
  }
}
