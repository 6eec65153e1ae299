// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The requests of an app, and those of receivers to it.
final class AppRequests: AppFeature, ChannelReader {
  /// The most requests of an app in progress.
  static let limit = 128
  /// The most requests of all receivers to it.
  static let othersLimit = 512
  /// The memory for requests of all receivers, in requests of the largest size.
  static let largestOfAll = 64

  private let app: AppContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let grants: ActivityGrants
  private var requests: [AppRequest] = []
  private var agentAnswer: (bytes: [UInt8], error: SegueError?)?

  init(_ app: AppContext, _ hub: HubConnection, _ seen: SeenOffers, _ grants: ActivityGrants) {
    self.app = app
    self.hub = hub
    self.seen = seen
    self.grants = grants
  }

  // MARK: Asking

  func ask(_ bytes: [UInt8], _ from: ContinuedFrom, timeout: Int64?, _ now: Instant) -> UInt64 {
    let number = app.takeNumber()
    guard requests.count(where: { $0.isOurs && !$0.isForAgent }) < Self.limit else {
      app.deliver(.answered(number, [], SegueError(.limitExceeded, "app: has too many requests under way")))
      return number
    }
    let continuation = Message.Continuation(
      id: from.wireName, origin: from.offer.origin, activity: from.offer.description.id)
    requests.append(
      AppRequest(
        number: number, requestersNumber: number, continuation, other: continuation.origin, of: app.identity.id,
        isOurs: true,
        deadline: now.uptime + (timeout ?? app.limits.continuation), .unsent, bytes))
    if hub.isWelcome { sendWaiting(now) }
    return number
  }

  /// Asks the agent of this device itself, as the origin of what it knows (docs/protocol.md, "What apps ask the
  /// agent"). The answer is `takeAgentAnswer`. Only hubs know the name of the continuation, so no app can take it.
  /// - Parameter agent: its participant.
  func askAgent(_ bytes: [UInt8], _ agent: Identifier, until deadline: Int64, _ now: Instant) {
    let number = app.takeNumber()
    let name = Identifier(ofSecret: app.identity.secret.ofDelivery)
    requests.append(
      AppRequest(
        number: number, requestersNumber: number, Message.Continuation(id: name, origin: agent, activity: agent),
        other: agent, of: app.identity.id, isOurs: true, isForAgent: true, deadline: deadline, .unsent, bytes))
    sendWaiting(now)
  }

  /// The answer to `askAgent`, once.
  func takeAgentAnswer() -> (bytes: [UInt8], error: SegueError?)? {
    defer { agentAnswer = nil }
    return agentAnswer
  }

  func cancel(_ number: UInt64) {
    guard let request = request(number, isOurs: true) else { return }
    end(request, SegueError(.userCancelled, "the request was cancelled"))
  }

  /// Sends pending requests whose origins may have registered.
  func sendWaiting(_ now: Instant) {
    for request in requests {
      guard case .unsent = request.phase, !seen.list.awaits(request.other) else { continue }
      guard let channel = openForRequest() else {
        end(request, .tooManyTransfers)
        continue
      }
      // The hub fills in the receiver.
      hub.sendChecked(
        .request(
          request.number, request.continuation, from: app.identity.id,
          milliseconds: max(1, request.deadline - now.uptime), channel: channel, size: UInt64(request.bytes.count)), now
      )
      send(request, on: channel)
    }
  }

  func receiveResponse(
    _ number: UInt64, _ continuation: Message.Continuation, channel: FramedConnection.Channel, size: UInt64,
    _ error: SegueError?
  ) throws(SegueError) {
    guard let link = hub.link else { return }
    if channel != 0 { try link.accept(channel) }
    guard let request = request(number, isOurs: true), request.continuation.id == continuation.id else {
      return link.reset(channel)
    }
    if let problem = error ?? rejection(toSize: size, of: "the answer") {
      link.reset(channel)
      return end(request, problem)
    }
    if let former = request.channel { link.reset(former) }
    request.phase = .receiving(channel, size: Int(truncatingIfNeeded: size))
    request.bytes = []
    // Without a channel there are no bytes.
    if channel == 0 { end(request, Self.notAsAnnounced) }
  }

  // MARK: Being asked

