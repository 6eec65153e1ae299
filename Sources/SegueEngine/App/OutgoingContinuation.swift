import SegueModel
import SegueWire

/// A continuation of which this app is the origin.
struct OutgoingContinuation {
  enum Phase {
    /// will_save runs.
    case saving
    /// The document goes out on this channel; `sent` bytes of it have.
    case sending(Link.Channel, sent: Int)
    /// All of it went out; the receiver will say how it ended.
    case sent
  }

  let id: Identifier
  let activity: Identifier
  let receiver: Receiver
  /// Uptime at which nothing more can come of it.
  let deadline: Int64
  var phase = Phase.saving
  /// All of the document went out once: only then can the receiver have restored it.
  var wasSentWhole = false
  /// Uptime at which the receiver was last sent something.
  var movedAt: Int64 = 0
  /// The channel on which the present hub was sent the state; 0: none yet.
  var channel: Link.Channel = 0
  /// Empty: there is none yet, or it is not kept any more.
  var document: [UInt8] = []
  var isStale = false
}

extension AppEngine {
  /// Continuations that others may have under way of one app's activities, and those that one of them may.
  static let outgoingLimit = 1_024
  static let outgoingOfReceiverLimit = 8
  /// Documents that are on their way at a time.
  static let sendingLimit = 64
  /// Bytes of documents that went out and are kept, should the hub die before their receivers have them.
  static let sentBytesLimit = 32 * 1024 * 1024
  /// Milliseconds without progress after which a document gives way to another, if there are as many as that.
  static let stallTime: Int64 = 1_000
  /// Milliseconds that a receiver's last word may take beyond its deadline.
  private static let grace: Int64 = 2_000

  func fetched(_ continuation: Message.Continuation, milliseconds: Int64, receiver: Receiver?, _ now: Moment) {
    guard let receiver else { return }
    func refuse(_ status: Status, _ message: DiagnosticText) {
      send(.refused(continuation.id, to: receiver.id, SegueError(status, message)))
    }
    if let index = outgoing.firstIndex(where: { $0.id == continuation.id }) {
      guard outgoing[index].receiver.id == receiver.id, outgoing[index].activity == continuation.activity else {
        return refuse(.handoffFailed, "this continuation is another app's")
      }
      return repeatState(at: index, now)
    }
    guard !hasEnded(continuation.id) else { return refuse(.handoffFailed, "this continuation has ended") }
    guard current?.id == continuation.activity, let activity = source.activity(continuation.activity),
      activity.isOfferable(at: now.date)
    else { return refuse(.handoffFailed, "the activity is no longer offered") }
    guard !isBacklogged else { return refuse(.limitExceeded, "the app does not take what it is told") }
    guard outgoing.count < Self.outgoingLimit,
      outgoing.count(where: { $0.receiver.id == receiver.id }) < Self.outgoingOfReceiverLimit
    else { return refuse(.limitExceeded, "too many continuations of this app are under way") }
    outgoing.append(
      OutgoingContinuation(
        id: continuation.id, activity: continuation.activity, receiver: receiver,
        deadline: now.uptime + milliseconds + Self.grace))
    log(.debug, "\(receiver.appName) continues \(activity.type)")
    save(continuation.activity, .pulled(continuation.id), now)
  }

  /// The receiver asks again, through another hub (R3.14).
  private func repeatState(at index: Int, _ now: Moment) {
    switch outgoing[index].phase {
    case .saving: break
    case .sent where outgoing[index].document.isEmpty:
      refuse(outgoing[index].id, SegueError(.limitExceeded, "the state is not kept any more"), now)
    case .sending, .sent: startSending(at: index, now)
    }
  }

  func send(_ snapshot: Snapshot, to id: Identifier, isStale: Bool, _ now: Moment) {
    guard let index = outgoing.firstIndex(where: { $0.id == id }) else { return }
    outgoing[index].document = snapshot.document
    outgoing[index].isStale = isStale
    startSending(at: index, now)
  }

