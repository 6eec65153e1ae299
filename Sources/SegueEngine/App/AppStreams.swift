import SegueModel
import SegueWire

/// A stream that joins this app to another, as far as the engine has to do with it: who it is of, and how it ends. The bytes
/// go from app to app.
private struct AppStream {
  enum Phase {
    /// This app has asked for it. With the origin's end: the hub does not know yet.
    case asking(deadline: Int64, PassedDescriptor?)
    case there
  }

  let id: Identifier
  let continuation: Message.Continuation
  /// The app at its other end.
  let other: Identifier
  /// What the library asks it for by itself (R7.6); nil: the app asks for it.
  var attachment: Message.AttachmentPart?
  var phase: Phase
  /// Whether hubs carry its bytes. If so, what was said of the other end counts once the hub has passed all of them on, and
  /// nothing more is heard if the hub goes.
  var crossesLink = false
  /// What was said of the end that is here, and of the other.
  var said: StreamWord?
  var heard: StreamWord?
  /// The app waits to hear how the other end has ended.
  var question: Question?

  struct Question {
    /// Uptime at which it counts as broken.
    let deadline: Int64
    /// Uptime at which the other side is asked again: the hub may have heard of its death only after the question.
    var againAt: Int64
  }
}

/// Another app asks for a stream; the end that is here has come with it.
public struct StreamRequest {
  public let id: Identifier
  let continuation: Message.Continuation
  /// Which asks.
  public let app: Identifier
  /// Whether hubs carry its bytes: then no descriptor can come with them.
  public let crossesLink: Bool
  /// What the library is to send on it (R7.6); nil: it is the app's.
  public let attachment: Message.AttachmentPart?
  public let descriptor: PassedDescriptor

  /// Where that is attached.
  public var activity: Identifier { continuation.activity }
}

/// An app's streams: asks for them, is asked for them, and tells and hears how they end.
final class AppStreams: AppFeature {
  /// Streams that an app takes part in, and that others may have asked it for before it has heard of the first.
  private static let limit = 1_024
  /// Streams that one origin may leave unanswered: others wait here, where they cost the hub nothing.
  static let unansweredLimit = 32
  private static let firstPatience: Int64 = 50

