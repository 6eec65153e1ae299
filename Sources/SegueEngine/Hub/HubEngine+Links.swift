// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Links of the hub with hubs of other devices, and the devices of the account.
extension HubEngine {
  /// Takes a connection to another hub. Its supplier is responsible for the other end.
  /// - Parameters:
  ///   - request: the app's request that it fulfils.
  ///   - device: whose certificate was shown on it.
  ///   - secret: a new random one.
  public func connectedHub(
    _ number: PeerNumber, for request: LinkRequest? = nil, device: Identifier? = nil, secret: Identifier,
    _ now: Instant
  ) {
    connections.begin(now)
    links.connected(number, for: request, device: device, secret: secret)
    registration.removeDropped()
  }

  /// Called when the session with a linked device begins or resumes (nil), and for each message about the account that
  /// the device sends, with at most 64 KiB. The result is sent to that device. The handler calls nothing of the engine.
  public var trustHandler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)? {
    get { links.trustHandler }
    set { links.trustHandler = newValue }
  }

  /// Sends a message about the account to a device, if it is linked.
  public func sendAccount(_ message: [UInt8], to device: Identifier, _ now: Instant) {
    connections.begin(now)
    links.sendAccount(message, to: device)
    registration.removeDropped()
  }

  /// Called for each frame of a relay that a linked device sends. The handler calls nothing of the engine.
  public var relayHandler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)? {
    get { links.relayHandler }
    set { links.relayHandler = newValue }
  }

  /// The frames of relays that have come so far, modulo 2^64.
  public var relayedFrames: UInt64 { links.relayedFrames }

  /// Sends frames of relays to devices, those that are linked, in order.
  public func sendRelay(_ frames: [(frame: RelayFrame, device: Identifier)], _ now: Instant) {
    connections.begin(now)
    for (frame, device) in frames { links.send(frame, to: device) }
    registration.removeDropped()
  }

  /// Bytes for a device that its connections have not taken yet.
  public func unsent(to device: Identifier) -> Int { links.unsent(to: device) }

  /// Ends the links with a device for good, and forgets what it offers.
  /// - Parameter device: nil: with all devices.
  public func endLinks(of device: Identifier?, _ error: SegueError, _ now: Instant) {
    connections.begin(now)
    links.endAll(of: device, error)
    registration.removeDropped()
  }

  /// Sets what is kept off all linked devices (R10.2), and takes back, or tells them, what this changes.
  /// - Parameter isPrivate: told the type of an activity and the bundle identifier of its app; nil: nothing is private.
  public func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?, _ now: Instant) {
    connections.begin(now)
    offers.setPrivacy(isPrivate)
    registration.removeDropped()
  }

  /// Sets what knows the offers that devices have had retained (R14.5); nil: nothing is retained, here or elsewhere.
  /// It must not call this object.
  public func setRetention(_ retention: (any OfferRetention)?) { offers.setRetention(retention) }

  /// Sets the devices of the account, after which offers and receipts name them, and tells the apps of this device.
  /// - Parameter devices: nil without an account: a device is called what it says, and this one what its host is.
  public func setDevices(_ devices: AccountDevices?, _ now: Instant) {
    connections.begin(now)
    connections.setDevices(devices)
    offers.dropRetained()
    offers.renameDevices()
    registration.removeDropped()
  }

  /// This device has another network or address, or has woken up: asks all linked devices for a sign of life, which
  /// says soon what links are left.
  public func networkChanged(_ now: Instant) {
    connections.begin(now)
    links.askDevices()
    registration.removeDropped()
  }

  /// The hub at the other end of a link, which is another one in each process; nil before it has said so.
  public func hub(at number: PeerNumber) -> Identifier? {
    let peer = peers[number]
    return peer?.hub?.identity.id ?? peer?.handshake?.identity?.id
  }

  /// Answers an app's request for a link that could not be made.
  public func refuse(_ request: LinkRequest, _ error: SegueError) {
    links.refuse(request, error)
    registration.removeDropped()
  }
}
