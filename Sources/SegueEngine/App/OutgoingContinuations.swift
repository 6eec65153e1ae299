// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A continuation of which this app is the origin.
private struct OutgoingContinuation {
  enum Phase {
    /// will_save runs.
    case saving
    /// The document goes out on this channel; `sent` bytes of it have gone.
    case sending(FramedConnection.Channel, sent: Int)
    /// The whole document was sent; waits for the outcome.
    case sent
  }

  let id: Identifier
  let activity: Identifier
  let receiver: Receiver
  /// The principal that is charged for the continuation.
  let principal: Identifier
  /// Whether the receiver is the origin of what this app has continued, and takes its state back (R3.10).
  let isBack: Bool
  /// Whether the receiver is on this device, as the hub says.
  var isNear: Bool
  /// The uptime at which it ends without an outcome.
  let deadline: Int64
  var phase = Phase.saving
  /// Whether the whole document was sent once: only then can the receiver have restored it.
  var wasSentWhole = false
  /// The uptime at which bytes were last sent to the receiver.
  var movedAt: Int64 = 0
  /// The channel of the state at the current hub; 0 if there is none yet.
  var channel: FramedConnection.Channel = 0
  /// Empty if there is none yet, or it is no longer kept.
  var document: [UInt8] = []
  /// The revision of the snapshot.
  var revision: UInt64 = 0
  /// Why the document is an older snapshot; nil if it is not (R2.4).
  var staleness: String?
}

/// Continuations of which this app is the origin: each gets the saved activity, and ends in one receipt.
final class OutgoingContinuations: AppFeature {
  /// The most continuations of one app's activities, and of one receiver among them.
  static let limit = 1_024
  static let receiverLimit = 8
  /// The most documents being sent at a time.
  static let sendingLimit = 128
  /// The most bytes of sent documents that are kept, in case the hub dies before their receivers have them.
  static let sentBytesLimit = 32 * 1024 * 1024
  /// Milliseconds without progress after which a new document may displace one at the limit.
  static let stallTime: Int64 = 1_000
  /// Milliseconds that an outcome may take beyond the deadline.
  private static let grace: Int64 = 2_000

  private let app: AppContext
  private let hub: HubConnection
  private let current: CurrentActivity
  private let saves: Saves
  private let grants: ActivityGrants
  private var continuations: [OutgoingContinuation] = []
  /// The last ended continuations: late messages about them do not begin new ones.
  private var ended = RecentIdentifiers()
  /// The same for those that ended before a fetch: forged ones cannot displace others.
  private var endedUnasked = RecentIdentifiers()

  init(
    _ app: AppContext, _ hub: HubConnection, _ current: CurrentActivity, _ saves: Saves, _ grants: ActivityGrants
  ) {
    self.app = app
    self.hub = hub
    self.current = current
    self.saves = saves
    self.grants = grants
  }

  // MARK: Being asked

  func fetched(
    _ continuation: Message.Continuation, milliseconds: Int64, receiver: Receiver?, of principal: Identifier?,
    isBack: Bool, isNear: Bool, _ now: Instant
  ) {
    guard let receiver else { return }
    let principal = principal ?? receiver.id
    // Back, the activity is named by the continuation that brought it here.
    let id = isBack ? kept(continuation, by: receiver) : continuation.activity
    func refuse(_ status: Status, _ message: DiagnosticText) {
      hub.send(.refused(continuation.id, to: receiver.id, SegueError(status, message)))
    }
    if let index = index(of: continuation.id) {
      guard continuations[index].receiver.id == receiver.id, continuations[index].activity == id
      else { return refuse(.handoffFailed, "this continuation is another app's") }
      continuations[index].isNear = isNear
      return resendState(at: index, now)
    }
    guard !hasEnded(continuation.id) else { return refuse(.handoffFailed, "this continuation has ended") }
    guard let id, let activity = app.owner.activity(id) else {
      return refuse(.handoffFailed, isBack ? "the app does not keep what it has continued" : Self.isNotOffered)
    }
    guard isBack || current.id == id && activity.isOfferable(at: now.date) else {
      return refuse(.handoffFailed, Self.isNotOffered)
    }
    guard !app.owner.isBacklogged else { return refuse(.limitExceeded, "the app does not take what it is told") }
    guard !app.owner.isContinued else { return refuse(.handoffFailed, Self.isNotOffered) }
    guard !app.owner.continuesOnce || !isAttempted(id) else {
      return refuse(.busy, "the activity is being continued by another app")
    }
    guard continuations.count < Self.limit,
      continuations.count(where: { $0.principal == principal }) < Self.limit / Principal.share,
      // Another principal may say the same identifier.
      continuations.count(where: { $0.receiver.id == receiver.id && $0.principal == principal }) < Self.receiverLimit
    else { return refuse(.limitExceeded, "too many continuations are under way") }
    // While one receiver has it, others wait: its user's patience counts no longer than usual.
    let patience = app.owner.continuesOnce ? min(milliseconds, app.limits.continuation) : milliseconds
    continuations.append(
      OutgoingContinuation(
        id: continuation.id, activity: id, receiver: receiver, principal: principal, isBack: isBack, isNear: isNear,
        deadline: now.uptime + patience + Self.grace))
    app.log(.debug, "\(receiver.appName) continues \(activity.type)")
    current.save(id, .pulled(continuation.id), now)
    sendPulled(now)
  }

