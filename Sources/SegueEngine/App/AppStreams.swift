// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The engine's state of a stream between this app and another: its participants, and how it ends. The bytes go from
/// app to app.
private struct AppStream {
  enum Phase {
    /// This app has asked for it. Has the origin's end until the hub gets it.
    case asking(deadline: Int64, PassedDescriptor?)
    case there
  }

  let id: Identifier
  let continuation: Message.Continuation
  /// The app at the other end.
  let other: Identifier
  /// The attachment for which the library asks (R7.6); nil if the app asks.
  var attachment: Message.AttachmentPart?
  var phase: Phase
  /// Whether hubs forward its bytes. If so, the status of the other end counts once the hub has forwarded all of them,
  /// and the loss of the hub breaks the stream.
  var crossesLink = false
  /// The principal that is charged for the stream; nil for one that this app has asked for.
  var principal: Identifier?
  /// The status of the local end, and of the other.
  var localStatus: StreamStatus?
  var peerStatus: StreamStatus?
  /// Whether the app waits for the status of the other end.
  var question: Question?

  struct Question {
    /// The uptime at which it counts as broken.
    let deadline: Int64
    /// The uptime at which to ask the other side again: the hub may have learned of its death only after the question.
    var againAt: Int64
  }
}

/// Another app asks for a stream, and supplies the local end.
public struct StreamRequest {
  public let id: Identifier
  let continuation: Message.Continuation
  /// The receiver.
  public let app: Identifier
  /// The principal that is charged for the stream.
  public let principal: Identifier
  /// Whether hubs forward its bytes: then no descriptor can travel with them.
  public let crossesLink: Bool
  /// The attachment that the library sends on it (R7.6); nil if it is for the app.
  public let attachment: Message.AttachmentPart?
  public let descriptor: PassedDescriptor

  /// The continuation on which it is asked for, on the wire.
  public var continuationID: Identifier { continuation.id }
  /// The activity of the attachment.
  public var activity: Identifier { continuation.activity }
}

/// The streams of an app: requests, answers, and how they end.
final class AppStreams: AppFeature {
  /// The most streams that an app has asked for, and those of one principal to it.
  private static let limit = 1_024
  /// The most streams of all receivers to it.
  private static let othersLimit = limit * Principal.share
  /// The most unanswered streams at one origin: further ones wait here, at no cost for the hub.
  static let unansweredLimit = 32
  private static let firstPatience: Int64 = 50

  private let app: AppContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let grants: ActivityGrants
  private var streams: [AppStream] = []
  /// The status of the local end of former streams.
  private var closedStatuses: [(id: Identifier, status: StreamStatus)] = []
  /// Requests of others, until `takeRequests`.
  private var unanswered: [StreamRequest] = []

  init(_ app: AppContext, _ hub: HubConnection, _ seen: SeenOffers, _ grants: ActivityGrants) {
    self.app = app
    self.hub = hub
    self.seen = seen
    self.grants = grants
  }

  // MARK: Asking for one

  func ask(
    _ id: Identifier, _ from: ContinuedFrom, attachment: Message.AttachmentPart?, otherEnd: PassedDescriptor,
    timeout: Int64?, _ now: Instant
  ) {
    let continuation = Message.Continuation(
      id: from.wireName, origin: from.offer.origin, activity: from.offer.description.id)
    guard streams.count(where: { $0.principal == nil }) < Self.limit else {
      let error = SegueError(.limitExceeded, "app: has \(Self.limit) streams")
      return app.deliver(.streamAnswered(id, error))
    }
    streams.append(
      AppStream(
        id: id, continuation: continuation, other: continuation.origin, attachment: attachment,
        phase: .asking(deadline: now.uptime + (timeout ?? app.limits.continuation), otherEnd)))
    if hub.isWelcome { askWaiting(now) }
  }

  /// Sends pending requests for streams whose origins may have registered.
  func askWaiting(_ now: Instant) {
    var unanswered = unansweredCounts
    for index in streams.indices {
      let stream = streams[index]
      guard case .asking(let deadline, let descriptor?) = stream.phase, !seen.list.awaits(stream.other)
      else { continue }
      guard let place = unanswered.firstIndex(where: { $0.origin == stream.other }),
        unanswered[place].count < Self.unansweredLimit
      else { continue }
      unanswered[place].count += 1
      streams[index].phase = .asking(deadline: deadline, nil)
      // The hub fills in the receiver.
      hub.sendChecked(
        .stream(stream.id, stream.continuation, from: app.identity.id, channel: 0, attachment: stream.attachment),
        with: descriptor, now)
    }
  }

