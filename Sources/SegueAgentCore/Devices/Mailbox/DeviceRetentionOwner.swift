// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The owner of a `DeviceRetention`.
protocol DeviceRetentionOwner: AnyObject {
  /// Sends a message to a device, if it is linked then: in a later turn, as the hub may be in the middle of a call.
  func post(_ message: [UInt8], to device: Identifier)
  /// Takes note that a deadline has changed, or the state that users are told.
  func publish()
  /// Tells targets of the pushes that this device keeps for them.
  func deliverPushes()
}