  /// There is no state to send.
  func refuse(_ id: Identifier, _ error: SegueError, _ now: Moment) {
    guard let index = outgoing.firstIndex(where: { $0.id == id }) else { return }
    send(.refused(id, to: outgoing[index].receiver.id, error))
    endOutgoing(at: index, .failed, error, now)
  }

  private func startSending(at index: Int, _ now: Moment) {
    guard let link = connection.link, connection.isWelcome else {
      // It asks again through the next hub.
      outgoing[index].phase = .sending(0, sent: 0)
      return
    }
    // Whoever asks again waits for this one only: however often that is, one channel is open for it.
    link.reset(outgoing[index].channel)
    outgoing[index].channel = 0
    let id = outgoing[index].id
    guard makeRoomToSend(now), link.openCount < Link.channelLimit else {
      return refuse(id, SegueError(.limitExceeded, "too many continuations of this app are under way"), now)
    }
    // Others may have ended.
    guard let index = outgoing.firstIndex(where: { $0.id == id }) else { return }
    holders.insert(
      Holder(
        continuation: outgoing[index].id, activity: outgoing[index].activity, app: outgoing[index].receiver.id))
    let channel = link.open()
    outgoing[index].channel = channel
    outgoing[index].phase = .sending(channel, sent: 0)
    outgoing[index].movedAt = now.uptime
    send(
      .state(
        outgoing[index].id, to: outgoing[index].receiver.id, channel: channel,
        size: UInt64(outgoing[index].document.count), isStale: outgoing[index].isStale))
    pumpOutgoing(channel, now)
  }

  /// Who reads need not wait for those who do not: of these the one that has stood still for longest ends.
  private func makeRoomToSend(_ now: Moment) -> Bool {
    let sending = outgoing.filter { if case .sending = $0.phase { $0.channel != 0 } else { false } }
    guard sending.count >= Self.sendingLimit else { return true }
    guard let slowest = sending.min(by: { $0.movedAt < $1.movedAt }), slowest.movedAt + Self.stallTime <= now.uptime
    else { return false }
    refuse(slowest.id, SegueError(.remoteApplicationTimedOut, "the receiver does not take what it has asked for"), now)
    return true
  }

  /// Sends as much of a document as its channel takes.
  func pumpOutgoing(_ channel: Link.Channel, _ now: Moment) {
    guard let link = connection.link,
      let index = outgoing.firstIndex(where: { if case .sending(channel, _) = $0.phase { true } else { false } }),
      case .sending(_, let sent) = outgoing[index].phase
    else { return }
    let end = min(outgoing[index].document.count, sent + link.room(in: channel))
    link.write(outgoing[index].document[sent..<end], to: channel)
    if end > sent { outgoing[index].movedAt = now.uptime }
    if end == outgoing[index].document.count {
      link.finish(channel)
      outgoing[index].phase = .sent
      outgoing[index].wasSentWhole = true
      dropOldDocuments()
    } else {
      outgoing[index].phase = .sending(channel, sent: end)
    }
  }

  private func dropOldDocuments() {
    var kept = 0
    for index in outgoing.indices.reversed() {
      guard case .sent = outgoing[index].phase else { continue }
      kept += outgoing[index].document.count
      if kept > Self.sentBytesLimit { outgoing[index].document = [] }
    }
  }

