import SegueModel
import SegueWire

/// A continuation of which this app is the receiver.
struct IncomingContinuation {
  enum Phase {
    /// will_continue is due, or runs.
    case announcing
    /// The origin is asked.
    case fetching
    /// The document comes on this channel.
    case receiving(Link.Channel)
    /// continue is due.
    case arrived(Activity, isStale: Bool)
    /// did_fail is due.
    case failed(SegueError)
    /// continue has it; its answer is awaited.
    case continued
  }

  let id: Identifier
  let offer: Offer
  /// Uptime at which it fails (R3.9).
  let deadline: Int64
  var phase = Phase.announcing
  /// will_continue has been told.
  var isAnnounced = false
  /// The origin may have heard of it.
  var isFetched = false
  /// Uptime by which there must be a hub (R3.14).
  var hubBy: Int64?
  var document: [UInt8] = []
  /// Bytes of the document, as announced.
  var size = 0
  var received = 0
  var isStale = false

  /// Whether did_fail or continue has been told.
  var isOver: Bool {
    switch phase {
    case .failed, .continued: true
    case .announcing, .fetching, .receiving, .arrived: false
    }
  }

  var nextDeadline: Int64? {
    switch phase {
    case .failed: nil
    case .continued: deadline
    case .announcing, .fetching, .receiving, .arrived: hubBy.map { min($0, deadline) } ?? deadline
    }
  }

  var continuation: Message.Continuation {
    Message.Continuation(id: id, origin: offer.origin, activity: offer.description.id)
  }
}

/// How a continuation ended, on its way to the origin.
struct Answer {
  let continuation: Message.Continuation
  let outcome: Outcome
  let error: SegueError?
  /// Uptime after which the origin does not care any more.
  let deadline: Int64

  var message: Message { .outcome(continuation, outcome, error, receiver: nil) }
}

extension AppEngine {
  /// Continues an offer (R3.1). will_continue is delivered, then exactly one of continue and did_fail (R3.2).
  /// - Parameter timeout: milliseconds for all of it; nil: as the limits say.
  public func `continue`(_ offer: Offer, id: Identifier, timeout: Int64?, _ now: Moment) {
    for continuation in incoming where !continuation.isOver {
      cancel(continuation.id, SegueError(.userCancelled, "another continuation of this app took its place"), now)
    }
    incoming.append(
      IncomingContinuation(id: id, offer: offer, deadline: now.uptime + (timeout ?? limits.continuation)))
    deliveries.append(.continuation(id))
  }

  /// What the app is to be told now in a continuation; nil: nothing (any more).
  public func step(_ id: Identifier) -> ContinuationStep? {
    guard let index = incoming.firstIndex(where: { $0.id == id }) else { return nil }
    guard incoming[index].isAnnounced else {
      incoming[index].isAnnounced = true
      return .willContinue(incoming[index].offer)
    }
    switch incoming[index].phase {
    case .arrived(let activity, let isStale):
      incoming[index].phase = .continued
      let offer = incoming[index].offer
      return .continue(activity, ContinuedFrom(continuation: id, offer: offer, isStale: isStale))
    case .failed(let error):
      let offer = incoming.remove(at: index).offer
      return .didFail(type: offer.description.type, error)
    case .announcing, .fetching, .receiving, .continued: return nil
    }
  }

  /// will_continue has returned; with a reason, the app does not want it (R3.7).
  public func announced(_ id: Identifier, decline reason: String?, _ now: Moment) {
    guard let index = incoming.firstIndex(where: { $0.id == id }) else { return }
    if case .failed = incoming[index].phase { return deliveries.append(.continuation(id)) }
    guard case .announcing = incoming[index].phase else { return }
    if let reason {
      return fail(at: index, SegueError(.declined, DiagnosticText(of: reason)), tell: .declined, now)
    }
    // Whoever holds an offer may hold it too long; its date is not for the origin alone to keep (A18).
    let offer = offers[incoming[index].offer.description.id] ?? incoming[index].offer
    if let date = offer.description.expirationDate, date <= now.date {
      return fail(at: index, SegueError(.handoffFailed, "the offer has expired"), tell: nil, now)
    }
    incoming[index].phase = .fetching
    if connection.isWelcome {
      fetch(at: index, now)
    } else {
      incoming[index].hubBy = now.uptime + HubConnection.reconnectTime
    }
  }

