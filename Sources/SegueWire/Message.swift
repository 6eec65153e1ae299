// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The messages between apps and hubs, and between hubs (docs/protocol.md, "Messages"). On the wire each is an array
/// whose first element is the number of its kind. Readers accept longer arrays (of newer peers) and ignore unknown
/// kinds. A new message is a case here, a number with a blank message, and a list of its elements (`code`).
public enum Message: Sendable {
  // Registration.
  /// App → hub, first. Whether a hub has told the app what its manifest says: this one adds nothing then (R6.1).
  case hello(AppIdentity, version: UInt64, minimum: UInt64, knowsManifest: Bool = false)
  /// Hub → app: you are registered. The agent is the one that carries the hub; nil if an app does. It says what the
  /// manifest of the app says (R6.1); nil: no manifest describes the app.
  /// Indirect: it is the largest by far, and rare.
  indirect case welcome(
    version: UInt64, generation: UInt64, deviceName: String, agent: AgentDescription? = nil,
    manifest: AppManifest? = nil)
  /// Hub → app, after `welcome` and at each change: the folders of the user (R13.4), as `UserFolders` reads them. Only
  /// the hub that the agent carries sends it.
  case folders([UInt8])
  /// The hub closes the connection, for this reason.
  case goodbye(SegueError)
  /// Hub → hub, both ways, first: the sender's identity.
  case link(HubIdentity, version: UInt64, minimum: UInt64)
  /// Hub → hub, both ways, second: my secret of a session that may begin, and the sessions with you that I still have.
  case resume(secret: Identifier, sessions: [SharedSession])
  /// Hub → hub: the hub with the lower identifier decides that this session continues, named by the reader's secret,
  /// and gives the number of bytes received; the other answers in the same way. Nil: a new session begins (R7.4).
  case proceed(session: Identifier?, received: UInt64)
  /// Any direction: asks for a pong.
  case ping(UInt64)
  case pong(UInt64)

  // Offers.
  /// App → hub: the app's current activity, new or changed. The activation rises each time that the activity is made
  /// current or its app comes to the foreground.
  case publish(OfferDescription, OfferTiming, activation: UInt64)
  /// App → hub: the activity is no longer offered.
  case withdraw(Identifier)
  /// Hub → app: an offer, new or changed. Hub → hub: the same, with its origin; the rank means nothing.
  case offer(Offer, OfferTiming, OfferOrigin?)
  /// Hub → app: the offer is gone. Hub → hub: the same, with its hub.
  case gone(Identifier, OffersVersion?)
  /// Hub → app: all offers known at registration have been sent. If the hub has just taken over from another, the other
  /// apps have so many more milliseconds to register.
  case ready(settling: Int64)

  // Offers between hubs.
  /// My route to that hub, which has offers; nil: I no longer have one, or seek another while you keep what you know.
  case route(to: Identifier, Route?, isSought: Bool)
  /// I have lost the route to that hub, and accept one of this sequence or a higher one.
  case seek(Identifier, sequence: UInt64)
  /// Send me the offers of that hub, to which you have a route: all current ones, then each change. The number names
  /// the list.
  case follow(Identifier, list: UInt64)
  /// Send me no more of them.
  case unfollow(Identifier)
  /// The list of that number begins here.
  case list(Identifier, UInt64)
  /// The list is complete: other offers of that hub, sent before it began, are gone.
  case listed(OffersVersion)
  /// My earlier routes and follows are void: I send them anew.
  case refresh
  /// Device → device: what the agents of both say about their account (docs/trust.md, "Over links").
  case account([UInt8])

