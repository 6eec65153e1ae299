// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A connection to the hub, and the identified peer.
final class Peer {
  /// The number of the current connection, or of the last one while a link is suspended.
  private(set) var number: HubEngine.PeerNumber
  let link = FramedConnection(side: .accepting)
  /// The uptime by which it must have identified itself.
  private(set) var helloBy: Int64
  /// The device whose certificate was shown on the connection; nil: an app has made the connection, or has it.
  let device: Identifier?
  /// The sandbox of the process at the other end (R13.8); nil: it is in none.
  let sandbox: Sandbox?
  private(set) var role: Role
  /// Whether it closes: nothing more is sent, and received bytes are ignored.
  private(set) var isClosing = false

  enum Role {
    /// Has not said hello.
    case unidentified
    case app(AppSession)
    /// A link to a hub in the handshake.
    case handshaking(Handshake)
    case hub(HubSession)
  }

  /// The principal that is charged for the peer.
  private(set) var principal: Principal
  /// The app that made the link; nil if it knows the end of the link, or no app made it.
  private(set) var linkOwner: LinkOwner?
  /// Its position in the hub's list of apps, or of hubs.
  private(set) var index = 0
  /// Pending offer updates, which send the state at that time.
  let pending = PendingUpdates()
  private(set) var isFlushable = false
  /// The continuations in which it takes part.
  let routes = PeerRoutes()
  /// The owners of its channels.
  let channels = ChannelTable()

  init(
    number: HubEngine.PeerNumber, _ role: Role = .unidentified, of principal: Principal? = nil,
    device: Identifier? = nil, sandbox: Sandbox? = nil, helloBy: Int64
  ) {
    self.device = device
    self.sandbox = sandbox
    self.number = number
    self.principal = principal ?? .connection(number)
    self.helloBy = helloBy
    self.role = role
  }

  /// Identifies the peer.
  func identify(as role: Role) { self.role = role }

  func extendHello(to uptime: Int64) { helloBy = uptime }

  func beginClosing() { isClosing = true }
  func moved(to index: Int) { self.index = index }
  func setFlushable(_ isFlushable: Bool) { self.isFlushable = isFlushable }

  func setLinkOwner(_ owner: LinkOwner) {
    linkOwner = owner
    principal = owner.app.principal.ofLinks
  }

  /// Returns the app that made the link, which then knows its end.
  func takeLinkOwner() -> LinkOwner? {
    defer { linkOwner = nil }
    return linkOwner
  }

  /// Continues a suspended link over the connection of another peer, which closes.
  func takeOver(_ peer: Peer) {
    peer.isClosing = true
    number = peer.number
    linkOwner = peer.linkOwner
    principal = peer.principal
  }

  var appSession: AppSession? { if case .app(let session) = role { session } else { nil } }
  var handshake: Handshake? { if case .handshaking(let handshake) = role { handshake } else { nil } }
  var hub: HubSession? { if case .hub(let session) = role { session } else { nil } }

  /// Whether it was connected as a hub; an app cannot become one.
  var isHub: Bool {
    switch role {
    case .unidentified, .app: false
    case .handshaking, .hub: true
    }
  }
  var app: AppIdentity? { appSession?.identity }
  /// The identifier of its principal at origins. A device has the same one over each of its connections.
  var principalID: Identifier { device ?? principal.id }
  /// The offer of the app; nil if it offers nothing.
  var offer: HubOffer? { appSession?.offer }
  /// Whether its connection is cut, and may be resumed.
  var isSuspended: Bool { hub?.resumeBy != nil }
  var isLinked: Bool { hub.map { $0.resumeBy == nil } ?? false }
  /// Whether it may use what is at another peer: a device gets what the apps of this one offer, and nothing that came
  /// by a link.
  func mayReach(_ other: Peer) -> Bool { device == nil || !other.isHub }
  /// Whether it gets offers.
  var isRegistered: Bool { appSession != nil || isLinked }

  /// Breaks its reference cycles, with continuations, relays and streams, when the hub ends.
  func tearDown() {
    routes.tearDown()
    channels.tearDown()
  }
}

/// A registered app of this device.
final class AppSession {
  let identity: AppIdentity
  private(set) var offer: HubOffer?
  /// The activity that it offers or has offered last, and when it began to, by `HubOffer.sequence`.
  private(set) var last: (id: Identifier, since: UInt64)?
  let explanations = ExplanationQueue()
  /// Streams that others have requested from it.
  let unanswered = UnansweredStreams()
  /// Whether it takes continuations that wait for it at the agent.
  private(set) var acceptsDeliveries = false

  init(_ identity: AppIdentity) { self.identity = identity }

  /// - Parameter offer: nil for none.
  func setOffer(_ offer: HubOffer?) {
    self.offer = offer
    if let offer, last?.id != offer.description.id { last = (offer.description.id, offer.sequence) }
  }
  func setAcceptsDeliveries(_ accepts: Bool) { acceptsDeliveries = accepts }
}

/// An app that has made a link, and its number for the link.
struct LinkOwner {
  let app: Peer
  let number: UInt64
}
