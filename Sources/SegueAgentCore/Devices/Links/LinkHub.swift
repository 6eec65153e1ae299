// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The hub of an agent, as links with other devices use it.
public protocol LinkHub: AnyObject {
  /// Links the hub with that of another device.
  /// - Parameters:
  ///   - device: the one whose certificate was shown on the connection.
  ///   - make: makes the connection, which the hub then owns and closes, from its number and what to call when the
  ///     connection is readable (true) or writable (false). Not called if this throws.
  /// Throws INVALID_STATE if the agent carries no hub now.
  func addLink(
    of device: Identifier,
    _ make: (_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void) -> any ByteConnection
  ) throws(SegueError)
  /// The hub at the other end of a link, by the number of `addLink`; nil before it has said so.
  func hub(at number: UInt64) -> Identifier?
  /// Asks all linked devices for a sign of life: this one has another network or address, or has woken up.
  func networkChanged()
  /// Sets the function that is called when a session with a linked device begins or resumes (nil), and for each message
  /// about the account that the device sends, with at most 64 KiB. Its result is sent to that device. It must not call
  /// this object.
  func setAccountHandler(_ handler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?)
  /// Sends a message about the account to a device, if it is linked.
  func sendAccount(_ message: [UInt8], to device: Identifier)
  /// Sets the function that is called for each frame of a relay that a linked device sends (R14.3). It must not call
  /// this object.
  func setRelayHandler(_ handler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?)
  /// Sends frames of relays to devices, those that are linked, in order.
  func sendRelay(_ frames: [(frame: RelayFrame, device: Identifier)])
  /// Bytes for a device that its connections have not taken yet.
  func unsent(to device: Identifier) -> Int
  /// Ends the links with a device for good, or with all (nil), and forgets what it offers.
  func endLinks(of device: Identifier?, _ error: SegueError)
  /// Sets which offers of this device's apps are kept off all other devices (R10.2).
  /// - Parameter isPrivate: told the type of an activity and the bundle identifier of its app; nil: none.
  func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?)
  /// Sets what knows the offers that devices have had retained (R14.5); nil: none are. It must not call this object.
  func setRetention(_ retention: (any OfferRetention)?)
  /// Sets the devices of the account, after which offers and receipts name them.
  /// - Parameter devices: nil without an account: a device is called what it says, and this one what its host is.
  func setDevices(_ devices: AccountDevices?)
}
