// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The most that a relay does for each device (R14.3, A23). The devices are those that are linked, so that there are at
/// most `Limits.devices`.
struct RelayAllowance {
  /// Channels that one device has opened; of these to one device; and all together.
  static let channelsOfDevice = 8
  static let channelsOfTwo = 4
  static let channels = 64
  /// Channels that a device may open at once, and then one in each second.
  static let openings = 8
  /// Bytes that one device may send in each second for hours; and at once, as fast as the line is.
  static let bytesInSecond: Int64 = 4 * 1024 * 1024
  static let bytesAtOnce: Int64 = 256 * 1024 * 1024

  private struct Use {
    let device: Identifier
    var openings = RateLimiter(burst: RelayAllowance.openings)
    /// The uptime at which all bytes of the device are paid, in microseconds.
    var paidAt: Int64 = 0
  }

  private var uses: [Use] = []

  private mutating func index(of device: Identifier) -> Int {
    if let index = uses.firstIndex(where: { $0.device == device }) { return index }
    uses.append(Use(device: device))
    // The oldest starts anew.
    uses.removeFirst(max(0, uses.count - Limits.devices))
    return uses.count - 1
  }

  /// - Returns: whether a device may open one more channel now; then it is charged.
  mutating func opens(_ device: Identifier, _ uptime: Int64) -> Bool {
    let index = index(of: device)
    return uses[index].openings.take(at: uptime)
  }

  /// A device has sent bytes.
  mutating func charge(_ device: Identifier, _ bytes: Int, _ uptime: Int64) {
    let index = index(of: device)
    uses[index].paidAt = max(uses[index].paidAt, uptime * 1_000) + Int64(bytes) * 1_000_000 / Self.bytesInSecond
  }

  /// The uptime from which on a device may send more.
  func sendsAt(_ device: Identifier) -> Int64 {
    guard let use = uses.first(where: { $0.device == device }) else { return .min }
    return (use.paidAt - Self.bytesAtOnce * 1_000_000 / Self.bytesInSecond + 999) / 1_000
  }
}
