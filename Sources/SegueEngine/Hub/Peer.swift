import SegueModel
import SegueWire

/// A connection to the hub, and the app behind it.
final class Peer {
  let number: HubEngine.PeerNumber
  let link = Link(side: .accepting)
  /// Uptime by which it must have said hello.
  let helloBy: Int64
  /// Nil: it has not said hello.
  var app: AppIdentity?
  /// Where it stands in the hub's list.
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

  init(number: HubEngine.PeerNumber, helloBy: Int64) {
    self.number = number
    self.helloBy = helloBy
  }
}

/// A current activity of an app on this device.
final class HubOffer {
  /// Outlives the offer: it drops it when it goes.
  unowned(unsafe) let peer: Peer
  var description: OfferDescription
  var activatedAt: Int64
  var activation: UInt64
  var sequence: UInt64
  /// Where it stands in its topic.
  var index = 0

  init(
    peer: Peer, description: OfferDescription, activatedAt: Int64, activation: UInt64, sequence: UInt64
  ) {
    self.peer = peer
    self.description = description
    self.activatedAt = activatedAt
    self.activation = activation
    self.sequence = sequence
  }

  /// The later activated, the higher; those of one millisecond in the order in which we heard of them.
  var rank: UInt64 {
    // The start of the clock is no bound: ages may reach back before it. 2^40 ms are 34 years.
    let shifted = UInt64(clamping: activatedAt + 1 << 40)
    return shifted << 20 | sequence & 0xfffff
  }
}

/// What offers and apps must have in common: team and type, as bytes.
typealias TopicKey = [UInt8]

/// The offers of one team and type, and the apps that see them.
final class Topic {
  var offers: [HubOffer] = []
  var subscribers: [Peer] = []

  static func key(team: String, type: String) -> TopicKey {
    Array(team.utf8) + [0xff] + Array(type.utf8)
  }
}
