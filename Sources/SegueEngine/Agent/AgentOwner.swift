// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An app that continues an offer, running or not.
public struct ChosenApp: Sendable {
  public let bundleIdentifier: String
  /// For people.
  public let name: String
  /// The types that it declares.
  public let types: [String]
  public let form: Form

  /// The form in which it gets an activity (R12.2).
  public enum Form: Sendable, Equatable {
    /// As it is.
    case activity
    /// As a web page: type `NSUserActivityTypeBrowsingWeb`, the URL, and of `user_info` this.
    case page(Activity.PageContents)
    /// As an argument of the program, which opens URLs (R12.3).
    case argument
    /// As arguments of the program, which opens files (R13.7).
    case document

    /// Whether a program is started with it, of which nothing is heard afterwards.
    public var startsProgram: Bool { self == .argument || self == .document }

    /// The word for what a program is started with.
    var noun: StaticString { self == .document ? "file" : "page" }
  }

  public init(bundleIdentifier: String, name: String, types: [String], form: Form = .activity) {
    self.bundleIdentifier = bundleIdentifier
    self.name = name
    self.types = types
    self.form = form
  }
}

/// The question which app continues an offer here (R6.2).
public struct AppChoice: Sendable {
  public let offer: Offer
  /// The Team ID of the origin.
  public let team: String
  /// The bundle identifier of the app that somebody asks for; nil: whatever fits.
  public let wanted: String?
  /// The apps that are open, the origin included.
  public let running: [AppIdentity]
  /// The device of the account that offers it; nil: this one, or one that an app has linked.
  public let device: Identifier?
  /// The device whose offer or push that one has retained (R14.5); nil: the offer is its own.
  public var retained: RetainedOrigin?
}

/// A request to the agent to continue an activity.
public struct AgentContinuationRequest: Sendable {
  /// The requester's number, which the answer names.
  public let number: UInt64
  public let activity: Identifier
  /// The bundle identifier of the app; nil: whatever fits.
  public let app: String?
  /// Milliseconds for the whole continuation; nil for the limit.
  public let timeout: Int64?
  /// The principal that is charged for it; nil: none.
  public let principal: Principal?
  /// Whether the origin itself asks (R3.15), which may just have made the activity current.
  public let isPush: Bool
  /// Whether text that is in no file may stay behind if a program opens the file (R13.7).
  public let leavesText: Bool
  /// The token by which the app may bring its window to the front, if it runs; nil: there is none.
  public let activationToken: String?
  /// The push that a mailbox gives to this device; nil: it is none.
  public let retained: PushMark?

  public init(
    number: UInt64, activity: Identifier, app: String? = nil, timeout: Int64? = nil, principal: Principal? = nil,
    isPush: Bool = false, leavesText: Bool = false, activationToken: String? = nil, retained: PushMark? = nil
  ) {
    self.retained = retained
    self.number = number
    self.activity = activity
    self.app = app
    self.timeout = timeout
    self.principal = principal
    self.isPush = isPush
    self.leavesText = leavesText
    self.activationToken = activationToken
  }
}

/// A saved activity that is to be continued in its app (R8.3).
public struct SavedStartRequest: Sendable {
  /// The requester's number, which the answer names.
  public let number: UInt64
  public let record: SavedRecord
  /// The bundle identifier of its app, its team, and its name for people.
  public let app: String
  public let team: String
  public let appName: String
  /// Milliseconds for the whole continuation; nil for the limit.
  public let timeout: Int64?
  /// The principal of the requester; nil: the request is not counted.
  public let principal: Principal?
  /// The token by which the app may bring its window to the front, if it runs; nil: there is none.
  public let activationToken: String?

  /// Throws MALFORMED if the document is none.
  public init(
    number: UInt64, activity: Identifier, document: [UInt8], app: String, team: String, appName: String,
    timeout: Int64? = nil, principal: Principal? = nil, activationToken: String? = nil
  ) throws(SegueError) {
    let state = try ActivityDocument.decode(document, ReferenceReader(.none), userInfoLimit: Limits.value)
    self.number = number
    record = SavedRecord(activity: activity, state: state, document: document)
    self.app = app
    self.team = team
    self.appName = appName
    self.timeout = timeout
    self.principal = principal
    self.activationToken = activationToken
  }
}

/// The state of a continuation that was asked for, at its end or its deadline.
public struct AgentContinuationReport: Sendable {
  public let continuation: Identifier
  public let app: ChosenApp
  /// Whether another requester came before (R3.8).
  public let isShared: Bool
  /// `unknown`: the app has not answered yet, and the entry stays in the inbox.
  public let outcome: Outcome
  /// Nil if restored.
  public let error: SegueError?
  /// Whether the app has got an older state (R2.4), and why, as far as that is known.
  public let isStale: Bool
  public let staleReason: String?
}

