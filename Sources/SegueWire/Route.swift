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

/// The way of an offer from the hub of its origin to another hub, and what that hub needs to know of it to pass it on.
public struct Route: Sendable {
  /// Hubs that an offer may have passed.
  public static let limit = 16

  /// The Team ID of the origin (R6.2).
  public let team: String
  /// Rises each time that the activity is made current or its app comes to the foreground.
  public let activation: UInt64
  /// Rises with each change that the origin's hub makes known: the highest is the present state.
  public let revision: UInt64
  /// From the hub that tells of it to the origin's, each once. 1 to `limit`.
  public let hubs: [Identifier]

  public init(team: String, activation: UInt64, revision: UInt64, hubs: [Identifier]) {
    self.team = team
    self.activation = activation
    self.revision = revision
    self.hubs = hubs
  }
}

/// The word of the origin's hub that an offer is gone: it outruns all that others may still say.
public struct Withdrawal: Sendable {
  public let hub: Identifier
  /// Nothing of this hub up to this revision counts any more.
  public let revision: UInt64

  public init(hub: Identifier, revision: UInt64) {
    self.hub = hub
    self.revision = revision
  }
}
