// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Why an app leaves its hub.
public enum HubFault: Sendable {
  /// The hub does not answer: needs a higher generation, unless it shows a heartbeat (`AppEngine.waitForHub`).
  case silent
  /// The hub answers, but sends neither offers nor `ready`: needs a higher generation.
  case unready
  /// The hub violates the protocol: needs a higher generation.
  case nonsense
  /// The hub has an older protocol than this app, which should be the hub.
  case older
  /// The hub refused the app, for this reason.
  case refused(SegueError)
}

/// The app's side of its connection to the hub: sends messages, and detects a hub that does not answer.
final class HubConnection {
  /// Milliseconds for a hub to send welcome.
  private static let welcomeTime: Int64 = 500
  /// Milliseconds of silence after which a hub gets a ping, and then as long again to answer.
  private static let answerTime: Int64 = 500
  /// Milliseconds for a hub to send the next offer, or that all have been sent. One that does not gets as long again:
  /// perhaps this process was stopped.
  private static let readyTime: Int64 = 5_000
  /// Pending bytes of messages above which the app leaves a hub that does not read.
  static let backlogLimit = 1024 * 1024
  /// Milliseconds that a continuation waits for the next hub (R3.14).
  static let reconnectTime: Int64 = 2_000

  private let app: AppContext
  private var writer = MessageWriter()
  /// Nil without a connection.
  private(set) var link: FramedConnection?
  private(set) var isWelcome = false
  private(set) var isReady = false
  private(set) var generation: UInt64 = 0
  /// The name of this device, as the last hub said.
  private(set) var deviceName = ""
  /// The agent that carries the hub; nil if an app does.
  private(set) var agent: AgentDescription?
  /// The most milliseconds for which the app waits for the other apps of a hub that has just taken over.
  private static let registrationLimit: Int64 = 1_000
  /// The uptime at which it is ready, while it waits for them.
  private(set) var readyAt: Int64?
  /// Whether it was ready before, so that it knows the offers of the former hub.
  private var hasBeenReady = false
  /// The uptimes of the next ping, and at which the hub counts as silent.
  private var pingAt: Int64?
  private var answerBy: Int64?
  /// The uptime by which the hub sends an offer or `ready`, nil before welcome and after ready. Whether it was late.
  private var readyBy: Int64?
  private var isLate = false
  /// Whether a message that needs a live hub was sent after the unanswered ping.
  private var isToBeAskedAgain = false
  /// Why the app leaves this hub.
  private var fault: HubFault?

  init(_ app: AppContext) { self.app = app }

  // MARK: Life cycle

  /// The connection is open: sends the first message.
  func open(_ now: Instant) {
    reset()
    link = FramedConnection(side: .connecting)
    answerBy = now.uptime + Self.welcomeTime
    send(
      .hello(
        app.identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum,
        knowsManifest: app.hasHeardManifest))
  }

  /// The connection is lost, or was closed.
  func reset() {
    link = nil
    isWelcome = false
    isReady = false
    readyAt = nil
    pingAt = nil
    answerBy = nil
    readyBy = nil
    isToBeAskedAgain = false
    fault = nil
  }

  // MARK: Receiving

  /// Takes in bytes of the hub.
  /// - Parameters:
  ///   - descriptor: came with these bytes of one read.
  ///   - handle: takes each event. If it throws, the hub violates the protocol.
  func receive(
    _ bytes: consuming [UInt8], with descriptor: PassedDescriptor?, _ now: Instant,
    handle: (FramedConnection.Event, FramedConnection) throws(SegueError) -> Void
  ) {
    guard let link else { return }
    link.receive(bytes, descriptor)
    do throws(SegueError) {
      while let event = try link.nextEvent() {
        heard(now)
        try handle(event, link)
        // A message may have ended the connection.
        guard self.link === link, !hasFault else { return }
      }
    } catch {
      app.log(.error, "the hub violates the protocol: \(error.message)")
      report(.nonsense)
    }
  }

  /// Takes the answer to hello.
  /// - Returns: whether the hub has welcomed, in a version that is spoken here.
  func receiveWelcome(_ message: Message, _ now: Instant) -> Bool {
    switch message {
    case .welcome(let version, let generation, let deviceName, let agent, let manifest):
      self.deviceName = deviceName
      switch ProtocolVersion.fit(of: version, isAgent: agent != nil) {
      case .spoken:
        welcomed(by: generation, agent, now)
        if agent != nil { app.heard(manifest) }
        return true
      case .older:
        app.log(.info, "the hub of generation \(generation) speaks protocol \(version): taking over")
        report(.older)
      case .newer:
        app.log(.error, "the hub of generation \(generation) chose protocol \(version), which this app does not speak")
        report(.nonsense)
      case .foreign: report(.refused(SegueError(.unsupportedVersion, "the agent speaks protocol \(version)")))
      }
    case .goodbye(let error): report(.refused(error))
    default: break
    }
    return false
  }

