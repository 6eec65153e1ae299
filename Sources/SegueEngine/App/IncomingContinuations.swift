// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Continuations of which this app is the receiver. Invariant: at most one is in progress.
final class IncomingContinuations: AppFeature, ChannelReader {
  let app: AppContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let outcomes: PendingOutcomes
  private let fetches: StateFetches
  var continuations: [IncomingContinuation] = []
  /// Finished continuations, until `takeFinished`.
  var finished: [Identifier] = []
  /// Whether the host takes continuations that wait for it at the agent.
  private var acceptsDeliveries = false
  /// A delivery that waits for the end of another continuation.
  private var waiting: IncomingContinuation?

  init(_ app: AppContext, _ hub: HubConnection, _ seen: SeenOffers, _ outcomes: PendingOutcomes) {
    self.app = app
    self.hub = hub
    self.seen = seen
    self.outcomes = outcomes
    fetches = StateFetches(hub)
  }

  // MARK: For the app

  func begin(_ offer: Offer, id: Identifier, timeout: Int64?, _ now: Instant) {
    // A delivery that waits for the end of the former continuation waits for that of this one, too (R3.3).
    let delivery = waiting
    waiting = nil
    for continuation in continuations where continuation.endsWithNext {
      cancel(continuation.id, SegueError(.userCancelled, "another continuation of this app took its place"), now)
    }
    let continuation = Message.Continuation(id: id, origin: offer.origin, activity: offer.description.id)
    continuations.append(
      IncomingContinuation(
        id, continuation, .offer(offer), deadline: now.uptime + (timeout ?? app.limits.continuation)))
    waiting = delivery
    app.deliver(.continuation(id))
  }

  /// The host takes deliveries from now on, or no more: once it has a handler (R3.8).
  func setAcceptsDeliveries(_ accepts: Bool) {
    guard accepts != acceptsDeliveries else { return }
    acceptsDeliveries = accepts
    reportAcceptance()
    guard !accepts, let delivery = waiting else { return }
    waiting = nil
    giveBack(delivery.continuation)
  }

  /// A delivery that has not begun waits at the agent again: the host takes none at present.
  private func giveBack(_ delivery: Message.Continuation) {
    outcomes.report(delivery, .failed, SegueError(.busy, "the app takes nothing that waits"), by: nil, nil)
  }

  private func reportAcceptance() {
    if hub.isWelcome, hub.agent != nil { hub.send(.accepts(acceptsDeliveries)) }
  }

  /// The agent delivers a continuation that has waited for this app. One that the app has, or has answered, does not
  /// begin again.
  func receiveDelivery(_ delivery: Message.DeliverRequest, _ now: Instant) {
    let id = delivery.continuation
    guard index(of: id) == nil, waiting?.id != id, !outcomes.repeats(id.ofDelivery, now) else { return }
    let description = delivery.offer.description.expiring(delivery.timing.expirationDate(now: now))
    let offer = Offer(
      description: description, origin: delivery.offer.origin, appName: delivery.offer.appName,
      bundleIdentifier: delivery.offer.bundleIdentifier, deviceName: delivery.offer.deviceName, rank: 0,
      activatedAt: now.uptime - delivery.timing.age)
    let continuation = Message.Continuation(id: id.ofDelivery, origin: offer.origin, activity: description.id)
    guard acceptsDeliveries else { return giveBack(continuation) }
    waiting = IncomingContinuation(
      id, continuation, .offer(offer), deadline: now.uptime + delivery.milliseconds,
      isRedelivered: delivery.isRedelivered, activationToken: delivery.activationToken)
    beginWaiting()
  }

  /// Begins the waiting delivery, unless that would cancel a continuation that the user has begun.
  private func beginWaiting() {
    guard let delivery = waiting, continuations.allSatisfy({ $0.isOver || $0.own != nil }) else { return }
    waiting = nil
    continuations.append(delivery)
    app.deliver(.continuation(delivery.id))
  }