  // Continuations. Between the hub of the receiver and that of the origin there may be others. `to` is an app.
  /// Receiver → hub → origin. The receiver's hub fills in the receiver, and the origin's hub who is charged. Back: an
  /// origin fetches from the app that has continued its activity, and names that by the continuation instead (R3.10).
  /// Near: both are apps of this device, as the hub says to the origin.
  case fetch(
    Continuation, milliseconds: Int64, receiver: Receiver?, principal: Identifier? = nil, isBack: Bool = false,
    isNear: Bool = false)
  /// Origin → hub → receiver, before `state`, after a fetch that is near: the folders of the containers that the
  /// document names, as `OriginFolders` reads them (R13.4). No other hub gets it, or sends it.
  case originFolders(Identifier, to: Identifier, [UInt8])
  /// Origin → hub → receiver: the activity document comes on this channel.
  case state(Identifier, to: Identifier, channel: UInt32, size: UInt64, isStale: Bool, why: String)
  /// Origin or hub → receiver: no document will come.
  case refused(Identifier, to: Identifier, SegueError)
  /// Receiver → hub → origin: how the continuation ended. The receiver's hub fills in the receiver.
  case outcome(Continuation, Outcome, SegueError?, receiver: Receiver?)
  /// Origin (or hub, if the origin is gone) → receiver: the outcome is known.
  case outcomeAck(Identifier, to: Identifier)
  /// Hub → origin or receiver: the other app of the continuation is gone.
  case peerLost(Identifier)

  // The agent's part in continuations (R3.8). Only the hub that the agent carries passes these on.
  /// App → hub: whether the app takes continuations that wait for it; before that it does not.
  case accepts(Bool)
  /// Hub → agent: this app is open, and whether it takes continuations. Its secret is not sent.
  case present(AppIdentity, accepts: Bool, principal: Identifier? = nil)
  /// Hub → agent: the app is gone.
  case absent(Identifier)
  /// Agent → hub → app: continue this. The agent is the origin that serves the state.
  case deliver(DeliverRequest)
  /// App → hub → agent: the app leaves a snapshot of this activity, which comes on this channel; the hub fills in the
  /// app. Channel 0: it is no longer kept (R2.5).
  case keep(Identifier, app: Identifier, channel: UInt32, size: UInt64)
  /// App → hub → agent, with a descriptor: the file of an attachment of what comes on this channel, by its name, and
  /// when it was last changed (nanoseconds since 1970).
  case keepAttachment(channel: UInt32, String, changed: UInt64)
  /// Hub → app: the agent takes part at this hub, and keeps what the app leaves.
  case keeps

  /// App → hub: a continuation of this type has failed, and no function of the app's host was told (R3.13). `age`: the
  /// milliseconds since then, at most a year. Only sent to the hub of an agent.
  case failure(type: String, SegueError, age: Int64 = 0)

  // The second socket of the agent.
  /// Asks for something that is a dictionary.
  case ask(UInt64, [UInt8])
  /// The answer to the question of that number: a value, or an error.
  case answer(UInt64, SegueError?, [UInt8])

  // Streams. They take the route of their continuation.
  /// Receiver → hub → origin: asks for a stream. Between app and hub the origin's end comes along as a descriptor;
  /// between hubs this channel replaces it. With an attachment, the origin's library sends that on it, and its app does
  /// not notice.
  case stream(Identifier, Continuation, from: Identifier, channel: UInt32, attachment: AttachmentPart?)
  /// Origin or hub → receiver: the stream is accepted, or why not.
  case streamAnswer(Identifier, Continuation, channel: UInt32, SegueError?)
  /// Either side → hub → other side: the status of the sender's end; nil asks for that of the reader's end.
  case streamStatus(Identifier, Continuation, to: Identifier, StreamStatus?)

  // Requests (R7.5). They take the same route.
  /// Receiver → hub → origin: the bytes come on this channel. The receiver's hub fills in the receiver, which chooses
  /// the number.
  case request(UInt64, Continuation, from: Identifier, milliseconds: Int64, channel: UInt32, size: UInt64)
  /// Origin or hub → receiver: the answer comes on this channel, or there is none.
  case response(UInt64, Continuation, to: Identifier, channel: UInt32, size: UInt64, SegueError?)

  // Links.
  /// App → hub, with a descriptor: link with the hub at its other end. The app chooses the number.
  case openLink(UInt64)
  /// Hub → app: the link is established; this is the other device's name.
  case linkUp(UInt64, deviceName: String)
  /// Hub → app: the link has ended. App → hub: ends the link.
  case linkDown(UInt64, SegueError)

  // Diagnostics.
  /// App → hub: asks which apps would not see this activity, and why.
  case explain(request: UInt64, Identifier, type: String)
  /// Hub → app.
  case explanation(request: UInt64, [Explanation], appCount: UInt64)

