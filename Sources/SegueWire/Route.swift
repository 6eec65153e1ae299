import SegueModel

/// A hub, as it presents itself to others.
public struct HubIdentity: Sendable {
  /// Drawn at random when the hub starts.
  public let id: Identifier
  /// Of the device that it is the hub of.
  public let deviceName: String

  public init(id: Identifier, deviceName: String) {
    self.id = id
    self.deviceName = deviceName
  }
}

/// The hubs from one to another that has offers, both among them.
public struct Route: Sendable {
  /// Hubs that a route may have.
  public static let limit = 16

  /// 1 to `limit`.
  public let hubs: [Identifier]
  /// The last of them raises it when somebody has lost the route to it: one of a higher number is newer.
  public let sequence: UInt64

  public init(_ hubs: [Identifier], sequence: UInt64) {
    self.hubs = hubs
    self.sequence = sequence
  }
}

/// The offers of one hub's apps, as they were after so many changes.
public struct OffersVersion: Sendable {
  public let hub: Identifier
  /// Rises with each change that this hub makes known.
  public let number: UInt64

  public init(hub: Identifier, number: UInt64) {
    self.hub = hub
    self.number = number
  }
}

/// What another hub needs to know of an offer to pass it on.
public struct OfferOrigin: Sendable {
  /// The Team ID of the origin (R6.2).
  public let team: String
  /// Rises each time that the activity is made current or its app comes to the foreground.
  public let activation: UInt64
  /// The origin's hub, and how far this tells of its offers.
  public let version: OffersVersion

  public init(team: String, activation: UInt64, version: OffersVersion) {
    self.team = team
    self.activation = activation
    self.version = version
  }
}
