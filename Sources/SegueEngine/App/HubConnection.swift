import SegueModel
import SegueWire

/// An app's side of its connection to the hub.
struct HubConnection {
  /// Milliseconds for a hub to say welcome.
  static let welcomeTime: Int64 = 500
  /// Milliseconds after which a hub that shows no sign of life is asked for one, and then given as long again.
  static let answerTime: Int64 = 500
  /// Bytes of messages that may wait for the hub before it is left: it does not read.
  static let backlogLimit = 1024 * 1024
  /// Milliseconds that a continuation waits for the next hub (R3.14).
  static let reconnectTime: Int64 = 2_000

  var link: Link?
  var isWelcome = false
  var isReady = false
  var generation: UInt64 = 0
  var deviceName = ""
  /// When the hub is asked for a sign of life, and when it counts as silent.
  var pingAt: Int64?
  var answerBy: Int64?
  /// Something that only a hub that lives can act on was sent after the ping that it has yet to answer.
  var isToBeAskedAgain = false
  /// Why this hub will not do; taken by the owner, who looks for another.
  var complaint: HubComplaint?
}

/// Why an app wants another hub than the one that it is connected to.
public enum HubComplaint: Sendable {
  /// It does not answer: only a higher generation will do, unless it is seen to live (`AppEngine.waitForHub`).
  case silent
  /// It talks nonsense: only a higher generation will do.
  case nonsense
  /// It speaks an older protocol than this app: the app should be the hub.
  case older
  /// It refused us, and said why.
  case refused(SegueError)
}

