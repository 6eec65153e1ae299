// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The identity of a hub towards others.
public struct HubIdentity: Sendable {
  /// Drawn at random when the hub starts.
  public let id: Identifier
  /// The name of its device.
  public let deviceName: String

  public init(id: Identifier, deviceName: String) {
    self.id = id
    self.deviceName = deviceName
  }
}

/// The hubs from one to another that has offers, including both.
public struct Route: Sendable {
  /// The most hubs of a route.
  public static let limit = 16

  /// 1 to `limit`.
  public let hubs: [Identifier]
  /// The last hub raises it when a route to that hub is lost: a route of a higher sequence is newer.
  public let sequence: UInt64

  public init(_ hubs: [Identifier], sequence: UInt64) {
    self.hubs = hubs
    self.sequence = sequence
  }
}

/// The version of the offers of one hub's apps.
public struct OffersVersion: Sendable {
  public let hub: Identifier
  /// Rises with each change that this hub publishes.
  public let number: UInt64

  public init(hub: Identifier, number: UInt64) {
    self.hub = hub
    self.number = number
  }
}

/// The data that another hub needs to pass an offer on.
public struct OfferOrigin: Sendable {
  /// The Team ID of the origin (R6.2).
  public let team: String
  /// Rises each time that the activity is made current or its app comes to the foreground.
  public let activation: UInt64
  /// The origin's hub, and the version of its offers.
  public let version: OffersVersion
  /// The device that has had its own offer retained; nil: it is no retained one.
  public let retained: RetainedOrigin?

  /// The numbers of versions that the hub of an agent sends to that: the offer is of an app of this device; of a device
  /// of the account, by its identifier; of a hub behind the link of an app.
  public static let app: UInt64 = 0
  public static let device: UInt64 = 1
  public static let link: UInt64 = 2

  public init(team: String, activation: UInt64, version: OffersVersion, retained: RetainedOrigin? = nil) {
    self.team = team
    self.activation = activation
    self.version = version
    self.retained = retained
  }
}

/// The device whose offer another one, its mailbox, has retained (R14.5).
public final class RetainedOrigin: Sendable {
  public let device: Identifier
  /// The identifier of the activity at that device.
  public let activity: Identifier
  /// Rises with each state that the device has had retained, and with each push.
  public let revision: UInt64
  /// Nil: it is offered to all.
  public let push: RetainedPush?
  /// The key of that device, 32 bytes, and its signature for the mailbox, 64 bytes.
  public let proof: [UInt8]

  public static let proofSize = 96

  public init(
    device: Identifier, activity: Identifier, revision: UInt64, push: RetainedPush? = nil, proof: [UInt8]
  ) {
    self.device = device
    self.activity = activity
    self.revision = revision
    self.push = push
    self.proof = proof
  }

  /// The identifier under which all devices but the origin know the activity: that of the origin's own offer. A push
  /// has one of its own, which is also that of its continuation.
  public var identifier: Identifier { Identifier(of: push?.id ?? activity, onDevice: device) }
}

/// A push that a mailbox keeps for a device that is off (R3.15, R14.5).
public struct RetainedPush: Sendable, Equatable {
  /// Drawn by its origin.
  public let id: Identifier
  /// The device that is to continue the activity.
  public let target: Identifier
  /// The bundle identifier of the app there; nil: whatever fits.
  public let app: String?

  public init(id: Identifier, target: Identifier, app: String?) { (self.id, self.target, self.app) = (id, target, app) }

  public static func == (one: RetainedPush, other: RetainedPush) -> Bool {
    one.id == other.id && one.target == other.target && Text.isSame(one.app ?? "", other.app ?? "")
      && (one.app == nil) == (other.app == nil)
  }
}