  /// The activity that a continuation has brought here, for its origin alone.
  private func kept(_ back: Message.Continuation, by receiver: Receiver) -> Identifier? {
    guard let kept = app.owner.kept(by: back.activity), kept.origin == receiver.id else { return nil }
    return kept.activity
  }

  private static var isNotOffered: DiagnosticText { "the activity is no longer offered" }

  /// Whether an attempt to continue an activity has not ended.
  func isAttempted(_ activity: Identifier) -> Bool { continuations.contains { $0.activity == activity } }

  /// The last app that has continued an activity, and may keep it; nil if there is none.
  func keeper(of activity: Identifier) -> ActivityGrant? {
    grants.last(of: activity) { index(of: $0) == nil }
  }

  /// The receiver asks again, through another hub (R3.14).
  private func resendState(at index: Int, _ now: Instant) {
    switch continuations[index].phase {
    case .saving: break
    case .sent where continuations[index].document.isEmpty:
      refuse(
        continuations[index].id,
        SegueError(.limitExceeded, "the origin has dropped the snapshot; continue the offer again"), now)
    case .sending, .sent: startSending(at: index, now)
    }
  }

  // MARK: Sending the state

  /// Sends what has been saved for continuations.
  func sendPulled(_ now: Instant) {
    while let state = saves.takePulled() {
      switch state {
      case .snapshot(let snapshot, let id, let staleness):
        guard let index = index(of: id) else { continue }
        continuations[index].document = snapshot.document
        continuations[index].revision = snapshot.revision
        continuations[index].staleness = staleness.map { named($0, at: index).string }
        startSending(at: index, now)
      case .unsaved(let error, let id):
        if let index = index(of: id) { refuse(id, SegueError(error.status, named(error.message, at: index)), now) }
      case .failed(let error, let id): refuse(id, error, now)
      }
    }
  }

  /// Puts the role of this app before a predicate, which says what the app has not done: a text for both sides. If the
  /// state goes back, either app is an origin (R3.10).
  private func named(_ predicate: String, at index: Int) -> DiagnosticText {
    "\(continuations[index].isBack ? "the app that had continued it" as StaticString : "the origin") \(predicate)"
  }

  /// Fails without a state to send.
  private func refuse(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    guard let index = index(of: id) else { return }
    hub.send(.refused(id, to: continuations[index].receiver.id, error))
    end(at: index, .failed, error, now)
  }

