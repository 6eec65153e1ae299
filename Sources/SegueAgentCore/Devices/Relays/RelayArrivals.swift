// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The messages and frames of other devices about relays that wait for a turn, in their order. Of one device as many
/// wait as its share; those beyond are lost, which ends the channel.
struct RelayArrivals {
  /// A message or a frame of a device.
  enum Arrival {
    case message([UInt8])
    case frame(RelayFrame)

    /// Bytes, for the limit of those that wait: small ones cost more than their bytes.
    var size: Int {
      switch self {
      case .message(let message): max(message.count, RelayFrame.leastCost)
      case .frame(.bytes(_, _, let bytes)): RelayFrame.leastCost + bytes.count
      case .frame: RelayFrame.leastCost
      }
    }
  }

  /// Bytes of one device that wait.
  private static let limit = 2 * Int(RelayWindow.largest)

  private var arrivals: [(arrival: Arrival, device: Identifier)] = []
  /// The bytes in `arrivals` of each device.
  private var waiting: [(device: Identifier, bytes: Int)] = []

  /// The messages and frames that wait.
  var count: Int { arrivals.count }

  /// Takes what a device has sent.
  /// - Returns: false: it is lost.
  mutating func take(_ arrival: Arrival, from device: Identifier) -> Bool {
    let index = waiting.firstIndex { $0.device == device } ?? waiting.count
    if index == waiting.count { waiting.append((device, 0)) }
    guard waiting[index].bytes + arrival.size <= Self.limit else { return false }
    waiting[index].bytes += arrival.size
    arrivals.append((arrival, device))
    return true
  }

  /// Returns all that waits, and waits for more.
  mutating func takeAll() -> [(arrival: Arrival, device: Identifier)] {
    let all = arrivals
    (arrivals, waiting) = ([], [])
    return all
  }
}
