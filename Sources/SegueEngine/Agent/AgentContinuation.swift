// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A continuation that the agent has begun for an app, and those who have asked for it.
struct AgentContinuation {
  enum Phase {
    /// The inbox is asked for an entry that waits already; without one, this begins.
    case looking(Beginning)
    /// The state is being fetched.
    case fetching
    /// The document is whole, and attachments of it are being fetched.
    case collecting([UInt8], [Attachment])
    /// The payload is whole, and on its way to the disk.
    case storing
    /// The entry is in the inbox.
    case kept
    /// This goes to a program as an argument: the entry has ended, or is about to, and is delivered to nobody.
    case showing(Shown)
  }

  enum Shown {
    /// The URL, for the browser.
    case page(String)
    case document(OpenedDocument)
  }

  enum Beginning {
    /// The origin is asked for the document.
    case fetch
    /// The agent has the document: the activity is a saved one (R8.3).
    case store([UInt8])
  }

  /// One that waits for the outcome.
  struct Requester {
    let number: UInt64
    /// The requester that is charged for it; nil: none.
    let principal: Principal?
    /// The uptime by which it gets an answer.
    let deadline: Int64
    /// Whether another requester came before it.
    var isShared: Bool
    /// The token of the click by which it asks; nil: none.
    var activationToken: String?
  }

  /// The identifier of the entry in the inbox.
  var id: Identifier
  let offer: Offer
  let app: ChosenApp
  /// The push that a mailbox gives to this device; nil: it is none.
  let push: PushMark?
  let begun: Int64
  /// Those that have no answer yet, the first one first.
  var requesters: [Requester]
  /// The first one that asked.
  private let first: Requester
  /// The uptime that the origin knows: its own part ends by then.
  let originDeadline: Int64
  /// The uptime by which the origin gets its receipt: the latest deadline of a requester, and `originDeadline`
  /// at the latest.
  var deadline: Int64
  var phase: Phase
  /// Whether text that is in no file stays behind if a program is started with the file: one of the requesters has said
  /// so.
  var leavesText: Bool
  /// Bytes of the document until it is on the disk.
  var size = 0
  /// Whether the origin has sent an older state (R2.4), and why as far as that is known: not of an entry that waited
  /// already.
  var isStale = false
  var staleReason: String?
  /// The folders of an origin on this device (R13.4), as `OriginFolders` reads them; empty if it has sent none.
  var originFolders: [UInt8] = []
  /// Whether all attachments have come, or are given up.
  var isLate = false
  /// The receipt that is on its way to the disk, or decided: it is not known whether the app restores it, or it is not
  /// in the inbox any longer.
  var decision: (outcome: Outcome, error: SegueError)?

  /// - Parameter usual: the milliseconds of a continuation. A short timeout of the first requester is not that of
  ///   others.
  init(
    _ requester: Requester, _ id: Identifier, _ offer: Offer, in app: ChosenApp, _ beginning: Beginning,
    leavesText: Bool, usual: Int64, _ push: PushMark?, _ now: Instant
  ) {
    self.push = push
    self.id = id
    self.offer = offer
    self.app = app
    self.leavesText = leavesText
    begun = now.uptime
    requesters = [requester]
    first = requester
    deadline = requester.deadline
    originDeadline = max(requester.deadline, now.uptime + usual)
    phase = .looking(beginning)
  }

  /// The first requester, which is charged for it.
  var principal: Principal? { first.principal }
  /// The requester for whom the app is launched: the last one that waits, else the first one.
  var launchNumber: UInt64 { (requesters.last ?? first).number }
  /// The token with which an app that runs gets it: that of the same requester.
  var activationToken: String? { (requesters.last ?? first).activationToken }

  var continuation: Message.Continuation {
    Message.Continuation(id: id, origin: offer.origin, activity: offer.description.id)
  }

  /// Whether it continues that offer in that app (R3.8).
  func isOf(_ offer: Offer, in app: ChosenApp) -> Bool {
    self.offer.description.id == offer.description.id && self.offer.origin == offer.origin
      && Text.isSame(self.app.bundleIdentifier, app.bundleIdentifier)
  }

  /// Another requester comes. A receipt that is decided does not change.
  mutating func join(_ requester: Requester) {
    requesters.append(requester)
    if decision == nil { deadline = max(deadline, min(requester.deadline, originDeadline)) }
  }

  func has(_ number: UInt64) -> Bool { requesters.contains { $0.number == number } }

  /// Whether its entry is on the disk, or on its way there.
  var isStored: Bool {
    switch phase {
    case .storing, .kept, .showing: true
    case .looking, .fetching, .collecting: false
    }
  }

  /// Removes a requester whose time is up, and returns it; nil for none. The last ones wait until the entry is stored,
  /// or cannot be.
  mutating func takeOverdue(_ now: Instant) -> Requester? {
    requesters.firstIndex { $0.deadline <= now.uptime && ($0.deadline < deadline || isStored) }
      .map { requesters.remove(at: $0) }
  }

  var nextDeadline: Int64? {
    // Once the receipt is decided, or about to be, each requester has its own time. The receipt of a page that goes to
    // the browser is decided.
    let isDecided = if case .showing = phase { true } else { decision != nil }
    let first = requesters.reduce(nil) { earlier($0, isDecided || $1.deadline < deadline ? $1.deadline : nil) }
    return switch phase {
    case .collecting where isLate: first
    case .showing: first
    case .looking, .fetching, .collecting: earlier(first, deadline)
    case .storing, .kept: earlier(first, decision == nil ? deadline : nil)
    }
  }
}

/// The reasons with which continuations end here.
extension AgentContinuation {
  /// Its requester waits no longer, and the entry is not in the inbox yet.
  static var slow: SegueError {
    SegueError(.remoteApplicationTimedOut, "not continued within its time")
  }

  static var expired: SegueError {
    SegueError(.notFound, "what waited for the app has expired, and is no longer in the inbox")
  }

  static var late: SegueError {
    SegueError(.remoteApplicationTimedOut, "the app has not answered yet; the activity waits for it")
  }

  static func unopened(_ app: ChosenApp) -> SegueError {
    SegueError(
      .remoteApplicationTimedOut, "the \(app.form.noun) is not opened yet; it is once the disk has stored that")
  }

  /// No one tells whether a program has opened what it was started with.
  static func unheard(_ app: ChosenApp) -> SegueError {
    SegueError(
      .handoffFailed, "\(app.name) was started with the \(app.form.noun): nothing tells whether it has opened it")
  }

  /// The receipt of an entry that was stored, and whose program was not started.
  static func notStarted(_ app: ChosenApp) -> SegueError {
    SegueError(
      .handoffFailed, "\(app.name) was not started with the \(app.form.noun), which was asked for once more")
  }
}