  private func startSending(at index: Int, _ now: Instant) {
    guard let link = hub.link, hub.isWelcome else {
      // It fetches again through the next hub.
      continuations[index].phase = .sending(0, sent: 0)
      return
    }
    // A repeated fetch does not open another channel.
    link.reset(continuations[index].channel)
    continuations[index].channel = 0
    let id = continuations[index].id
    guard makeRoomToSend(for: continuations[index].principal, now), link.openCount < FramedConnection.channelLimit
    else {
      return refuse(id, SegueError(.limitExceeded, "too many continuations are under way"), now)
    }
    // Others may have ended.
    guard let index = self.index(of: id) else { return }
    let channel = link.open()
    continuations[index].channel = channel
    continuations[index].phase = .sending(channel, sent: 0)
    continuations[index].movedAt = now.uptime
    let continuation = continuations[index]
    if !continuation.isBack {
      grants.insert(
        ActivityGrant(
          continuation: id, activity: continuation.activity, app: continuation.receiver.id,
          principal: continuation.principal, revision: continuation.revision))
    }
    if continuation.isNear {
      let folders = OriginFolders.text(for: continuation.document, app.owner.containers)
      if !folders.isEmpty { hub.send(.originFolders(id, to: continuation.receiver.id, folders)) }
    }
    hub.send(
      .state(
        id, to: continuation.receiver.id, channel: channel, size: UInt64(continuation.document.count),
        isStale: continuation.staleness != nil, why: continuation.staleness ?? ""))
    pump(channel, now)
  }

  /// Whether there is room for another document within the share of the principal, and within the limit of all.
  private func makeRoomToSend(for principal: Identifier, _ now: Instant) -> Bool {
    makeRoomToSend(share: Principal.share, now) { $0.principal == principal }
      && makeRoomToSend(share: 1, now) { _ in true }
  }

  /// A new document displaces a stalled one: the one that has stalled for longest.
  private func makeRoomToSend(share: Int, _ now: Instant, among isMeant: (OutgoingContinuation) -> Bool) -> Bool {
    guard continuations.count >= Self.sendingLimit / share else { return true }
    let sending = continuations.filter {
      if case .sending = $0.phase { $0.channel != 0 && isMeant($0) } else { false }
    }
    guard sending.count >= Self.sendingLimit / share else { return true }
    guard let slowest = sending.min(by: { $0.movedAt < $1.movedAt }), slowest.movedAt + Self.stallTime <= now.uptime
    else { return false }
    refuse(slowest.id, SegueError(.remoteApplicationTimedOut, "the receiver does not take what it has asked for"), now)
    return true
  }

  /// Sends as much of a document as its channel accepts.
  func pump(_ channel: FramedConnection.Channel, _ now: Instant) {
    guard let link = hub.link,
      let index = continuations.firstIndex(where: { if case .sending(channel, _) = $0.phase { true } else { false } }),
      case .sending(_, let sent) = continuations[index].phase
    else { return }
    let end = min(continuations[index].document.count, sent + link.availableCredit(of: channel))
    link.write(continuations[index].document[sent..<end], to: channel)
    if end > sent { continuations[index].movedAt = now.uptime }
    if end == continuations[index].document.count {
      link.finish(channel)
      continuations[index].phase = .sent
      continuations[index].wasSentWhole = true
      dropOldDocuments()
    } else {
      continuations[index].phase = .sending(channel, sent: end)
    }
  }

  private func dropOldDocuments() {
    var kept = 0
    for index in continuations.indices.reversed() {
      guard case .sent = continuations[index].phase else { continue }
      kept += continuations[index].document.count
      if kept > Self.sentBytesLimit { continuations[index].document = [] }
    }
  }

  var heldBytes: Int { continuations.reduce(0) { $0 + $1.document.count } }

  // MARK: The end

  /// The receiver reports how it ended (R3.6).
  func receiveOutcome(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, receiver: Receiver?, _ now: Instant
  ) {
    guard let receiver else { return }
    let index = index(of: continuation.id)
    guard index.map({ continuations[$0].receiver.id == receiver.id }) ?? true else { return }
    hub.send(.outcomeAck(continuation.id, to: receiver.id))
    if let index {
      guard outcome != .restored || continuations[index].wasSentWhole else {
        let error = SegueError(.handoffFailed, "the receiver says that it restored what it has not been sent")
        return end(at: index, .failed, error, now)
      }
      return end(at: index, outcome, error, now)
    }
    // Declining or giving up before a fetch is an attempt, too. Without a fetch nothing was restored.
    guard outcome == .declined || outcome == .failed, !app.owner.isBacklogged, !hasEnded(continuation.id),
      app.owner.activity(continuation.activity) != nil
    else { return }
    endedUnasked.insert(continuation.id)
    let attempt = OutgoingContinuation(
      id: continuation.id, activity: continuation.activity, receiver: receiver, principal: receiver.id, isBack: false,
      isNear: false, deadline: now.uptime)
    deliverReceipt(of: attempt, outcome, error, now)
  }