  /// The offer of a continuation that the agent delivers; nil for others.
  func deliveredOffer(of id: Identifier) -> Offer? {
    guard let index = index(of: id), continuations[index].isDelivery,
      case .offer(let offer) = continuations[index].subject
    else { return nil }
    return offer
  }

  /// Whether the state of an activity of this app is coming back.
  func isResumingBack(_ activity: Identifier) -> Bool { continuations.contains { $0.own == activity && !$0.isOver } }

  /// Fetches the state of an activity of this app from the app that has continued it (R3.10).
  func resumeBack(
    _ activity: Identifier, type: String, from grant: ActivityGrant, id: Identifier, timeout: Int64?, _ now: Instant
  ) {
    let continuation = Message.Continuation(id: id, origin: grant.app, activity: grant.continuation)
    continuations.append(
      IncomingContinuation(
        id, continuation, .own(activity, type: type, principal: grant.principal),
        deadline: now.uptime + (timeout ?? app.limits.continuation), isAnnounced: true))
    beginFetching(at: continuations.count - 1, now)
  }

  func step(_ id: Identifier) -> ContinuationStep? {
    guard let index = index(of: id) else { return nil }
    guard continuations[index].isAnnounced else {
      continuations[index].isAnnounced = true
      guard case .offer(let offer) = continuations[index].subject else { return nil }
      return .willContinue(offer)
    }
    switch continuations[index].phase {
    case .asking(let state, let isStale, let comparison, isAnnounced: false, let until):
      guard let own = continuations[index].own else { return nil }
      let told = OriginComparison(
        hasChanged: hasChanged(own, since: comparison), changeCount: comparison.changeCount)
      continuations[index].phase = .asking(state, isStale: isStale, told, isAnnounced: true, until: until)
      return .willResumeBack(own, hasChanged: told.hasChanged)
    case .agreed(let state, let isStale, _):
      guard let own = continuations[index].own else { return nil }
      continuations[index].phase = .continued
      return .resumedBack(ResumedState(own, state, isStale: isStale))
    case .arrived(let activity, let isStale):
      guard case .offer(let offer) = continuations[index].subject else { return nil }
      continuations[index].phase = .continued
      beginWaiting()
      let from = ContinuedFrom(
        continuation: id, wireName: continuations[index].continuation.id, offer: offer, isStale: isStale,
        staleReason: continuations[index].staleReason, isRedelivered: continuations[index].isRedelivered ?? false,
        documentURL: continuations[index].documentURL, activationToken: continuations[index].activationToken)
      return .continue(activity, from)
    case .failed(let error): return .didFail(type: continuations.remove(at: index).type, error)
    case .unrestored(let error):
      finished.append(continuations[index].id)
      return .openingFailed(type: continuations.remove(at: index).type, error)
    case .announcing, .fetching, .comparing, .asking, .continued, .opening, .restoring: return nil
    }
  }

  func announced(_ id: Identifier, decline reason: String?, _ now: Instant) {
    guard let index = index(of: id) else { return }
    if case .failed = continuations[index].phase { return app.deliver(.continuation(id)) }
    guard case .announcing = continuations[index].phase else { return }
    if let reason {
      return fail(at: index, SegueError(.declined, DiagnosticText(of: reason)), report: .declined, now)
    }
    // A host may hold an offer too long; the receiver enforces its date, too (A18).
    guard case .offer(let given) = continuations[index].subject else { return }
    let offer = seen.list[given.description.id] ?? given
    if let date = offer.description.expirationDate, date <= now.date {
      return fail(at: index, SegueError(.handoffFailed, "the offer has expired"), report: nil, now)
    }
    beginFetching(at: index, now)
  }

  private func beginFetching(at index: Int, _ now: Instant) {
    continuations[index].phase = .fetching
    let continuation = continuations[index]
    var source = StateFetch.Source.origin
    if case .own(_, _, let principal) = continuation.subject { source = .keeper(principal: principal) }
    fetches.begin(continuation.continuation, from: source, deadline: continuation.deadline, now)
  }

