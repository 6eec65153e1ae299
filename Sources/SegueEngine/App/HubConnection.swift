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
  /// Pending bytes of messages above which the app leaves a hub that does not read.
  static let backlogLimit = 1024 * 1024
  /// Milliseconds that a continuation waits for the next hub (R3.14).
  static let reconnectTime: Int64 = 2_000

  private let app: AppContext
  private var writer = MessageWriter()
  /// Nil without a connection.
  private(set) var link: FramedConnection?
  private(set) var isWelcome = false
  private(set) var generation: UInt64 = 0
  /// The name of this device, as the last hub said.
  private(set) var deviceName = ""
  /// The agent that carries the hub; nil if an app does.
  private(set) var agent: AgentDescription?
  private var readiness = HubReadiness()
  private var silence = HubSilence()
  /// Why the app leaves this hub.
  private var fault: HubFault?

  init(_ app: AppContext) { self.app = app }

  // MARK: Life cycle

  /// The connection is open: sends the first message.
  func open(_ now: Instant) {
    reset()
    link = FramedConnection(side: .connecting)
    silence.awaitWelcome(now)
    send(
      .hello(
        app.identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum,
        knowsManifest: app.hasHeardManifest))
  }

  /// The connection is lost, or was closed.
  func reset() {
    link = nil
    isWelcome = false
    readiness.reset()
    silence = HubSilence()
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
    silence.welcomed()
    readiness.awaitOffers(now)
    isWelcome = true
    self.generation = generation
  }

  var isReady: Bool { readiness.isReady }
  /// The uptime at which it is ready, while it waits for the other apps of a hub that has just taken over.
  var readyAt: Int64? { readiness.readyAt }

  /// The hub has sent an offer: others may follow.
  func heardOffer(_ now: Instant) { readiness.heardOffer(now) }

  /// All offers that the hub knows have arrived.
  /// - Parameter settling: milliseconds that apps have that may still register.
  /// - Returns: whether it is ready.
  func receiveReady(settling: Int64, _ now: Instant) -> Bool {
    let isReady = readiness.receiveReady(settling: settling, now)
    if isReady { app.holdManifest() }
    return isReady
  }

  /// - Returns: whether it has become ready.
  func becomeReadyIfDue(_ now: Instant) -> Bool {
    let isReady = readiness.becomeReadyIfDue(now)
    if isReady { app.holdManifest() }
    return isReady
  }

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
    silence.sentChecked(now)
  }

  // MARK: Keep-alive

  /// The hub was alive when it sent this.
  func heard(_ now: Instant) { if isWelcome { silence.heard(now) } }

  /// The hub has received everything sent before the ping.
  func answered(_ now: Instant) { silence.answered(now) }

  /// Waits again for a hub that does not answer, but shows a heartbeat.
  func waitLonger(_ now: Instant) { if link != nil { silence.waitLonger(now) } }

  func tick(_ now: Instant) {
    if silence.takePing(now) { send(.ping(UInt64(clamping: now.uptime)), isUrgent: true) }
    if readiness.takeLateness(now) { fault = .unready }
    if silence.takeSilence(now) { fault = .silent }
  }

  var nextDeadline: Int64? { earlier(silence.nextDeadline, readiness.nextDeadline) }
}