  func receive(
    _ number: UInt64, _ continuation: Message.Continuation, by peer: Identifier, milliseconds: Int64,
    channel: FramedConnection.Channel, size: UInt64, _ now: Instant
  ) throws(SegueError) {
    guard let link = hub.link else { return }
    try link.accept(channel)
    let principal = grants.principal(continuation.id) ?? peer
    if let error = grants.rejection(to: continuation, of: peer)
      ?? rejection(toRequestOf: continuation.activity, for: principal, size: size, now)
    {
      link.reset(channel)
      return hub.send(.response(number, continuation, to: peer, channel: 0, size: 0, error))
    }
    requests.append(
      AppRequest(
        number: app.takeNumber(), requestersNumber: number, continuation, other: peer, of: principal, isOurs: false,
        deadline: now.uptime + milliseconds, .receiving(channel, size: Int(truncatingIfNeeded: size)),
        size: Int(truncatingIfNeeded: size), movedAt: now.uptime))
  }

  private func rejection(
    toRequestOf activity: Identifier, for principal: Identifier, size: UInt64, _ now: Instant
  ) -> SegueError? {
    guard app.owner.takesRequests(activity) else {
      return SegueError(.invalidState, "the origin answers no requests")
    }
    if let error = rejection(toSize: size, of: "the request") { return error }
    guard makeRoomForRequest(for: principal, Int(clamping: size), now) else {
      return SegueError(.limitExceeded, "the origin has too many requests to answer")
    }
    return nil
  }

  /// Whether there is room for another request within the share of the principal, and within the limit of all.
  private func makeRoomForRequest(for principal: Identifier, _ size: Int, _ now: Instant) -> Bool {
    makeRoom(size, share: Principal.share, now) { $0.principal == principal }
      && makeRoom(size, share: 1, now) { _ in true }
  }

  /// A new request displaces a stalled one: the one that has stalled for longest.
  private func makeRoom(_ size: Int, share: Int, _ now: Instant, among isMeant: (AppRequest) -> Bool) -> Bool {
    while true {
      let others = requests.filter { !$0.isOurs && isMeant($0) }
      if others.count < Self.othersLimit / share, fits(others, size, Self.largestOfAll / share) { return true }
      let unfinished = others.filter { if case .receiving = $0.phase { true } else { false } }
      guard let slowest = unfinished.min(by: { $0.movedAt < $1.movedAt }),
        slowest.movedAt + OutgoingContinuations.stallTime <= now.uptime
      else { return false }
      end(slowest, SegueError(.limitExceeded, "the request made no progress, and the origin needed room for others"))
    }
  }

  /// Whether there is room for another request of that many bytes.
  private func fits(_ requests: [AppRequest], _ size: Int, _ largest: Int) -> Bool {
    requests.reduce(size) { $0 + max($1.size, $1.bytes.count) } <= largest * app.limits.request
  }

  @inline(never)
  func rejection(toSize size: UInt64, of what: String) -> SegueError? {
    guard size > UInt64(app.limits.request) else { return nil }
    return SegueError(.limitExceeded, "\(what) is larger than SEGUE_LIMIT_REQUEST")
  }

  func respond(to number: UInt64, _ bytes: [UInt8], _ now: Instant) {
    guard let request = request(number, isOurs: false), case .asked = request.phase else { return }
    guard request.deadline > now.uptime else { return end(request, Self.isLate) }
    guard let channel = openForRequest() else { return end(request, .tooManyTransfers) }
    request.bytes = bytes
    hub.send(
      .response(
        request.requestersNumber, request.continuation, to: request.other, channel: channel, size: UInt64(bytes.count),
        nil)
    )
    send(request, on: channel)
  }

  func refuse(_ number: UInt64, _ error: SegueError) {
    guard let request = request(number, isOurs: false), case .asked = request.phase else { return }
    end(request, error)
  }

  // MARK: Channels

  private static var isLate: SegueError { SegueError(.remoteApplicationTimedOut, "no answer came in time") }
  private static var notAsAnnounced: SegueError {
    SegueError(.handoffFailed, "the other side sent more or less than it announced")
  }

  private func request(_ number: UInt64, isOurs: Bool) -> AppRequest? {
    requests.first { $0.number == number && $0.isOurs == isOurs }
  }

  private func request(on channel: FramedConnection.Channel) -> AppRequest? { requests.first { $0.channel == channel } }

  /// Nil if the hub would accept no more. Reserves channels for continuations.
  private func openForRequest() -> FramedConnection.Channel? {
    let limit = FramedConnection.channelLimit - OutgoingContinuations.sendingLimit
    guard let link = hub.link, link.openCount < limit else { return nil }
    return link.open()
  }

