// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux

/// An address that this device can use, of an interface that runs; the machine's own (127.0.0.1) is none.
public struct NetworkInterface: Equatable, Sendable {
  /// The system's number of the interface.
  public let index: UInt32
  /// Whether it reaches several devices at a time.
  public let canMulticast: Bool
  /// Whether it leads to one other end alone, as a tunnel does.
  public let isPointToPoint: Bool
  public let address: NetworkAddress

  public init(index: UInt32, canMulticast: Bool, isPointToPoint: Bool = false, address: NetworkAddress) {
    (self.index, self.canMulticast, self.address) = (index, canMulticast, address)
    self.isPointToPoint = isPointToPoint
  }

  /// The most addresses that are looked at.
  private static let limit = 256

  /// Returns those of this device now; none if the system does not tell.
  public static func all() -> [NetworkInterface] {
    let found = [linux_interface](unsafeUninitializedCapacity: limit) { buffer, count in
      count = Int(max(0, linux_interfaces(buffer.baseAddress, Int32(limit))))
    }
    return found.map {
      NetworkInterface(
        index: $0.index, canMulticast: $0.can_multicast == 1, isPointToPoint: $0.is_point_to_point == 1,
        address: NetworkAddress($0.address))
    }
  }
}