  /// The number of unanswered streams per origin.
  private var unansweredCounts: [(origin: Identifier, count: Int)] {
    var counts: [(origin: Identifier, count: Int)] = []
    for stream in streams {
      guard case .asking(_, let descriptor) = stream.phase else { continue }
      let count = descriptor == nil ? 1 : 0
      if let place = counts.firstIndex(where: { $0.origin == stream.other }) {
        counts[place].count += count
      } else {
        counts.append((stream.other, count))
      }
    }
    return counts
  }

  func receiveAnswer(_ id: Identifier, crossesLink: Bool, _ error: SegueError?, _ now: Instant) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else { return }
    guard case .asking = streams[index].phase else {
      // It existed, and the connection broke (R7.4).
      if error != nil { heardBroken(at: index) }
      return
    }
    if error == nil, streams[index].attachment == nil {
      streams[index].phase = .there
      streams[index].crossesLink = crossesLink
    } else {
      streams.remove(at: index)
    }
    app.deliver(.streamAnswered(id, error))
    askWaiting(now)
  }

  // MARK: Being asked

  func receive(_ request: StreamRequest, hasDescriptor: Bool) {
    if !hasDescriptor { return refuse(request, .noDescriptor) }
    if request.descriptor.isLost {
      let error = SegueError(.limitExceeded, "the origin may open no more descriptors")
      return refuse(request, error)
    }
    unanswered.append(request)
  }

  func takeRequests() -> [StreamRequest] {
    defer { unanswered = [] }
    return unanswered
  }

  func take(_ request: StreamRequest) -> Bool {
    if let error = rejection(to: request) {
      refuse(request, error)
      return false
    }
    hub.send(.streamAnswer(request.id, request.continuation, channel: 0, nil))
    guard request.attachment == nil else { return true }
    streams.append(
      AppStream(
        id: request.id, continuation: request.continuation, other: request.app, phase: .there,
        crossesLink: request.crossesLink, principal: request.principal))
    app.deliver(.streamCame(request.id, activity: request.continuation.activity))
    return true
  }

  func refuse(_ request: StreamRequest, _ error: SegueError) {
    hub.send(.streamAnswer(request.id, request.continuation, channel: 0, error))
  }

  func rejection(to request: StreamRequest) -> SegueError? {
    if let error = grants.rejection(to: request.continuation, of: request.app) { return error }
    guard request.attachment == nil else { return nil }
    let activity = request.continuation.activity
    guard app.owner.activity(activity)?.supportsContinuationStreams ?? false else {
      return SegueError(.invalidState, "the activity does not support continuation streams")
    }
    guard app.owner.takesStreams(activity) else {
      return SegueError(.invalidState, "the origin takes no streams")
    }
    guard streams.count(where: { $0.principal != nil }) < Self.othersLimit,
      streams.count(where: { $0.principal == request.principal }) < Self.limit
    else {
      return SegueError(.limitExceeded, "the origin has too many streams")
    }
    guard !streams.contains(where: { $0.id == request.id }) else {
      return SegueError(.handoffFailed, "the name is taken")
    }
    return nil
  }

  // MARK: The end

  func reportEnd(_ status: StreamStatus, of id: Identifier) {
    guard let index = streams.firstIndex(where: { $0.id == id }),
      Self.mayFollow(status, streams[index].localStatus)
    else { return }
    streams[index].localStatus = status
    sendStatus(status, streams[index])
  }

  /// The first status counts, except that an abort replaces a finish.
  private static func mayFollow(_ status: StreamStatus, _ former: StreamStatus?) -> Bool {
    guard let former else { return true }
    if case .ended = former, case .aborted = status { return true }
    return false
  }

  func askHowEnded(_ id: Identifier, _ now: Instant) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else {
      return app.deliver(.streamEnded(id, .broken))
    }
    if let status = streams[index].peerStatus { return app.deliver(.streamEnded(id, status)) }
    guard streams[index].question == nil else { return }
    streams[index].question = AppStream.Question(
      deadline: now.uptime + AppEngine.verdictTime, againAt: now.uptime + Self.firstPatience)
    sendStatus(nil, streams[index])
  }

  func sawEnd(of id: Identifier) {
    guard let index = streams.firstIndex(where: { $0.id == id }), streams[index].peerStatus == nil else { return }
    if !streams[index].crossesLink { streams[index].peerStatus = .ended }
  }

  func hasHeardEnd(of id: Identifier) -> Bool {
    streams.first { $0.id == id }?.peerStatus != nil
  }

  func remove(_ id: Identifier) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else { return }
    let stream = streams.remove(at: index)
    if let status = stream.localStatus { closedStatuses.append((id, status)) }
    if closedStatuses.count > Self.limit { closedStatuses.removeFirst(Self.limit / 4) }
  }

  func receiveStatus(_ status: StreamStatus?, of id: Identifier, _ continuation: Message.Continuation) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else {
      // A bare close is an abort (R7.3).
      guard status == nil else { return }
      let closed = closedStatuses.last { $0.id == id }
      return answerQuestion(of: id, continuation, closed?.status ?? .aborted(0))
    }
    guard let status else {
      return sendStatus(streams[index].localStatus ?? app.owner.streamEnd(id), streams[index])
    }
    // Bytes that a hub has lost stay lost, whatever status the other app reports.
    let mayFollow = Self.mayFollow(status, streams[index].peerStatus)
    guard !streams[index].crossesLink && status != .broken || mayFollow else { return }
    guard status == .open else { return receivedStatus(status, at: index) }
    // The other end still exists, so this end was aborted, or both were shut down.
    if let status = streams[index].localStatus, case .aborted = status {
      receivedStatus(status, at: index)
    } else {
      receivedStatus(.ended, at: index)
    }
  }

  private func heardBroken(at index: Int) {
    if streams[index].peerStatus == nil { receivedStatus(.broken, at: index) }
  }

  private func receivedStatus(_ status: StreamStatus, at index: Int) {
    streams[index].peerStatus = status
    guard streams[index].question != nil else { return }
    streams[index].question = nil
    app.deliver(.streamEnded(streams[index].id, status))
  }

  private func sendStatus(_ status: StreamStatus?, _ stream: AppStream) {
    guard hub.isWelcome else { return }
    hub.send(.streamStatus(stream.id, stream.continuation, to: stream.other, status))
  }

  /// Answers a question of the other side about a former stream.
  private func answerQuestion(of id: Identifier, _ continuation: Message.Continuation, _ status: StreamStatus) {
    let requester = continuation.origin == app.identity.id ? nil : continuation.origin
    guard let requester = requester ?? grants.app(continuation.id) else { return }
    hub.send(.streamStatus(id, continuation, to: requester, status))
  }

  // MARK: Life cycle

  func connected(_ now: Instant) {
    askWaiting(now)
    for stream in streams where stream.question != nil { sendStatus(nil, stream) }
  }

  /// Requests at the hub may be lost with it.
  func disconnected(_ now: Instant) {
    endAsking(SegueError(.connectionUnavailable, "the hub of this device has ended")) { _, isSent in isSent }
    for index in streams.indices where streams[index].crossesLink { heardBroken(at: index) }
  }

  func tick(_ now: Instant) {
    endAsking(SegueError(.remoteApplicationTimedOut, "the origin did not answer in time")) {
      deadline, _ in deadline <= now.uptime
    }
    if hub.isWelcome { askWaiting(now) }
    for index in streams.indices {
      guard let question = streams[index].question else { continue }
      if question.deadline <= now.uptime {
        streams[index].question = nil
        app.deliver(.streamEnded(streams[index].id, .broken))
      } else if question.againAt <= now.uptime {
        streams[index].question?.againAt = now.uptime + 2 * Self.firstPatience
        sendStatus(nil, streams[index])
      }
    }
  }

  var nextDeadline: Int64? {
    streams.reduce(nil) { next, stream in
      if case .asking(let deadline, _) = stream.phase { return earlier(next, deadline) }
      return earlier(next, stream.question.map { min($0.deadline, $0.againAt) })
    }
  }

  /// The app closes: ends all waiting operations.
  func close(_ error: SegueError, _ now: Instant) {
    endAsking(error) { _, _ in true }
    for stream in streams where stream.question != nil { app.deliver(.streamEnded(stream.id, .broken)) }
    streams = []
  }

  var isIdle: Bool { streams.isEmpty }

  var leak: StaticString? { streams.isEmpty && unanswered.isEmpty ? nil : "app: it keeps a stream" }

  var brokenInvariant: StaticString? { streams.count > Self.limit + Self.othersLimit ? "app: too many streams" : nil }

  private func endAsking(_ error: SegueError, where isDue: (_ deadline: Int64, _ isSent: Bool) -> Bool) {
    while let index = streams.firstIndex(where: { stream in
      if case .asking(let deadline, let descriptor) = stream.phase { isDue(deadline, descriptor == nil) } else { false }
    }) {
      app.deliver(.streamAnswered(streams.remove(at: index).id, error))
    }
  }
}