  private func send(_ request: AppRequest, on channel: FramedConnection.Channel) {
    request.phase = .sending(channel, sent: 0)
    pump(channel)
  }

  /// Sends as much as the channel accepts.
  func pump(_ channel: FramedConnection.Channel) {
    guard let link = hub.link, let request = request(on: channel), case .sending(_, let sent) = request.phase
    else { return }
    let end = min(request.bytes.count, sent + link.availableCredit(of: channel))
    link.write(request.bytes[sent..<end], to: channel)
    request.phase = .sending(channel, sent: end)
    guard end == request.bytes.count else { return }
    link.finish(channel)
    guard request.isOurs else { return requests.remove(request) }
    wait(request)
  }

  /// The origin has it.
  private func wait(_ request: AppRequest) {
    request.phase = .asked
    request.bytes = []
  }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, _ now: Instant) {
    guard let request = request(on: channel), case .receiving(_, let size) = request.phase else { return }
    request.bytes.append(bytes: bytes)
    request.movedAt = now.uptime
    if request.bytes.count > size { end(request, Self.notAsAnnounced) }
  }

  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant) {
    guard let request = request(on: channel), case .receiving(_, let size) = request.phase else { return }
    let bytes = request.bytes
    guard bytes.count == size else { return end(request, Self.notAsAnnounced) }
    if request.isOurs {
      requests.remove(request)
      answered(request, bytes, nil)
    } else {
      wait(request)
      app.deliver(.requestCame(request.number, activity: request.continuation.activity, bytes))
    }
  }

  func receivedReset(of channel: FramedConnection.Channel, _ now: Instant) {
    guard let request = request(on: channel) else { return }
    // The answer gives the cause.
    if request.isOurs, case .sending = request.phase { return wait(request) }
    end(request, SegueError(.handoffFailed, "the other app stopped sending"))
  }

  private func answered(_ request: AppRequest, _ bytes: [UInt8], _ error: SegueError?) {
    guard !request.isForAgent else { return agentAnswer = (bytes, error) }
    app.deliver(.answered(request.number, bytes, error))
  }

  // MARK: Life cycle

  func connected(_ now: Instant) { sendWaiting(now) }

  /// The other app of a continuation is gone.
  func peerLost(_ continuation: Identifier) {
    endAll(SegueError(.connectionUnavailable, "the origin has ended")) {
      $0.continuation.id == continuation
    }
  }

  /// Sent requests fail: their answers are unknown.
  func disconnected(_ now: Instant) {
    endAll(SegueError(.connectionUnavailable, "the hub of this device has ended")) {
      if case .unsent = $0.phase { false } else { true }
    }
  }

  /// The activity was invalidated: its requests fail.
  func abandon(activity: Identifier) {
    endAll(SegueError(.handoffFailed, "the activity was invalidated")) { request in
      if case .sending = request.phase { return false }
      return !request.isOurs && request.continuation.activity == activity
    }
  }

  func tick(_ now: Instant) {
    endAll(Self.isLate) { $0.isTimed && $0.deadline <= now.uptime }
  }

  var nextDeadline: Int64? {
    var next: Int64?
    for index in requests.indices where requests[index].isTimed { next = earlier(next, requests[index].deadline) }
    return next
  }

  func close(_ error: SegueError, _ now: Instant) {
    endAll(SegueError(.connectionUnavailable, "the origin was closed")) { !$0.isOurs }
    endAll(error) { _ in true }
  }

  var isIdle: Bool { requests.isEmpty }

  var leak: StaticString? { requests.isEmpty ? nil : "app: it keeps a request" }

  var brokenInvariant: StaticString? {
    requests.count(where: { !$0.isForAgent }) > Self.limit + Self.othersLimit ? "R7.5: too many requests" : nil
  }

  var heldBytes: Int { requests.reduce(0) { $0 + $1.bytes.count } }

  @inline(never)
  private func endAll(_ error: @autoclosure () -> SegueError, where isDue: (AppRequest) -> Bool) {
    for request in requests where isDue(request) { end(request, error()) }
  }

  /// Sends the cause to the receiver.
  @inline(never)
  private func end(_ request: AppRequest, _ error: SegueError) {
    requests.remove(request)
    if let channel = request.channel { hub.link?.reset(channel) }
    if request.isOurs {
      answered(request, [], error)
    } else {
      hub.send(.response(request.requestersNumber, request.continuation, to: request.other, channel: 0, size: 0, error))
    }
  }
}
