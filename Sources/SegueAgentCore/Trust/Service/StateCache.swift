// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A cache of what follows from one state of the account. It ends with that state.
struct StateCache {
  /// The devices, for people; nil: they were not asked for.
  var devices: [DeviceDescription]?
  /// The keys of the epochs; nil: they were not asked for.
  var keys: [EpochKeys]?
  /// The records that were signed because a device has left, or is confirmed, and could not be stored: they are not
  /// signed anew each time the device says so.
  private var unstored: [(device: Identifier, hasLeft: Bool, record: AccountRecord)] = []

  /// The record that was signed because of a device; nil: none was.
  func record(of device: Identifier, hasLeft: Bool) -> AccountRecord? {
    unstored.first { $0.device == device && $0.hasLeft == hasLeft }?.record
  }

  /// Remembers a record until it is stored.
  mutating func add(_ record: AccountRecord, of device: Identifier, hasLeft: Bool) {
    unstored.append((device, hasLeft, record))
  }
}