/// The owner of an `AgentEngine`. The engine calls these from inside its own calls. A call that takes time is answered
/// later, by a call of the engine.
public protocol AgentOwner: AnyObject {
  /// The folders of the user (R13.4), by which programs that take no part find files.
  var folders: Containers { get }
  /// Nil if the system has no random bytes.
  func drawIdentifier() -> Identifier?
  /// Answers `AgentEngine.look`, once: what is asked about the offer, or NOT_FOUND, BUSY.
  func found(_ number: UInt64, _ result: Result<AppChoice, SegueError>)
  /// An offer is over: what is asked about it is, too.
  func gone(_ activity: Identifier)
  /// Throws NOT_FOUND if no app fits, which says why.
  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp
  /// Fetches attachments of a continuation from its origin, into files of this process; or copies those of what an app
  /// has left, whose sources are `HandedAttachment`. Answered once by `AgentEngine.collected`, with those that have
  /// come.
  /// - Parameter principal: of the process that wants it continued, or has left it; nil: it is not counted.
  func collect(_ attachments: [Attachment], of continuation: Identifier, for principal: Identifier?)
  /// No more of them is waited for: answered with those that are whole. No effect once it was answered.
  func stopCollecting(_ continuation: Identifier)
  /// The origin has accepted or refused a stream for an attachment (`AgentEngine.ask`).
  func streamAnswered(_ id: Identifier, _ error: SegueError?)
  /// An app fetches an attachment of what it gets. Answered by `AgentEngine.answer`.
  func serve(_ request: StreamRequest)
  /// A receiver fetches an attachment of what an app has left. Answered by `KeptParticipant.answer`.
  func serve(_ request: StreamRequest, of offer: KeptParticipant)
  /// The app that was asked for with this number is chosen, and its continuation begins.
  /// - Parameter isShared: whether another requester came before (R3.8).
  func began(_ number: UInt64, _ continuation: Identifier, in app: ChosenApp, isShared: Bool)
  /// Starts an app that does not run, for that continuation. Answered by `AgentEngine.launched`.
  /// - Parameter number: of the requester, whose environment it gets.
  func launch(_ app: ChosenApp, for continuation: Identifier, _ number: UInt64)
  /// Starts the browser with a page, once, for that continuation: its receipt is on the disk. Answered by
  /// `AgentEngine.shown`.
  /// - Parameters:
  ///   - page: an absolute http or https URL.
  ///   - number: of the requester, whose environment it gets.
  func show(_ page: String, in browser: ChosenApp, for continuation: Identifier, _ number: UInt64)
  /// Starts a program with a document, as `show` does with a page (R13.7).
  func open(_ document: OpenedDocument, with opener: ChosenApp, for continuation: Identifier, _ number: UInt64)
  /// An app has opened, which may have been launched.
  func opened(_ app: AppIdentity)
  /// Uses the inbox, in the order of the requests. Answered by `AgentEngine.stored`.
  func perform(_ request: InboxRequest)
  /// The activity that the user has withdrawn is no longer on the disk (`AgentEngine.withdraw`); or why it still is.
  func withdrawn(_ number: UInt64, _ error: SegueError?)
  /// Changes the saved activities of an app. Answered by `AgentEngine.changed` with the same number.
  /// - Parameter principal: of the app's process.
  func change(_ change: SavedChange, of app: AppIdentity, principal: Identifier, _ number: UInt64)
  /// Connects the engine of an offer to the hub, in a connection of its own, until `leave`. If the system refuses that,
  /// the owner calls `AgentEngine.notJoined`.
  func join(_ offer: KeptParticipant)
  /// The offer is over. Its last messages are in its `link`.
  func leave(_ offer: KeptParticipant)
  /// A receiver has continued, or tried to continue, what is retained for another device. The owner calls
  /// `AgentEngine.ended`, not from inside this call.
  func ended(_ receipt: Receipt, of offer: KeptParticipant)
  /// Calls `withdraw` of an offer, not from inside this call: it is offered no longer, and stays connected to the hub.
  func withdraw(_ offer: KeptParticipant)
  /// The offers of apps of this device have changed, or those that are retained for other devices (R14.5).
  func noteRetention()
  /// The push of this identifier is kept (`AgentEngine.keepPush`), or cannot be.
  func pushKept(_ id: Identifier, _ error: SegueError?)
  /// Answers a requester, once.
  func answer(_ number: UInt64, _ result: Result<AgentContinuationReport, SegueError>)
  func log(_ severity: Severity, _ message: DiagnosticText)
}

extension AgentOwner {
  public func ended(_ receipt: Receipt, of offer: KeptParticipant) {}
  public func withdraw(_ offer: KeptParticipant) {}
  public func noteRetention() {}
  public func pushKept(_ id: Identifier, _ error: SegueError?) {}
}
