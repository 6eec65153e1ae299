import SegueModel
import SegueWire

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

/// An app's side of its connection to the hub: sends messages, and notices a hub that does not answer.
final class HubConnection {
  /// Milliseconds for a hub to say welcome.
  private static let welcomeTime: Int64 = 500
  /// Milliseconds after which a hub that shows no sign of life is asked for one, and then given as long again.
  private static let answerTime: Int64 = 500
  /// Bytes of messages that may wait for the hub before it is left: it does not read.
  static let backlogLimit = 1024 * 1024
  /// Milliseconds that a continuation waits for the next hub (R3.14).
  static let reconnectTime: Int64 = 2_000

  private let app: AppContext
  private var writer = MessageWriter()
  /// Nil: there is no connection.
  private(set) var link: Link?
  private(set) var isWelcome = false
  private(set) var isReady = false
  private(set) var generation: UInt64 = 0
  /// When the hub is asked for a sign of life, and when it counts as silent.
  private var pingAt: Int64?
  private var answerBy: Int64?
  /// Something that only a hub that lives can act on was sent after the ping that it has yet to answer.
  private var isToBeAskedAgain = false
  /// Why this hub will not do.
  private var complaint: HubComplaint?

  init(_ app: AppContext) { self.app = app }

  // MARK: Its life

  /// The connection is open: the first message is for it.
  func open(_ now: Moment) {
    reset()
    link = Link(side: .connecting)
    answerBy = now.uptime + Self.welcomeTime
    send(.hello(app.identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
  }

  /// The connection is lost, or was given up.
  func reset() {
    link = nil
    isWelcome = false
    isReady = false
    pingAt = nil
    answerBy = nil
    isToBeAskedAgain = false
    complaint = nil
  }

  func welcomed(by generation: UInt64) {
    answerBy = nil
    isWelcome = true
    self.generation = generation
  }

  /// All offers have been told.
  func becomeReady() { isReady = true }

  func complain(_ complaint: HubComplaint) { self.complaint = complaint }

  var hasComplaint: Bool { complaint != nil }

  func takeComplaint() -> HubComplaint? { complaint.take() }

  // MARK: Sending

  /// - Parameter isUrgent: before all messages that wait.
  func send(_ message: Message, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil) {
    guard let link else { return }
    do throws(SegueError) {
      try writer.send(message, over: link, isUrgent: isUrgent, with: descriptor)
    } catch {
      app.log(.error, "not sent: \(error.message)")
    }
    if link.pendingBytes > Self.backlogLimit, complaint == nil { complaint = .nonsense }
  }

  /// Sends what only a hub that lives can act on. A silent one does not go unnoticed, and one that lives is not asked
  /// as long as anything is heard of it.
  func sendChecked(_ message: Message, with descriptor: PassedDescriptor? = nil, _ now: Moment) {
    send(message, with: descriptor)
    if answerBy != nil {
      isToBeAskedAgain = true
    } else if pingAt == nil {
      pingAt = now.uptime + Self.answerTime
    }
  }

  // MARK: Whether it lives

  /// The hub lived when it said this, which may be before it got our last words: it is asked later, but it is asked.
  func heard(_ now: Moment) {
    guard isWelcome else { return }
    let later = now.uptime + Self.answerTime
    if pingAt != nil { pingAt = later }
    if answerBy != nil { answerBy = later }
  }

  /// The hub has got all that was sent before the ping.
  func answered(_ now: Moment) {
    answerBy = nil
    guard isToBeAskedAgain else { return }
    isToBeAskedAgain = false
    pingAt = now.uptime + Self.answerTime
  }

  /// The hub does not answer, but is known to live: it gets as long again.
  func waitLonger(_ now: Moment) {
    guard link != nil else { return }
    answerBy = now.uptime + Self.answerTime
  }

  func tick(_ now: Moment) {
    if let pingAt, pingAt <= now.uptime {
      self.pingAt = nil
      answerBy = now.uptime + Self.answerTime
      send(.ping(UInt64(clamping: now.uptime)), isUrgent: true)
    }
    guard let answerBy, answerBy <= now.uptime else { return }
    self.answerBy = nil
    complaint = .silent
  }

  var nextDeadline: Int64? { earlier(pingAt, answerBy) }
}