  func cancel(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    guard let index = index(of: id) else { return }
    switch continuations[index].phase {
    case .continued where continuations[index].own == nil, .opening: failToRestore(at: index, error, now)
    default: if !continuations[index].isOver { fail(at: index, error, report: .failed, now) }
    }
  }

  /// An activity of this app was invalidated: its state need not come back.
  func abandon(_ activity: Identifier, _ now: Instant) {
    for continuation in continuations where continuation.own == activity {
      cancel(continuation.id, SegueError(.invalidated, "the activity was invalidated"), now)
    }
  }

  func progress(of id: Identifier) -> (received: Int, total: Int)? {
    guard let index = index(of: id) else { return nil }
    guard let fetch = fetches[continuations[index].continuation.id] else { return continuations[index].progress }
    return (fetch.document.count, fetch.size)
  }

  // MARK: For other features

  /// Whether the app has not answered it yet.
  func contains(_ id: Identifier) -> Bool { index(of: id) != nil }

  /// Continuations for which `contains` has become false since the last call.
  func takeFinished() -> [Identifier] {
    defer { finished = [] }
    return finished
  }

  // MARK: Messages

  /// The origin sends the document on a channel.
  func receiveState(
    _ id: Identifier, channel: FramedConnection.Channel, size: UInt64, isStale: Bool, why: String, _ now: Instant
  ) throws(SegueError) {
    end(try fetches.receiveState(id, channel: channel, size: size, isStale: isStale, why: why), now)
  }

  func receiveOriginFolders(_ id: Identifier, _ text: [UInt8]) { fetches.receiveOriginFolders(id, text) }