  private let app: AppContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let grants: ActivityGrants
  private var streams: [AppStream] = []
  /// How streams that are no more were ended here.
  private var closedStatuses: [(id: Identifier, status: StreamWord)] = []
  /// Asked for by others, until `takeRequests`.
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
    timeout: Int64?, _ now: Moment
  ) {
    let continuation = Message.Continuation(
      id: from.continuation, origin: from.offer.origin, activity: from.offer.description.id)
    guard streams.count < Self.limit else {
      let error = SegueError(.limitExceeded, "app: has \(Self.limit) streams")
      return app.deliver(.streamAnswered(id, error))
    }
    streams.append(
      AppStream(
        id: id, continuation: continuation, other: continuation.origin, attachment: attachment,
        phase: .asking(deadline: now.uptime + (timeout ?? app.limits.continuation), otherEnd)))
    if hub.isWelcome { askWaiting(now) }
  }

  /// Asks for those that no hub was asked for yet, if their origins may be there.
  func askWaiting(_ now: Moment) {
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
      // The hub fills in who asks.
      hub.sendChecked(
        .stream(stream.id, stream.continuation, from: app.identity.id, channel: 0, attachment: stream.attachment),
        with: descriptor, now)
    }
  }

  /// Of each origin that was asked, or is to be, how many streams it has not answered.
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

  func receiveAnswer(_ id: Identifier, crossesLink: Bool, _ error: SegueError?, _ now: Moment) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else { return }
    guard case .asking = streams[index].phase else {
      // It was there, and the way broke (R7.4).
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
    if !hasDescriptor { return refuse(request, HubEngine.noDescriptor) }
    if request.descriptor.isLost {
      let error = SegueError(.limitExceeded, "the app where the activity lives may open no more descriptors")
      return refuse(request, error)
    }
    unanswered.append(request)
  }

  func takeRequests() -> [StreamRequest] {
    defer { unanswered = [] }
    return unanswered
  }

  func take(_ request: StreamRequest) -> Bool {
    if let error = objection(to: request) {
      refuse(request, error)
      return false
    }
    hub.send(.streamAnswer(request.id, request.continuation, channel: 0, nil))
    guard request.attachment == nil else { return true }
    streams.append(
      AppStream(
        id: request.id, continuation: request.continuation, other: request.app, phase: .there,
        crossesLink: request.crossesLink))
    app.deliver(.streamCame(request.id, activity: request.continuation.activity))
    return true
  }

  func refuse(_ request: StreamRequest, _ error: SegueError) {
    hub.send(.streamAnswer(request.id, request.continuation, channel: 0, error))
  }

  func objection(to request: StreamRequest) -> SegueError? {
    if let error = grants.objection(to: request.continuation, of: request.app) { return error }
    guard request.attachment == nil else { return nil }
    let activity = request.continuation.activity
    guard app.owner.activity(activity)?.supportsContinuationStreams ?? false else {
      return SegueError(.invalidState, "the activity does not support continuation streams")
    }
    guard app.owner.takesStreams(activity) else {
      return SegueError(.invalidState, "the app where the activity lives takes no streams")
    }
    guard streams.count < Self.limit else {
      return SegueError(.limitExceeded, "the app where the activity lives has \(Self.limit) streams")
    }
    guard !streams.contains(where: { $0.id == request.id }) else {
      return SegueError(.handoffFailed, "the name is taken")
    }
    return nil
  }

  // MARK: How it ends

  func reportEnd(_ word: StreamWord, of id: Identifier) {
    guard let index = streams.firstIndex(where: { $0.id == id }),
      Self.mayFollow(word, streams[index].said)
    else { return }
    streams[index].said = word
    tell(word, streams[index])
  }

  /// The first word counts; but who gives up what was finished has not ended it.
  private static func mayFollow(_ word: StreamWord, _ former: StreamWord?) -> Bool {
    guard let former else { return true }
    if case .ended = former, case .aborted = word { return true }
    return false
  }

  func askHowEnded(_ id: Identifier, _ now: Moment) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else {
      return app.deliver(.streamEnded(id, .broken))
    }
    if let heard = streams[index].heard { return app.deliver(.streamEnded(id, heard)) }
    guard streams[index].question == nil else { return }
    streams[index].question = AppStream.Question(
      deadline: now.uptime + AppEngine.verdictTime, againAt: now.uptime + Self.firstPatience)
    tell(nil, streams[index])
  }

  func sawEnd(of id: Identifier) {
    guard let index = streams.firstIndex(where: { $0.id == id }), streams[index].heard == nil else { return }
    if !streams[index].crossesLink { streams[index].heard = .ended }
  }

  func hasHeardEnd(of id: Identifier) -> Bool {
    streams.first { $0.id == id }?.heard != nil
  }

  func remove(_ id: Identifier) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else { return }
    let stream = streams.remove(at: index)
    if let said = stream.said { closedStatuses.append((id, said)) }
    if closedStatuses.count > Self.limit { closedStatuses.removeFirst(Self.limit / 4) }
  }

  func receiveStatus(_ word: StreamWord?, of id: Identifier, _ continuation: Message.Continuation) {
    guard let index = streams.firstIndex(where: { $0.id == id }) else {
      // A bare close is an abort (R7.3).
      guard word == nil else { return }
      let closed = closedStatuses.last { $0.id == id }
      return answerQuestion(of: id, continuation, closed?.status ?? .aborted(0))
    }
    guard let word else {
      return tell(streams[index].said ?? app.owner.streamEnd(id), streams[index])
    }
    // What a hub has lost stays lost, whatever the other app thinks of it.
    guard !streams[index].crossesLink && word != .broken || Self.mayFollow(word, streams[index].heard) else { return }
    guard word == .open else { return heard(word, at: index) }
    // It is still there, so this end was given up, or both were shut down.
    if let said = streams[index].said, case .aborted = said { heard(said, at: index) } else { heard(.ended, at: index) }
  }

  private func heardBroken(at index: Int) {
    if streams[index].heard == nil { heard(.broken, at: index) }
  }

  private func heard(_ word: StreamWord, at index: Int) {
    streams[index].heard = word
    guard streams[index].question != nil else { return }
    streams[index].question = nil
    app.deliver(.streamEnded(streams[index].id, word))
  }

  private func tell(_ word: StreamWord?, _ stream: AppStream) {
    guard hub.isWelcome else { return }
    hub.send(.streamWord(stream.id, stream.continuation, to: stream.other, word))
  }

  /// Of a stream that is known no more, asked by whoever was at its other end.
  private func answerQuestion(of id: Identifier, _ continuation: Message.Continuation, _ word: StreamWord) {
    let asker = continuation.origin == app.identity.id ? nil : continuation.origin
    guard let asker = asker ?? grants.app(continuation.id) else { return }
    hub.send(.streamWord(id, continuation, to: asker, word))
  }

  // MARK: Its life

  func connected(_ now: Moment) {
    askWaiting(now)
    for stream in streams where stream.question != nil { tell(nil, stream) }
  }

  /// Those that the hub was asked for may be lost with it.
  func disconnected(_ now: Moment) {
    endAsking(SegueError(.connectionUnavailable, "the hub of this device went away")) { _, isSent in isSent }
    for index in streams.indices where streams[index].crossesLink { heardBroken(at: index) }
  }

  func tick(_ now: Moment) {
    endAsking(SegueError(.remoteApplicationTimedOut, "the app where the activity lives did not answer in time")) {
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
        tell(nil, streams[index])
      }
    }
  }

  var nextDeadline: Int64? {
    streams.reduce(nil) { next, stream in
      if case .asking(let deadline, _) = stream.phase { return earlier(next, deadline) }
      return earlier(next, stream.question.map { min($0.deadline, $0.againAt) })
    }
  }

  /// The app closes: whoever waits hears so.
  func close(_ error: SegueError, _ now: Moment) {
    endAsking(error) { _, _ in true }
    for stream in streams where stream.question != nil { app.deliver(.streamEnded(stream.id, .broken)) }
    streams = []
  }

  var isIdle: Bool { streams.isEmpty }

  var leak: StaticString? { streams.isEmpty && unanswered.isEmpty ? nil : "app: it keeps a stream" }

  var brokenInvariant: StaticString? { streams.count > Self.limit ? "app: too many streams" : nil }

  private func endAsking(_ error: SegueError, where isDue: (_ deadline: Int64, _ isSent: Bool) -> Bool) {
    while let index = streams.firstIndex(where: { stream in
      if case .asking(let deadline, let descriptor) = stream.phase { isDue(deadline, descriptor == nil) } else { false }
    }) {
      app.deliver(.streamAnswered(streams.remove(at: index).id, error))
    }
  }
}