  /// Whether its receipt was delivered: late messages about it do not begin a new attempt.
  private func hasEnded(_ id: Identifier) -> Bool { ended.contains(id) || endedUnasked.contains(id) }

  /// The receiver is gone.
  /// - Returns: whether there is such a continuation.
  func peerLost(_ id: Identifier, _ now: Instant) -> Bool {
    guard let index = index(of: id) else { return false }
    endUnanswered(at: index, SegueError(.connectionUnavailable, "the receiver has ended"), now)
    return true
  }

  /// If the receiver had the whole state, the outcome is unknown.
  private func endUnanswered(at index: Int, _ error: SegueError, _ now: Instant) {
    if case .sent = continuations[index].phase {
      end(at: index, .unknown, error, now)
    } else {
      end(at: index, .failed, error, now)
    }
  }

  /// The activity was invalidated: refuses every continuation that has not been sent completely.
  func abandon(activity: Identifier, _ now: Instant) {
    while let continuation = continuations.first(where: { continuation in
      if case .sent = continuation.phase { return false }
      return continuation.activity == activity
    }) {
      refuse(continuation.id, SegueError(.handoffFailed, "the activity was invalidated"), now)
    }
  }

  private func end(at index: Int, _ outcome: Outcome, _ error: SegueError?, _ now: Instant) {
    let continuation = continuations.remove(at: index)
    ended.insert(continuation.id)
    if case .sending(let channel, _) = continuation.phase, channel != 0 { hub.link?.reset(channel) }
    if outcome == .declined || outcome == .failed || continuation.receiver.isMailbox {
      grants.remove(continuation: continuation.id)
    }
    saves.remove(continuation: continuation.id)
    deliverReceipt(of: continuation, outcome, error, now)
  }

  private func deliverReceipt(
    of continuation: OutgoingContinuation, _ outcome: Outcome, _ error: SegueError?, _ now: Instant
  ) {
    let receipt = Receipt(
      continuation: continuation.id, receiver: continuation.receiver, outcome: outcome,
      status: outcome == .restored ? .ok : error?.status ?? .handoffFailed,
      reason: error?.message ?? continuation.staleness ?? "", isStale: continuation.staleness != nil, date: now.date)
    if outcome == .restored { app.deliver(.wasContinued(activity: continuation.activity, receipt)) }
    app.deliver(.continuationEnded(activity: continuation.activity, receipt))
  }

  // MARK: Life cycle

  /// Continuations resume through the next hub when their receivers fetch again.
  func disconnected(_ now: Instant) {
    for index in continuations.indices {
      continuations[index].channel = 0
      if case .sending = continuations[index].phase { continuations[index].phase = .sending(0, sent: 0) }
    }
  }

  func tick(_ now: Instant) {
    sendPulled(now)
    while let index = continuations.firstIndex(where: { $0.deadline <= now.uptime }) {
      endUnanswered(at: index, SegueError(.remoteApplicationTimedOut, "the receiver did not say how it ended"), now)
    }
  }

  var nextDeadline: Int64? {
    var next: Int64?
    for index in continuations.indices { next = earlier(next, continuations[index].deadline) }
    return next
  }

  func close(_ error: SegueError, _ now: Instant) {
    while let last = continuations.last {
      if case .sent = last.phase {
        end(at: continuations.count - 1, .unknown, error, now)
      } else {
        hub.send(.refused(last.id, to: last.receiver.id, SegueError(.handoffFailed, "the other app was closed")))
        end(at: continuations.count - 1, .failed, error, now)
      }
    }
  }

  var isIdle: Bool { continuations.isEmpty }

  var leak: StaticString? { continuations.isEmpty ? nil : "app: it keeps a continuation" }

  var brokenInvariant: StaticString? {
    continuations.count > Self.limit ? "app: too many continuations of its activities" : nil
  }

  private func index(of id: Identifier) -> Int? { continuations.firstIndex { $0.id == id } }
}
