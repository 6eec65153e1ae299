// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The bytes that a relay may have to hold beyond those that each channel has from the beginning (R14.3, A23): windows
/// grow out of this, so that a sender need not wait. With all channels that a relay passes on at a time it comes to
/// 64 KiB a channel on average. A window takes half of what is left at most, so that a later one grows, too.
struct RelayRoom {
  /// Bytes of all channels, and of those that one device sends.
  static let size = UInt64(RelayAllowance.channels) * 64 * 1024 - UInt64(RelayAllowance.channels) * 2 * RelayWindow.size
  static let sizeOfDevice = size / 2

  private var free = Self.size
  private var freeOfDevice = Self.sizeOfDevice

  /// Bytes that one direction of a channel may have beyond those from the beginning.
  var share: UInt64 { min(free, freeOfDevice) / 2 }

  /// - Parameter isOfDevice: whether the device in question sends them.
  mutating func take(_ bytes: UInt64, isOfDevice: Bool) {
    free -= min(free, bytes)
    if isOfDevice { freeOfDevice -= min(freeOfDevice, bytes) }
  }
}