  /// The receiver says how it ended (R3.6).
  func learned(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, receiver: Receiver?, _ now: Moment
  ) {
    guard let receiver else { return }
    let index = outgoing.firstIndex { $0.id == continuation.id }
    guard index.map({ outgoing[$0].receiver.id == receiver.id }) ?? true else { return }
    send(.noted(continuation.id, to: receiver.id))
    if let index {
      guard outcome != .restored || outgoing[index].wasSentWhole else {
        let error = SegueError(.handoffFailed, "the receiver says that it restored what it has not been sent")
        return endOutgoing(at: index, .failed, error, now)
      }
      return endOutgoing(at: index, outcome, error, now)
    }
    // Declined or given up before it asked for anything is an attempt, too. Nobody has restored what was not asked for.
    guard outcome == .declined || outcome == .failed, !isBacklogged, !hasEnded(continuation.id),
      source.activity(continuation.activity) != nil
    else { return }
    endedUnasked.insert(continuation.id)
    let attempt = OutgoingContinuation(
      id: continuation.id, activity: continuation.activity, receiver: receiver, deadline: now.uptime)
    deliverReceipt(of: attempt, outcome, error, now)
  }

  /// Whether its receipt was given: what comes late of it is not taken for a new attempt.
  private func hasEnded(_ id: Identifier) -> Bool { ended.contains(id) || endedUnasked.contains(id) }

  /// The other app of a continuation is gone: the receiver of an outgoing one, or the origin of an incoming one.
  func vanished(_ id: Identifier, _ now: Moment) {
    requestsLost(id)
    if let index = outgoing.firstIndex(where: { $0.id == id }) {
      endUnanswered(at: index, SegueError(.connectionUnavailable, "the receiver went away"), now)
    } else {
      originVanished(id, now)
    }
  }

  /// Nobody knows what the receiver made of it, if it had all of it.
  private func endUnanswered(at index: Int, _ error: SegueError, _ now: Moment) {
    if case .sent = outgoing[index].phase {
      endOutgoing(at: index, .unknown, error, now)
    } else {
      endOutgoing(at: index, .failed, error, now)
    }
  }

  func endOutgoing(at index: Int, _ outcome: Outcome, _ error: SegueError?, _ now: Moment) {
    let continuation = outgoing.remove(at: index)
    ended.insert(continuation.id)
    if case .sending(let channel, _) = continuation.phase, channel != 0 { connection.link?.reset(channel) }
    if outcome == .declined || outcome == .failed { holders.remove(continuation: continuation.id) }
    for index in saves.indices {
      saves[index].waiting.removeAll { $0 == continuation.id }
      saves[index].late.removeAll { $0 == continuation.id }
    }
    deliverReceipt(of: continuation, outcome, error, now)
  }

  private func deliverReceipt(
    of continuation: OutgoingContinuation, _ outcome: Outcome, _ error: SegueError?, _ now: Moment
  ) {
    let receipt = Receipt(
      continuation: continuation.id, receiver: continuation.receiver, outcome: outcome,
      status: outcome == .restored ? .ok : error?.status ?? .handoffFailed, reason: error?.message ?? "",
      isStale: continuation.isStale, date: now.date)
    if outcome == .restored { deliveries.append(.wasContinued(activity: continuation.activity, receipt)) }
    deliveries.append(.continuationEnded(activity: continuation.activity, receipt))
  }

  /// What was under way goes on through the next hub, if its receiver asks again.
  func outgoingLostHub() {
    for index in outgoing.indices {
      outgoing[index].channel = 0
      if case .sending = outgoing[index].phase { outgoing[index].phase = .sending(0, sent: 0) }
    }
  }

  /// The activity was invalidated: nobody gets it who does not have it.
  func abandonOutgoing(of activity: Identifier, _ now: Moment) {
    saves.removeAll { $0.activity == activity }
    let error = SegueError(.handoffFailed, "the activity was invalidated")
    while let index = outgoing.firstIndex(where: { continuation in
      if case .sent = continuation.phase { return false }
      return continuation.activity == activity
    }) {
      send(.refused(outgoing[index].id, to: outgoing[index].receiver.id, error))
      endOutgoing(at: index, .failed, error, now)
    }
  }

  func tickOutgoing(_ now: Moment) {
    while let index = outgoing.firstIndex(where: { $0.deadline <= now.uptime }) {
      endUnanswered(at: index, SegueError(.remoteApplicationTimedOut, "the receiver did not say how it ended"), now)
    }
  }
}