  /// The app has answered continue: handled or not, and every restorable object restored or not (R3.4, R3.6).
  public func answer(_ id: Identifier, handled: Bool, restored: Bool, _ now: Moment) {
    guard let index = incoming.firstIndex(where: { $0.id == id }), case .continued = incoming[index].phase else {
      return
    }
    if !handled {
      finish(at: index, .declined, SegueError(.declined, "not handled"), now)
    } else if !restored {
      finish(at: index, .failed, SegueError(.handoffFailed, "an object was not restored"), now)
    } else {
      finish(at: index, .restored, nil, now)
    }
  }

  /// Ends a continuation that has not come to continue or did_fail; else nothing.
  public func cancel(_ id: Identifier, _ error: SegueError, _ now: Moment) {
    guard let index = incoming.firstIndex(where: { $0.id == id }), !incoming[index].isOver else { return }
    fail(at: index, error, tell: .failed, now)
  }

  /// Bytes of the payload that came, and how many there will be (0: not known yet); nil when it is over.
  public func progress(of id: Identifier) -> (received: Int, total: Int)? {
    incoming.first { $0.id == id }.map { ($0.received, $0.size) }
  }

  // MARK: Messages

  func announcedState(
    _ id: Identifier, channel: Link.Channel, size: UInt64, isStale: Bool, _ now: Moment
  ) throws(SegueError) {
    guard let link = connection.link else { return }
    try link.accept(channel)
    guard let index = incoming.firstIndex(where: { $0.id == id }), case .fetching = incoming[index].phase else {
      return link.reset(channel)
    }
    guard let size = Int(exactly: size), size <= ActivityDocument.limit else {
      link.reset(channel)
      return fail(at: index, SegueError(.userInfoTooLarge, "the origin sends \(size) bytes"), tell: .failed, now)
    }
    incoming[index].phase = .receiving(channel)
    incoming[index].size = size
    incoming[index].isStale = isStale
  }

  func received(_ bytes: ArraySlice<UInt8>, on channel: Link.Channel, _ now: Moment) {
    connection.link?.grant(bytes.count, to: channel)
    guard let index = receiving(on: channel) else { return requestReceived(bytes, on: channel, now) }
    incoming[index].document.append(bytes: bytes)
    incoming[index].received += bytes.count
    guard incoming[index].received > incoming[index].size else { return }
    fail(at: index, SegueError(.handoffFailed, "the origin sent more than it announced"), tell: .failed, now)
  }

  func receivedEnd(of channel: Link.Channel, _ now: Moment) {
    guard let index = receiving(on: channel) else { return requestReceivedEnd(of: channel) }
    let document = incoming[index].document
    guard document.count == incoming[index].size else {
      return fail(at: index, SegueError(.handoffFailed, "the origin sent less than it announced"), tell: .failed, now)
    }
    do throws(SegueError) {
      let activity = try ActivityDocument.decode(document, userInfoLimit: Limits.value)
      incoming[index].document = []
      incoming[index].phase = .arrived(activity, isStale: incoming[index].isStale)
      deliveries.append(.continuation(incoming[index].id))
    } catch {
      let error = SegueError(.handoffFailed, "the origin's activity cannot be read: \(error.message)")
      fail(at: index, error, tell: .failed, now)
    }
  }

  func receivedReset(of channel: Link.Channel, _ now: Moment) {
    guard let index = receiving(on: channel) else { return requestReset(on: channel) }
    fail(at: index, SegueError(.handoffFailed, "the origin gave up sending"), tell: .failed, now)
  }

