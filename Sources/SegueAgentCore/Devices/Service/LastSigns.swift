// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The last sign of life of each device that was linked since the agent has started.
struct LastSigns {
  /// In the order of the last change.
  private var dates: [(device: Identifier, date: Double)] = []

  /// When a link began, or was last heard before it ended; nil if there was none.
  subscript(device: Identifier) -> Double? { dates.first { $0.device == device }?.date }

  /// - Parameter heardAt: the uptime at which the device was last heard, which may be long ago when its link ends.
  mutating func note(_ device: Identifier, heardAt: Int64, _ now: Instant) {
    dates.removeAll { $0.device == device }
    dates.append((device, now.date - Double(max(0, now.uptime - heardAt)) / 1_000))
    dates.removeFirst(max(0, dates.count - Limits.devices))
  }
}