  func hasChannel(_ channel: FramedConnection.Channel) -> Bool { fetches.hasChannel(channel) }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, _ now: Instant) {
    end(fetches.received(bytes, on: channel), now)
  }

  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant) { end(fetches.receivedEnd(of: channel), now) }

  func receivedReset(of channel: FramedConnection.Channel, _ now: Instant) {
    end(fetches.receivedReset(of: channel), now)
  }

  private func end(_ fetch: StateFetch?, _ now: Instant) {
    guard let fetch, let index = index(of: fetch.id) else { return }
    note(fetch, at: index)
    if let error = fetch.error { return fail(at: index, error, report: .failed, now) }
    do throws(SegueError) {
      let references = ReferenceReader(app.owner.containers, OriginFolders(fetch.originFolders))
      // The URLs of this device may make it larger than it travelled, up to the limit of this app.
      let userInfoLimit = max(app.limits.userInfo, fetch.document.count)
      let activity = try ActivityDocument.decode(fetch.document, references, userInfoLimit: userInfoLimit)
      // An activity of this app keeps its type (R3.10).
      let declared = continuations[index].own == nil ? app.identity.types : []
      if let error = activity.rejection(toType: continuations[index].type, declared: declared) {
        return fail(at: index, error, report: .failed, now)
      }
      // A continuation that waited at the agent was checked there.
      if case .offer(let offer) = continuations[index].subject, !continuations[index].isDelivery,
        let error = activity.rejection(to: offer.description, at: now.date)
      {
        return fail(at: index, error, report: .failed, now)
      }
      for missing in references.missing {
        app.log(.info, "\(activity.type) names files of the container \"\(missing)\", which this app lacks")
      }
      guard continuations[index].own == nil else {
        continuations[index].phase = .comparing(activity, isStale: fetch.isStale, isSaving: false)
        return
      }
      continuations[index].documentURL = references.documentURL(of: activity)
      continuations[index].phase = .arrived(activity, isStale: fetch.isStale)
      app.deliver(.continuation(continuations[index].id))
    } catch {
      let status = error.status == .userInfoTooLarge ? error.status : .handoffFailed
      let error = SegueError(status, "the origin's activity cannot be read: \(error.message)")
      fail(at: index, error, report: .failed, now)
    }
  }

  private func note(_ fetch: StateFetch, at index: Int) {
    continuations[index].isFetched = fetch.wasSent
    continuations[index].progress = (fetch.document.count, fetch.size)
    continuations[index].staleReason = fetch.staleReason
  }

  func refused(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    guard let index = index(of: id), !continuations[index].isOver else { return }
    fail(at: index, error, report: nil, now)
  }

  /// The other app is gone.
  func peerLost(_ id: Identifier, _ now: Instant) {
    refused(id, SegueError(.connectionUnavailable, "the other app has ended"), now)
  }

  // MARK: Life cycle

  func connected(_ now: Instant) {
    if acceptsDeliveries { reportAcceptance() }
    fetches.connected(now)
  }

  func disconnected(_ now: Instant) { fetches.disconnected(now) }

  func tick(_ now: Instant) {
    while let fetch = fetches.tick(now) { end(fetch, now) }
    while let index = continuations.firstIndex(where: { $0.nextDeadline.map { $0 <= now.uptime } ?? false }) {
      if case .opening = continuations[index].phase {
        let error = SegueError(.remoteApplicationTimedOut, "open_document did not open the document in time")
        failToRestore(at: index, error, now)
      } else if continuations[index].isAwaited {
        let error = SegueError(.remoteApplicationTimedOut, "the receiver's app did not answer in time")
        failToRestore(at: index, error, now)
      } else if case .asking(let state, let isStale, let comparison, _, let until) = continuations[index].phase,
        until <= now.uptime, now.uptime < continuations[index].deadline
      {
        // Also if the host does not dispatch: then it is not asked any longer.
        continuations[index].phase = .asking(state, isStale: isStale, comparison, isAnnounced: true, until: until)
        answerResumption(continuations[index].id, nil, now)
      } else {
        let error = SegueError(.remoteApplicationTimedOut, "not continued within its time")
        fail(at: index, error, report: .failed, now)
      }
    }
  }

  var nextDeadline: Int64? {
    var next = fetches.nextDeadline
    for index in continuations.indices { next = earlier(next, continuations[index].nextDeadline) }
    return next
  }

  func close(_ error: SegueError, _ now: Instant) {
    // Deliveries that come from now on go to the next process of the app.
    acceptsDeliveries = false
    waiting = nil
    for continuation in continuations {
      cancel(continuation.id, error, now)
      if continuation.isAwaited, let index = index(of: continuation.id) { failToRestore(at: index, error, now) }
    }
  }

  var isIdle: Bool { continuations.allSatisfy { $0.isOver } }

  var leak: StaticString? { continuations.isEmpty ? nil : "app: it keeps a continuation" }

  var brokenInvariant: StaticString? {
    continuations.count(where: { !$0.isOver && $0.own == nil }) > 1 ? "R3.3: two continuations at a time" : nil
  }

  // MARK: Steps

  func index(of id: Identifier) -> Int? { continuations.firstIndex { $0.id == id || $0.continuation.id == id } }

  /// did_fail is due; sends `outcome` to the origin, if that can know the continuation.
  func fail(at index: Int, _ error: SegueError, report outcome: Outcome?, _ now: Instant) {
    if let fetch = fetches.cancel(continuations[index].continuation.id, error) { note(fetch, at: index) }
    continuations[index].phase = .failed(error)
    let continuation = continuations[index]
    if let outcome, continuation.isDelivery ? error.status != .connectionUnavailable : isKnown(continuation, outcome) {
      report(continuation, outcome, error, now)
    }
    beginWaiting()
    // If will_continue is still due, `announced` handles this.
    if continuation.isAnnounced { app.deliver(.continuation(continuation.id)) }
  }

  /// Whether the origin knows of a failed continuation, or gets to know it.
  private func isKnown(_ continuation: IncomingContinuation, _ outcome: Outcome) -> Bool {
    continuation.isFetched || outcome == .declined
  }

  /// The agent waits for the outcome of a delivery as long as this app is open.
  func report(_ continuation: IncomingContinuation, _ outcome: Outcome, _ error: SegueError?, _ now: Instant) {
    outcomes.report(
      continuation.continuation, outcome, error, by: continuation.isDelivery ? nil : continuation.deadline, now)
  }
}