  /// The agent has said what the user's folders are (R13.4). An app that carries a hub has no say in them.
  func receiveFolders(_ text: [UInt8]) { if agent != nil { app.owner.foldersAre(UserFolders(text)) } }

  private func welcomed(by generation: UInt64, _ agent: AgentDescription?, _ now: Instant) {
    self.agent = agent
    answerBy = nil
    awaitOffers(now)
    isWelcome = true
    self.generation = generation
  }

  /// The hub has sent an offer: others may follow.
  func heardOffer(_ now: Instant) { if readyBy != nil { awaitOffers(now) } }

  private func awaitOffers(_ now: Instant) {
    readyBy = now.uptime + Self.readyTime
    isLate = false
  }

  /// All offers that the hub knows have arrived. An app that was never ready knows no offers of a former hub. So it
  /// waits for the apps that may still register.
  /// - Parameter settling: milliseconds that these apps have.
  /// - Returns: whether it is ready.
  func receiveReady(settling: Int64, _ now: Instant) -> Bool {
    readyBy = nil
    guard !hasBeenReady, settling > 0 else { return becomeReady() }
    readyAt = now.uptime + min(settling, Self.registrationLimit)
    return false
  }

  private func becomeReady() -> Bool {
    readyAt = nil
    (isReady, hasBeenReady) = (true, true)
    app.holdManifest()
    return true
  }

  /// - Returns: whether it has become ready.
  func becomeReadyIfDue(_ now: Instant) -> Bool { readyAt.map { $0 <= now.uptime && becomeReady() } ?? false }

  func report(_ fault: HubFault) { self.fault = fault }

  var hasFault: Bool { fault != nil }

  func takeFault() -> HubFault? { fault.take() }

  // MARK: Sending

  /// - Parameter isUrgent: goes before all pending messages.
  func send(_ message: Message, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil) {
    guard let link else { return }
    do throws(SegueError) {
      try writer.send(message, over: link, isUrgent: isUrgent, with: descriptor)
    } catch {
      app.log(.error, "not sent: \(error.message)")
    }
    if link.pendingBytes > Self.backlogLimit, fault == nil { fault = .nonsense }
  }

  /// Sends a message that needs a live hub, so that a silent hub is noticed. A hub gets no ping while messages arrive
  /// from it.
  func sendChecked(_ message: Message, with descriptor: PassedDescriptor? = nil, _ now: Instant) {
    send(message, with: descriptor)
    if answerBy != nil {
      isToBeAskedAgain = true
    } else if pingAt == nil {
      pingAt = now.uptime + Self.answerTime
    }
  }

  // MARK: Keep-alive

  /// The hub was alive when it sent this, perhaps before it got the last messages: delays the ping, but sends it.
  func heard(_ now: Instant) {
    guard isWelcome else { return }
    let later = now.uptime + Self.answerTime
    if pingAt != nil { pingAt = later }
    if answerBy != nil { answerBy = later }
  }

  /// The hub has received everything sent before the ping.
  func answered(_ now: Instant) {
    answerBy = nil
    guard isToBeAskedAgain else { return }
    isToBeAskedAgain = false
    pingAt = now.uptime + Self.answerTime
  }

  /// Waits again for a hub that does not answer, but shows a heartbeat.
  func waitLonger(_ now: Instant) {
    guard link != nil else { return }
    answerBy = now.uptime + Self.answerTime
  }

  func tick(_ now: Instant) {
    if let pingAt, pingAt <= now.uptime {
      self.pingAt = nil
      answerBy = now.uptime + Self.answerTime
      send(.ping(UInt64(clamping: now.uptime)), isUrgent: true)
    }
    if let by = readyBy, by <= now.uptime {
      readyBy = isLate ? nil : now.uptime + Self.readyTime
      if isLate { fault = .unready }
      isLate = true
    }
    guard let answerBy, answerBy <= now.uptime else { return }
    self.answerBy = nil
    fault = .silent
  }

  var nextDeadline: Int64? { earlier(earlier(earlier(pingAt, answerBy), readyBy), readyAt) }
}
