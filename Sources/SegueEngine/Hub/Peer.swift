import SegueModel
import SegueWire

/// A connection to the hub, and who is behind it: an app of this device, or the hub of another.
final class Peer {
  /// Of its connection, the last one if it has none now.
  var number: HubEngine.PeerNumber
  let link = Link(side: .accepting)
  /// Uptime by which it must have said who it is.
  let helloBy: Int64
  /// Whether it was connected as another hub's; apps cannot become one.
  let isHub: Bool
  /// Nil: it has not said hello, or is a hub.
  var app: AppIdentity?
  /// Nil: it has not said who it is and what it knows of us, or is an app.
  var hub: LinkedHub?
  /// A hub that has said who it is, but not yet what it knows of us.
  var greeted: HubIdentity?
  /// Names, to the other hub, the session that may begin over this connection.
  let secret: Identifier
  /// What names it to this hub. Nil: the other has not said `resume`.
  var theirSecret: Identifier?
  /// Sessions that this hub has named on this connection, and the connection that each had then.
  var named: [NamedSession] = []
  /// It was told how far this hub has come with what was cut: what goes to it next counts, and may be the rest of a
  /// frame. Until this hub goes on with that it says nothing.
  var isResuming = false
  /// The app that made the link; nil: it was told that it has ended, or there is none.
  var sponsor: Sponsor?
  /// The app that made its connection, even if that has gone. Nil: none has.
  var linkOwner: Identifier?
  /// Where it stands in the hub's list of apps, or of hubs.
  var index = 0
  /// What the app offers.
  var offer: HubOffer?
  /// Offers that it has yet to be told of, as they will then be.
  var pending = PendingOffers()
  /// Once nothing is pending it is told that it has heard all.
  var isReadyDue = false
  var isFlushable = false
  var isClosing = false
  /// Continuations in which it takes part.
  var continuations: [HubContinuation] = []
  /// The ways of continuations of which it leads to the receiver, the oldest first, and to the origin.
  var receivingPaths: [Path] = []
  var originPaths = UnorderedList<Path>()
  var relays: [Relay] = []
  /// Questions of the app that wait for an explanation, and the uptime from which on it may have the next.
  var explains: [Explain] = []
  var explainsAt: Int64 = 0
  /// Streams that others have asked this app for.
  var unanswered: [UnansweredStream] = []

  init(number: HubEngine.PeerNumber, helloBy: Int64) {
    self.number = number
    self.helloBy = helloBy
    isHub = false
    secret = Identifier(high: 0, low: 0)
  }

  init(number: HubEngine.PeerNumber, hubWith secret: Identifier, helloBy: Int64) {
    self.number = number
    self.helloBy = helloBy
    self.secret = secret
    isHub = true
  }

  /// It hears of offers.
  var isRegistered: Bool { app != nil || isLinked }
  /// Its link is cut, and may be resumed.
  var isSuspended: Bool { hub?.resumeBy != nil }
  var isLinked: Bool { hub.map { $0.resumeBy == nil } ?? false }
}

/// An app that has made a link, and how it calls it.
struct Sponsor {
  /// Outlives it: when it goes, its links end.
  unowned(unsafe) let app: Peer
  let number: UInt64
}

/// A session that this hub has named to the other.
struct NamedSession {
  let secret: Identifier
  /// Nil: it had none.
  let connection: HubEngine.PeerNumber?
}

/// A session with another hub, which may outlive its connection (R7.4).
final class LinkedHub {
  let identity: HubIdentity
  /// Whoever names this secret to us was there when the session began.
  let secret: Identifier
  /// The same for the other hub.
  let theirSecret: Identifier
  /// Without a connection: the uptime at which it is given up (R7.4).
  var resumeBy: Int64?
  /// The connection over which it goes on once the other hub has said how far it has come.
  var successor: Peer?
  /// Uptime at which the last was heard of it.
  var heardAt: Int64
  /// It was asked for a sign of life since then.
  var isAsked = false
  /// Hubs of which it hears by this one. Never iterated.
  var followed: Set<Identifier> = []
  /// Those whose list it has asked for again before it was told the last: the number of the next. Never iterated.
  var relisted: [Identifier: UInt64] = [:]
  /// Hubs to which it was told a route; of those, as far as it has yet to hear, to which there was none for a while.
  /// Never iterated.
  var toldRoutes: Set<Identifier> = []
  var lostRoutes: Set<Identifier> = []
  /// Routes that come by it.
  private var ways = UnorderedList<DistantHub.Way>()
  /// Of the routes and offers that come by it, and by all.
  private(set) var bytes = 0
  private let allBytes: LinkedBytes

  init(
    _ identity: HubIdentity, secret: Identifier, theirSecret: Identifier, heardAt: Int64, _ allBytes: LinkedBytes
  ) {
    self.identity = identity
    self.allBytes = allBytes
    self.secret = secret
    self.theirSecret = theirSecret
    self.heardAt = heardAt
  }

  func unfollow(_ id: Identifier) {
    followed.remove(id)
    relisted[id] = nil
  }

  /// Hubs to which it has a route.
  var reached: [DistantHub] { ways.all.map { $0.distant } }

  func append(_ way: DistantHub.Way) {
    count(way.cost)
    way.place = ways.append(way)
  }

  func remove(_ way: DistantHub.Way) {
    count(-way.cost)
    if let moved = ways.remove(at: way.place) { moved.place = way.place }
  }

  /// So many more, or fewer.
  func count(_ bytes: Int) {
    self.bytes += bytes
    allBytes.count += bytes
  }
}

/// Bytes that all linked hubs have this one keep.
final class LinkedBytes {
  var count = 0
}
