// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The bytes that a relay may have to hold beyond those that each channel has from the beginning (R14.3, A23): a window
/// grows out of this, so that a distant device is not slow. With all channels that a relay passes on at a time it comes
/// to 64 KiB a channel.
struct RelayRoom {
  /// Bytes of all channels, and of those that one device sends.
  static let size = UInt64(RelayAllowance.channels) * 64 * 1024 - UInt64(RelayAllowance.channels) * 2 * RelayWindow.size
  static let sizeOfDevice = size / 2

  private var free = Self.size
  private var freeOfDevice = Self.sizeOfDevice

  /// Bytes that a device may be allowed to send more.
  var left: UInt64 { min(free, freeOfDevice) }

  /// - Parameter isOfDevice: whether the device in question sends them.
  mutating func take(_ bytes: UInt64, isOfDevice: Bool) {
    free -= min(free, bytes)
    if isOfDevice { freeOfDevice -= min(freeOfDevice, bytes) }
  }
}