  func refused(_ id: Identifier, _ error: SegueError, _ now: Moment) {
    guard let index = incoming.firstIndex(where: { $0.id == id }), !incoming[index].isOver else { return }
    fail(at: index, error, tell: nil, now)
  }

  func originVanished(_ id: Identifier, _ now: Moment) {
    refused(id, SegueError(.connectionUnavailable, "the origin went away"), now)
  }

  // MARK: The hub, time, and the end

  func incomingFoundHub(_ now: Moment) {
    for index in incoming.indices {
      guard case .fetching = incoming[index].phase else { continue }
      incoming[index].hubBy = nil
      fetch(at: index, now)
    }
  }

  /// What is under way is asked for again, under the same name, from the next hub (R3.14).
  func incomingLostHub(_ now: Moment) {
    for index in incoming.indices {
      switch incoming[index].phase {
      case .fetching, .receiving:
        incoming[index].phase = .fetching
        incoming[index].document = []
        incoming[index].received = 0
        incoming[index].hubBy = incoming[index].hubBy ?? now.uptime + HubConnection.reconnectTime
      case .announcing, .arrived, .failed, .continued: break
      }
    }
  }

  func tickIncoming(_ now: Moment) {
    while let index = incoming.firstIndex(where: { $0.nextDeadline.map { $0 <= now.uptime } ?? false }) {
      if case .continued = incoming[index].phase {
        finish(
          at: index, .failed, SegueError(.remoteApplicationTimedOut, "the receiver's app did not answer in time"), now)
      } else if incoming[index].deadline <= now.uptime {
        let error = SegueError(.remoteApplicationTimedOut, "not continued within its time")
        fail(at: index, error, tell: .failed, now)
      } else {
        let error = SegueError(.connectionUnavailable, "no hub for \(HubConnection.reconnectTime) ms")
        fail(at: index, error, tell: .failed, now)
      }
    }
    answers.removeAll { $0.deadline <= now.uptime }
  }

  private func fetch(at index: Int, _ now: Moment) {
    incoming[index].isFetched = true
    let remaining = max(1, incoming[index].deadline - now.uptime)
    sendChecked(.fetch(incoming[index].continuation, milliseconds: remaining, receiver: nil), now)
  }

  private func receiving(on channel: Link.Channel) -> Int? {
    incoming.firstIndex { if case .receiving(channel) = $0.phase { true } else { false } }
  }

  /// did_fail is due; the origin is told with `outcome`, if it can know of the continuation.
  func fail(at index: Int, _ error: SegueError, tell outcome: Outcome?, _ now: Moment) {
    if case .receiving(let channel) = incoming[index].phase { connection.link?.reset(channel) }
    incoming[index].phase = .failed(error)
    incoming[index].document = []
    if let outcome, incoming[index].isFetched || outcome == .declined {
      tell(incoming[index].continuation, outcome, error, by: incoming[index].deadline, now)
    }
    // If will_continue is still due, `announced` sees to it.
    if incoming[index].isAnnounced { deliveries.append(.continuation(incoming[index].id)) }
  }

  func finish(at index: Int, _ outcome: Outcome, _ error: SegueError?, _ now: Moment) {
    let continuation = incoming.remove(at: index)
    // What it brought may be saved from now on (R4.2).
    if let offered = current, source.continuation(of: offered.id) == continuation.id { scheduleSave(now) }
    tell(continuation.continuation, outcome, error, by: continuation.deadline, now)
  }

  /// Tells the origin how it ended, again with each new hub until it has noted it.
  private func tell(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, by deadline: Int64, _ now: Moment
  ) {
    let answer = Answer(
      continuation: continuation, outcome: outcome, error: error,
      deadline: max(deadline, now.uptime + HubConnection.reconnectTime))
    answers.append(answer)
    if connection.isWelcome { sendChecked(answer.message, now) }
  }
}
