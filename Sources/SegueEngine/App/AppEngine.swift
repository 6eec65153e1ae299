import SegueModel
import SegueWire

/// The rules of Handoff for one app: what it offers, what it sees, what it continues. No I/O, no clock, no randomness:
/// calls, bytes and ticks come in; bytes (`link`), deliveries and deadlines come out.
///
/// Not for two threads at a time. Its owner runs `deliveries` after each call, and calls `tick` at `nextDeadline`.
public final class AppEngine {
  public let identity: AppIdentity
  public let limits: Limits
  public let savePolicy: SavePolicy
  /// Outlives the engine: it is the engine's owner.
  unowned(unsafe) let source: any ActivitySource

  /// What the app is to be told, oldest first. Taken by the owner.
  public internal(set) var deliveries: [Delivery] = []
  public internal(set) var isClosed = false
  /// The host does not take what it is told, says the owner: what comes from others is refused.
  public var isBacklogged = false

  var connection = HubConnection()
  var writer = MessageWriter()
  var current: CurrentActivity?
  /// How often an activity was made current, or the app came to the foreground.
  var activations: UInt64 = 0
  /// The last saved state of activities that are or were current.
  var snapshots: [Identifier: Snapshot] = [:]
  var saves: [Save] = []
  var nextSave: UInt64 = 1
  public internal(set) var offers: OfferList
  /// Continuations that this app is the receiver of.
  var incoming: [IncomingContinuation] = []
  /// How continuations ended, until their origins have noted it.
  var answers: [Answer] = []
  /// Continuations that this app is the origin of.
  var outgoing: [OutgoingContinuation] = []
  /// The last few that ended: what comes late of them is not taken for a new one.
  var ended = RecentIdentifiers()
  /// The same of those that ended before anything was asked for: however many are made up, they displace no other.
  var endedUnasked = RecentIdentifiers()
  var links: [AppLink] = []
  var nextLink: UInt64 = 1
  /// Who has had activities of this app.
  var holders = Holders()
  var streams: [AppStream] = []
  /// What was said of the ends of streams that are no more.
  var partings: [(id: Identifier, word: StreamWord)] = []
  var streamRequests: [StreamRequest] = []
  /// Requests that this app has asked, or is to answer.
  var requests: [AppRequest] = []
  var nextRequest: UInt64 = 1
  var explanations: [AskedExplanation] = []
  var nextExplanation: UInt64 = 1

  public init(
    identity: AppIdentity, limits: Limits, savePolicy: SavePolicy = .whenPulled, source: any ActivitySource
  ) {
    self.identity = identity
    self.limits = limits
    self.savePolicy = savePolicy
    self.source = source
    offers = OfferList(bytesLimit: identity.isChooser ? OfferList.chooserLimit : OfferList.appLimit)
  }

  /// Uptime in milliseconds at which `tick` is due; nil: nothing is.
  public var nextDeadline: Int64? {
    var next: Int64?
    func consider(_ deadline: Int64?) {
      guard let deadline else { return }
      next = min(next ?? deadline, deadline)
    }
    consider(connection.pingAt)
    consider(connection.answerBy)
    consider(current?.updateAt)
    consider(current?.saveAt)
    consider(current?.expiresAt)
    for save in saves { consider(save.deadline) }
    consider(offers.nextDeadline)
    for continuation in incoming { consider(continuation.nextDeadline) }
    for answer in answers { consider(answer.deadline) }
    for continuation in outgoing { consider(continuation.deadline) }
    consider(nextStreamDeadline)
    consider(nextRequestDeadline)
    return next
  }

  /// The activity that is offered.
  public var currentActivity: Identifier? { current?.id }

  /// Does what is due.
  public func tick(_ now: Moment) {
    tickConnection(now)
    tickCurrent(now)
    tickSaves(now)
    changeOffers(now) { $0.tick(now, report: $1) }
    tickIncoming(now)
    tickOutgoing(now)
    tickStreams(now)
    tickRequests(now)
  }

  /// The deliveries so far, for the owner to run.
  public func takeDeliveries() -> [Delivery] {
    defer { deliveries = [] }
    return deliveries
  }

  func log(_ severity: Severity, _ message: DiagnosticText) {
    deliveries.append(.log(severity, message))
  }

  /// What it keeps although nobody wants anything of it, for longer than any deadline. Nil: nothing.
  public var leftover: StaticString? {
    if !saves.isEmpty { return "app: it keeps a save" }
    if !incoming.isEmpty || !outgoing.isEmpty { return "app: it keeps a continuation" }
    if !answers.isEmpty { return "app: it keeps an outcome" }
    if !streams.isEmpty || !streamRequests.isEmpty { return "app: it keeps a stream" }
    if !requests.isEmpty { return "app: it keeps a request" }
    if !explanations.isEmpty { return "app: it keeps a question" }
    if snapshots.keys.contains(where: { source.activity($0) == nil }) {
      return "app: it keeps a snapshot of what is gone"
    }
    if !deliveries.isEmpty { return "app: its owner has something to do" }
    return connection.link?.hasChannels ?? false ? "app: a channel stays open" : nil
  }

  /// What is not as it must always be; nil: nothing. Asked after each simulated step (R11.1).
  public var brokenInvariant: StaticString? {
    if incoming.count(where: { !$0.isOver }) > 1 { return "R3.3: two continuations at a time" }
    if outgoing.count > Self.outgoingLimit { return "app: too many continuations of its activities" }
    if streams.count > Self.streamLimit { return "app: too many streams" }
    if requests.count > Self.requestLimit + Self.requestsOfOthersLimit { return "R7.5: too many requests" }
    if isClosed,
      current != nil || !streams.isEmpty || !requests.isEmpty
        || !outgoing.isEmpty || !incoming.allSatisfy({ $0.isOver })
    {
      return "R3.14: it is closed, and something has not ended"
    }
    for save in saves where saves.count(where: { $0.activity == save.activity }) != 1 {
      return "R2.3: two saves of one activity"
    }
    return nil
  }
}