extension AppEngine {
  /// The connection to the hub is open: `link` has a greeting for it.
  public func connected(_ now: Moment) {
    connection = HubConnection()
    connection.link = Link(side: .connecting)
    connection.answerBy = now.uptime + HubConnection.welcomeTime
    send(.hello(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
  }

  /// The connection is lost, or was given up.
  public func disconnected(_ now: Moment) {
    guard connection.link != nil else { return }
    let wasReady = connection.isReady
    connection = HubConnection()
    if wasReady, !isClosed { deliveries.append(.connection(isReady: false)) }
    offers.loseHub(now)
    current?.lastPut = nil
    incomingLostHub(now)
    outgoingLostHub()
    linksLostHub()
    streamsLostHub()
    requestsLostHub()
    failExplanations()
  }

  /// The bytes for the hub; nil while there is no connection.
  public var link: Link? { connection.link }

  public var isReady: Bool { connection.isReady }
  public var hubGeneration: UInt64? { connection.isWelcome ? connection.generation : nil }

  public func takeComplaint() -> HubComplaint? {
    defer { connection.complaint = nil }
    return connection.complaint
  }

  /// Bytes from the hub.
  /// - Parameter descriptor: came with these bytes, which are those of one read.
  public func receive(_ bytes: consuming [UInt8], with descriptor: PassedDescriptor? = nil, _ now: Moment) {
    guard let link = connection.link else { return }
    link.receive(bytes, descriptor)
    read(link, now)
  }

  private func read(_ link: Link, _ now: Moment) {
    do throws(SegueError) {
      while let event = try link.nextEvent() {
        if connection.isWelcome { heard(now) }
        try handle(event, now)
        // A message may have ended the connection.
        guard connection.link === link, connection.complaint == nil else { return }
      }
    } catch {
      log(.error, "the hub talks nonsense: \(error.message)")
      connection.complaint = .nonsense
    }
  }

  /// The hub lived when it said this, which may be before it got our last words: it is asked later, but it is asked.
  private func heard(_ now: Moment) {
    let later = now.uptime + HubConnection.answerTime
    if connection.pingAt != nil { connection.pingAt = later }
    if connection.answerBy != nil { connection.answerBy = later }
  }

  /// The hub has got all that was sent before the ping.
  private func answered(_ now: Moment) {
    connection.answerBy = nil
    guard connection.isToBeAskedAgain else { return }
    connection.isToBeAskedAgain = false
    connection.pingAt = now.uptime + HubConnection.answerTime
  }

  /// - Parameter isUrgent: before all messages that wait.
  func send(_ message: Message, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil) {
    guard let link = connection.link else { return }
    do throws(SegueError) {
      try writer.send(message, over: link, isUrgent: isUrgent, with: descriptor)
    } catch {
      log(.error, "not sent: \(error.message)")
    }
    if link.pendingBytes > HubConnection.backlogLimit, connection.complaint == nil { connection.complaint = .nonsense }
  }

  /// Sends what only a hub that lives can act on. A silent one does not go unnoticed, and one that lives is not asked
  /// as long as anything is heard of it.
  func sendChecked(_ message: Message, with descriptor: PassedDescriptor? = nil, _ now: Moment) {
    send(message, with: descriptor)
    if connection.answerBy != nil {
      connection.isToBeAskedAgain = true
    } else if connection.pingAt == nil {
      connection.pingAt = now.uptime + HubConnection.answerTime
    }
  }

  func tickConnection(_ now: Moment) {
    if let pingAt = connection.pingAt, pingAt <= now.uptime {
      connection.pingAt = nil
      connection.answerBy = now.uptime + HubConnection.answerTime
      send(.ping(UInt64(clamping: now.uptime)), isUrgent: true)
    }
    guard let answerBy = connection.answerBy, answerBy <= now.uptime else { return }
    connection.answerBy = nil
    connection.complaint = .silent
  }

  /// The hub does not answer, but is known to live: it gets as long again.
  public func waitForHub(_ now: Moment) {
    guard connection.link != nil else { return }
    connection.answerBy = now.uptime + HubConnection.answerTime
  }

  private func handle(_ event: Link.Event, _ now: Moment) throws(SegueError) {
    switch event {
    case .message:
      let descriptor = connection.link?.takeDescriptor()
      if let message = try connection.link?.takeMessage(Message.decode) { try handle(message, descriptor, now) }
    case .data(let channel, let bytes): received(bytes, on: channel, now)
    case .end(let channel, _): receivedEnd(of: channel, now)
    case .reset(let channel): receivedReset(of: channel, now)
    case .room(let channel, _):
      pumpOutgoing(channel, now)
      pumpRequest(channel)
    }
  }

  private func handle(_ message: Message, _ descriptor: PassedDescriptor?, _ now: Moment) throws(SegueError) {
    guard connection.isWelcome else { return greeted(by: message, now) }
    switch message {
    case .goodbye(let error): connection.complaint = .refused(error)
    case .ping(let number): send(.pong(number), isUrgent: true)
    case .offer(let offer, let timing, _):
      changeOffers(now) { $0.put(offer, timing, now, report: $1) }
    case .gone(let id, _): changeOffers(now) { $0.remove(id, report: $1) }
    case .ready:
      connection.isReady = true
      offers.meetHub(now)
      deliveries.append(.connection(isReady: true))
    case .fetch(let continuation, let milliseconds, let receiver):
      fetched(continuation, milliseconds: milliseconds, receiver: receiver, now)
    case .state(let id, _, let channel, let size, let isStale):
      try announcedState(id, channel: channel, size: size, isStale: isStale, now)
    case .refused(let id, _, let error): refused(id, error, now)
    case .outcome(let continuation, let outcome, let error, let receiver):
      learned(continuation, outcome, error, receiver: receiver, now)
    case .noted(let id, _): answers.removeAll { $0.continuation.id == id }
    case .vanished(let id): vanished(id, now)
    case .stream(let id, let continuation, let app, let channel, let attachment):
      streamRequested(
        StreamRequest(
          id: id, continuation: continuation, app: app, crossesLink: channel != 0, attachment: attachment,
          descriptor: descriptor ?? PassedDescriptor(isLost: true)), hasDescriptor: descriptor != nil)
    case .streamAnswer(let id, _, let channel, let error): streamAnswered(id, crossesLink: channel != 0, error, now)
    case .streamWord(let id, let continuation, _, let word): heardWord(word, of: id, continuation)
    case .request(let number, let continuation, let app, let milliseconds, let channel, let size):
      try requested(
        number, continuation, by: app, milliseconds: milliseconds, channel: channel, size: size, now)
    case .response(let number, let continuation, _, let channel, let size, let error):
      try responded(number, continuation, channel: channel, size: size, error)
    case .attached(let number, let deviceName): linked(number, deviceName: deviceName)
    case .detached(let number, let error): linkEnded(number, error)
    case .explanation(let request, let list, let appCount): explained(request, list, appCount: appCount, now)
    case .pong: answered(now)
    case .link, .resume, .proceed, .attach, .hello, .welcome, .put, .withdraw, .explain, .route, .seek, .follow,
      .unfollow, .list, .listed, .refresh:
      break
    }
  }

  /// Lets the list of offers change, and asks those origins that the new hub has by now what was to be asked of them.
  func changeOffers(_ now: Moment, _ change: (inout OfferList, OfferList.Report) -> Void) {
    let isSettling = offers.isSettling
    change(&offers) { event, offer in deliveries.append(.offer(event, offer)) }
    guard isSettling, connection.isWelcome else { return }
    askForStreams(now)
    sendRequests(now)
  }

  private func greeted(by message: Message, _ now: Moment) {
    switch message {
    case .welcome(let version, let generation, let deviceName):
      guard version >= ProtocolVersion.current else {
        log(.info, "the hub of generation \(generation) speaks protocol \(version): taking over")
        connection.complaint = .older
        return
      }
      connection.answerBy = nil
      connection.isWelcome = true
      connection.generation = generation
      connection.deviceName = deviceName
      putCurrent(now)
      incomingFoundHub(now)
      askForLinks(now)
      streamsFoundHub(now)
      sendRequests(now)
      for answer in answers { send(answer.message) }
    case .goodbye(let error): connection.complaint = .refused(error)
    default: break
    }
  }
}
