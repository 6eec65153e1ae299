import SegueModel
import SegueWire

/// A connection to the hub, and who is behind it: an app of this device, or the hub of another.
final class Peer {
  let number: HubEngine.PeerNumber
  let link: Link
  /// Uptime by which it must have said who it is.
  let helloBy: Int64
  /// Whether it was connected as another hub's; apps cannot become one.
  let isHub: Bool
  /// Nil: it has not said hello, or is a hub.
  var app: AppIdentity?
  /// Nil: it has not said who it is, or is an app.
  var hub: LinkedHub?
  /// Where it stands in the hub's list of apps, or of hubs.
  var index = 0
  /// What the app offers.
  var offer: HubOffer?
  /// Offers that it has yet to be told of, as they will then be.
  var pending: [Identifier] = []
  /// Once nothing is pending it is told that it has heard all.
  var isReadyDue = false
  var isFlushable = false
  var isClosing = false
  /// Continuations in which it takes part.
  var continuations: [HubContinuation] = []
  var relays: [Relay] = []

  /// - Parameter side: which end of the connection this hub has; apps always connect to it.
  init(number: HubEngine.PeerNumber, isHub: Bool, side: LinkSide, helloBy: Int64) {
    self.number = number
    self.isHub = isHub
    self.helloBy = helloBy
    link = Link(side: side)
  }

  var isRegistered: Bool { app != nil || hub != nil }
}

/// Another hub that this one is linked with.
final class LinkedHub {
  let identity: HubIdentity
  /// Uptime at which the last was heard of it.
  var heardAt: Int64
  /// It was asked for a sign of life since then.
  var isAsked = false
  /// Offers that come by it, in no order.
  var offers: [HubOffer] = []
  /// Offers that it was told of. Never iterated.
  var told: Set<Identifier> = []

  init(_ identity: HubIdentity, heardAt: Int64) {
    self.identity = identity
    self.heardAt = heardAt
  }
}
