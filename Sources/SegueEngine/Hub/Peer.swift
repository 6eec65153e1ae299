import SegueModel
import SegueWire

/// A connection to the hub, and who is behind it.
final class Peer {
  /// Number of the current connection, or of the last one while a link is suspended.
  var number: HubEngine.PeerNumber
  let link = Link(side: .accepting)
  /// Uptime by which it must have said who it is.
  let helloBy: Int64
  private(set) var role: Role
  /// Its connection closes; nothing is sent to it, and nothing of it is heard.
  var isClosing = false

  enum Role {
    /// Has not said hello.
    case unidentified
    case app(AppSession)
    /// A link to a hub that has not said who it is, and what it knows of this one.
    case handshaking(Handshake)
    case hub(HubSession)
  }

  /// The app that made the link; nil: it was told that the link has ended, or no app made it.
  var linkOwner: LinkOwner?
  /// Identifier of the app that made the link, even if that has gone. Nil: no app made it.
  var linkOwnerID: Identifier?
  /// Its place in the hub's list of apps, or of hubs.
  var index = 0
  /// Offers that it has yet to be told of, as they will then be.
  var pending = PendingOffers()
  /// Once nothing is pending it is told that it has heard all.
  var isReadyDue = false
  var isFlushable = false
  /// Continuations in which it takes part.
  var routes = PeerRoutes()
  /// What its channels belong to.
  var channels = ChannelTable()

  init(number: HubEngine.PeerNumber, _ role: Role = .unidentified, helloBy: Int64) {
    self.number = number
    self.helloBy = helloBy
    self.role = role
  }

  /// Who is behind the connection is known now.
  func identify(as role: Role) { self.role = role }

  var appSession: AppSession? { if case .app(let session) = role { session } else { nil } }
  var handshake: Handshake? { if case .handshaking(let handshake) = role { handshake } else { nil } }
  var hub: HubSession? { if case .hub(let session) = role { session } else { nil } }

  /// Whether it was connected as another hub's; an app cannot become one.
  var isHub: Bool {
    switch role {
    case .unidentified, .app: false
    case .handshaking, .hub: true
    }
  }
  var app: AppIdentity? { appSession?.identity }
  /// What the app offers.
  var offer: HubOffer? { appSession?.offer }
  /// Its connection is cut, and may be resumed.
  var isSuspended: Bool { hub?.resumeBy != nil }
  var isLinked: Bool { hub.map { $0.resumeBy == nil } ?? false }
  /// It hears of offers.
  var isRegistered: Bool { appSession != nil || isLinked }
}

/// An app of this device that is registered.
final class AppSession {
  let identity: AppIdentity
  var offer: HubOffer?
  var explanations = ExplanationQueue()
  /// Streams that others have asked it for.
  var unanswered = UnansweredStreams()

  init(_ identity: AppIdentity) { self.identity = identity }
}

/// An app that has made a link, and how it calls it.
struct LinkOwner {
  /// Outlives it: when it goes, its links end.
  unowned(unsafe) let app: Peer
  let number: UInt64
}