  /// The name of one attempt, and its activity. A class, because it is passed on often.
  public final class Continuation: Sendable {
    public let id: Identifier
    /// The origin of the activity.
    public let origin: Identifier
    /// In a fetch back: the continuation that brought the activity to the origin.
    public let activity: Identifier

    public init(id: Identifier, origin: Identifier, activity: Identifier) {
      self.id = id
      self.origin = origin
      self.activity = activity
    }
  }

  /// A continuation that waits for an app at the agent.
  public final class DeliverRequest: Sendable {
    public let continuation: Identifier
    /// The app.
    public let to: Identifier
    /// As the origin described it, except that the agent stands for the origin.
    public let offer: Offer
    public let timing: OfferTiming
    /// For the whole continuation.
    public let milliseconds: Int64
    /// Whether the app may have got it before.
    public let isRedelivered: Bool
    /// The token by which its window may come to the front; nil: there is none.
    public let activationToken: String?

    public init(
      continuation: Identifier, to: Identifier, offer: Offer, timing: OfferTiming, milliseconds: Int64,
      isRedelivered: Bool, activationToken: String? = nil
    ) {
      self.continuation = continuation
      self.to = to
      self.offer = offer
      self.timing = timing
      self.milliseconds = milliseconds
      self.isRedelivered = isRedelivered
      self.activationToken = activationToken
    }
  }

  /// The requested part of an attachment (R7.6): everything from this byte on.
  public final class AttachmentPart: Sendable {
    public let name: String
    public let offset: UInt64

    public init(name: String, offset: UInt64) {
      self.name = name
      self.offset = offset
    }
  }

  /// A session that one of two linked hubs has with the other (R7.4).
  public struct SharedSession: Sendable {
    /// The reader's secret of the session: a hub that names it took part when the session began.
    public let secret: Identifier
    /// Whether the session has a connection, as far as the writer knows.
    public let isConnected: Bool

    public init(secret: Identifier, isConnected: Bool) {
      self.secret = secret
      self.isConnected = isConnected
    }

    /// The most sessions that one message names.
    public static let limit = 512
  }

  /// Why an app or a device does not see an activity.
  public struct Explanation: Sendable {
    /// The name of the app, or with `notLinked` of the device.
    public let name: String
    public let obstacle: Routing.Obstacle

    public init(name: String, obstacle: Routing.Obstacle) {
      self.name = name
      self.obstacle = obstacle
    }
  }
}

/// The times in an offer, without a common clock (R1.6).
public struct OfferTiming: Sendable {
  /// Milliseconds since the activity was made current.
  public let age: Int64
  /// Milliseconds until the activity expires; nil if it does not.
  public let remaining: Int64?

  public init(age: Int64, remaining: Int64?) {
    self.age = age
    self.remaining = remaining
  }

  public init(activatedAt: Int64, expirationDate: Double?, now: Instant) {
    age = max(0, now.uptime - activatedAt)
    remaining = expirationDate.map { date in
      let milliseconds = (date - now.date) * 1000
      return milliseconds < 1 ? 0 : Int64(min(milliseconds, Double(OfferTiming.longest)))
    }
  }

  /// The expiration date by the reader's clock.
  public func expirationDate(now: Instant) -> Double? {
    remaining.map { now.date + Double($0) / 1000 }
  }

  /// A century in milliseconds.
  static let longest: Int64 = 100 * 366 * 86_400_000
}

/// The supported versions of the protocol.
public enum ProtocolVersion {
  public static let current: UInt64 = 2
  public static let minimum: UInt64 = 2

  /// The conclusion that an app draws from the version in a welcome.
  public enum Fit {
    /// The app speaks it with this hub.
    case spoken
    /// An app carries the hub: the reader's process takes over.
    case older
    /// The app does not speak it, so no hub may choose it.
    case newer
    /// An agent carries the hub, which the app neither understands nor supersedes.
    case foreign
  }

  /// - Parameter supported: the versions of the app.
  public static func fit(
    of version: UInt64, isAgent: Bool, supported: ClosedRange<UInt64> = minimum...current
  ) -> Fit {
    if version == supported.upperBound { return .spoken }
    guard version < supported.upperBound else { return .newer }
    guard isAgent else { return .older }
    return version >= supported.lowerBound ? .spoken : .foreign
  }
}
