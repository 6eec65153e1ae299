// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The agent as a participant on the socket of a hub: it fetches what an app that does not run is to continue, keeps it
/// until the app takes it, and reports to the origin (R3.8). No I/O, no clock, no randomness; what takes time is asked
/// of its owner.
///
/// Use it on one thread at a time. Its owner calls `tick` at `nextDeadline`.
public final class AgentEngine: HubParticipant {
  private let agent: AgentContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let outcomes: PendingOutcomes
  private let deliveries: InboxDeliveries
  private let starts: AgentContinuations
  private let savedChanges: SavedChanges
  private let kept: KeptOffers
  private let retained: RetainedOffers
  /// To origins, for attachments.
  private let streams: AppStreams
  /// All features. Invariant: each calls only those before it.
  private let features: [any AppFeature]

  public var identity: AppIdentity { agent.app.identity }

  /// - Parameter identity: a chooser, whose secret is the same after a restart, so that origins know it.
  public init(identity: AppIdentity, limits: Limits, owner: any AgentOwner) {
    agent = AgentContext(identity, limits, owner)
    hub = HubConnection(agent.app)
    seen = SeenOffers(agent.app)
    outcomes = PendingOutcomes(hub)
    deliveries = InboxDeliveries(agent, hub, seen)
    starts = AgentContinuations(agent, hub, seen, outcomes, deliveries)
    savedChanges = SavedChanges(agent, hub, deliveries)
    kept = KeptOffers(agent, hub, seen, deliveries)
    retained = RetainedOffers(agent, hub, seen, outcomes)
    streams = AppStreams(agent.app, hub, seen, ActivityGrants())
    features = [seen, outcomes, deliveries, starts, savedChanges, kept, retained, streams]
    owner.perform(.open)
    owner.perform(.loadKept)
  }

  // MARK: For its owner

  /// Continues an offer in an app that need not run. Answered once, by `AgentOwner.answer`.
  public func `continue`(_ request: AgentContinuationRequest, _ now: Instant) { starts.begin(request, now) }

  /// Looks for an offer that may just have been made, for 1 s. Answered once, by `AgentOwner.found`: also from inside
  /// this call.
  /// - Parameter wanted: the bundle identifier of the app that is to continue it; nil: whatever fits.
  public func look(for activity: Identifier, wanted: String?, _ number: UInt64, _ now: Instant) {
    starts.lookups.look(for: activity, wanted: wanted, number, now)
  }

  /// Cancels the question of this number. Its answer may still be delivered.
  public func abandon(_ number: UInt64, _ now: Instant) { starts.abandon(number, now) }

  /// Continues a saved activity in its app, which need not run (R8.3). Answered once, by `AgentOwner.answer`.
  public func open(_ request: SavedStartRequest, _ now: Instant) { starts.begin(request, now) }

  /// Reports the result of a change of saved activities: how many have changed, or the error. Answers
  /// `AgentOwner.change`.
  public func changed(_ number: UInt64, _ result: Result<Int, SegueError>) { savedChanges.changed(number, result) }

  /// The launch for that continuation has succeeded, or not.
  public func launched(_ continuation: Identifier, _ error: SegueError?, _ now: Instant) {
    starts.waiting.launched(continuation, error, now)
  }

  /// The browser was started with a page (`AgentOwner.show`), or could not be.
  public func shown(_ continuation: Identifier, _ error: SegueError?, _ now: Instant) {
    starts.programs.started(continuation, error, now)
  }

  /// Asks the origin of a continuation for a part of an attachment (`AgentOwner.collect`). Answered once, by
  /// `AgentOwner.streamAnswered`.
  /// - Parameter otherEnd: of the stream on which it comes.
  public func ask(
    _ id: Identifier, of continuation: Identifier, _ part: Message.AttachmentPart, otherEnd: PassedDescriptor,
    timeout: Int64, _ now: Instant
  ) {
    guard let from = starts.source(of: continuation) ?? retained.source(of: continuation) else {
      return agent.owner.streamAnswered(id, SegueError(.cancelled, "the continuation has ended"))
    }
    streams.ask(id, from, attachment: part, otherEnd: otherEnd, timeout: timeout, now)
  }

  /// The attachments that could be collected are here, each with a source: those of a continuation, or of an activity
  /// that an app has left.
  public func collected(_ continuation: Identifier, _ attachments: [Attachment], _ now: Instant) {
    if kept.collected(continuation, attachments, now) || retained.collected(continuation, attachments, now) { return }
    starts.collected(continuation, attachments)
  }

  /// The attachment that an app fetches is about to be sent, or cannot be.
  public func answer(_ request: StreamRequest, _ error: SegueError?) {
    hub.send(.streamAnswer(request.id, request.continuation, channel: 0, error))
  }

  /// The user has forgotten an entry, which is no longer on the disk: those that wait for its end are told.
  public func removed(_ continuation: Identifier, _ now: Instant) { starts.waiting.removed(continuation, now) }

  /// The user wants an entry to be delivered although its app has had it.
  public func retry(_ continuation: Identifier) { deliveries.retry(continuation) }

  /// The user withdraws what an app has left. Answered once, by `AgentOwner.withdrawn` with the same number: also from
  /// inside this call.
  public func withdraw(_ activity: Identifier, for number: UInt64, _ now: Instant) {
    kept.withdraw(activity, for: number, now)
  }

  /// An offer that was to be connected to the hub could not be: tried again later.
  public func notJoined(_ offer: KeptParticipant, _ now: Instant) {
    kept.notJoined(offer, now)
    retained.notJoined(offer, now)
  }

  // MARK: Retained offers (R14.5)

  /// Sets what a device wants to have retained here, in place of what it has wanted before: the rest is dropped.
  public func retain(_ wanted: [RetainedOrigin], for device: Identifier, _ now: Instant) {
    retained.want(wanted, for: device, now)
  }

  /// Sets the devices of the account, and those that are linked. What is retained for others is dropped.
  /// - Parameter name: of this device in the account; nil: it is in none.
  public func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?, _ now: Instant) {
    retained.setDevices(devices, linked: linked, name: name, now)
  }

  /// A receiver has continued what is retained, or has tried to (`AgentOwner.ended`).
  public func ended(_ receipt: Receipt, of offer: KeptParticipant, _ now: Instant) {
    retained.ended(receipt, of: offer, now)
  }

  /// Keeps a push of a linked device for another one (R3.15). Answered once, by `AgentOwner.pushKept`, also from inside
  /// this call.
  public func keepPush(_ push: RetainedOrigin, _ now: Instant) { retained.keep(push, now) }
  /// Drops pushes of a device that wait for others.
  public func dropPushes(_ ids: [Identifier], of device: Identifier, _ now: Instant) {
    retained.drop(ids, of: device, now)
  }
  /// The pushes of which their targets are to be told now: each is offered to its target.
  public var duePushes: [RetainedOrigin] { retained.pushes.due }
  /// The target of a push, by the identifier of its offer, is being told.
  public func toldPush(_ activity: Identifier) { retained.pushes.told(activity) }
  /// The target has chosen an app (nil), or says why it does not continue the activity, or has not answered.
  public func answeredPush(_ activity: Identifier, _ error: SegueError?, _ now: Instant) {
    retained.answered(activity, error, now)
  }

  /// The offers and pushes that are retained, the oldest first.
  public var retainedOffers: [KeptRecord] { retained.records }
  /// Why nothing is retained; nil: it is.
  public var retentionProblem: SegueError? { retained.problem }
  /// Why this device does not retain all that a device wants; nil: it does, or is about to.
  public func retentionProblem(of device: Identifier) -> SegueError? { retained.problem(of: device) }

  /// The offers of apps of this device, without those that are retained for others.
  public var ownOffers: [Offer] {
    seen.list.all.filter { offer in
      let id = offer.description.id
      return agent.origins.isOfThisDevice(id) && !offer.description.isPrivate && retained.origin(of: id) == nil
    }
  }

  /// The agent ends: all that waits is asked of the inbox, and no answer is awaited. Activities that apps have left are
  /// lost only if the disk has not said yet what it holds: it may hold one of another app.
  public func flush() {
    deliveries.flush()
    kept.flush()
    retained.flush()
  }

  /// The apps that are open on this device, as far as the hub of the agent says.
  public var runningApps: [AppIdentity] { deliveries.identities }

  /// The question which app continues an offer. NOT_FOUND, BUSY.
  public func choice(for activity: Identifier, wanted: String? = nil) -> Result<AppChoice, SegueError> {
    do throws(SegueError) {
      return .success(try starts.lookups.choice(for: activity, wanted: wanted))
    } catch { return .failure(error) }
  }

  /// The inbox has done what it was asked for.
  public func stored(_ reply: InboxReply, of request: InboxRequest, _ now: Instant) {
    switch reply {
    case .opened(.success(let receipts)): for receipt in receipts { starts.receipts.report(receipt, now) }
    case .shared(let id, let result): starts.shared(id, result, now)
    case .put(let id, .success(let item)):
      if let item, case .put(let record, _) = request { deliveries.add(item, for: record.app, now) }
      starts.put(id, nil, now)
    case .put(let id, .failure(let error)): starts.put(id, error, now)
    case .begun(let app, let result): deliveries.begun(app, result, of: request, now)
    case .loaded(let id, let app, let result): deliveries.loaded(id, by: app, result, now)
    case .acknowledged(let id, identity.id, let result): starts.programs.decided(id, result, now)
    case .acknowledged(_, let app, .success(let owed)):
      if case .acknowledge(_, _, _, let receipt) = request {
        deliveries.acknowledged(receipt, by: app, now)
        if owed == nil { starts.waiting.acknowledged(late: receipt) }
      }
      if let owed { starts.waiting.acknowledged(owed, now) }
    case .opened(.failure(let error)), .acknowledged(_, _, .failure(let error)), .refused(let error):
      deliveries.refused(request, error, now)
    case .disbelieved(let id, let app): deliveries.disbelieved(id, by: app)
    case .decided(let id, let result): starts.waiting.decided(id, result, now)
    case .loadedKept(let result):
      kept.loaded(result.map { $0.filter { $0.retained == nil } }, now)
      retained.loaded(result.map { $0.filter { $0.retained != nil } }, now)
    case .kept(let id, let error), .withdrawn(let id, let error):
      if !retained.stored(id, error, now) { kept.stored(error, now) }
    case .settled(let id, let error): retained.settled(id, error, now)
    }
  }

  // MARK: Time

  public var nextDeadline: Int64? { features.reduce(hub.nextDeadline) { earlier($0, $1.nextDeadline) } }

  public func tick(_ now: Instant) {
    hub.tick(now)
    if hub.becomeReadyIfDue(now) { seen.becomeReady(now) }
    for feature in features { feature.tick(now) }
  }

  public var leak: StaticString? {
    for feature in features { if let leak = feature.leak { return leak } }
    return nil
  }

  public var brokenInvariant: StaticString? {
    for feature in features { if let broken = feature.brokenInvariant { return broken } }
    return nil
  }

  // MARK: The hub

  public var link: FramedConnection? { hub.link }
  public var isReady: Bool { hub.isReady }
  public var hubGeneration: UInt64? { hub.isWelcome ? hub.generation : nil }
  public var hubAgent: AgentDescription? { hub.isWelcome ? hub.agent : nil }
  public func takeFault() -> HubFault? { hub.takeFault() }
  public func waitForHub(_ now: Instant) { hub.waitLonger(now) }
  public func connected(_ now: Instant) { hub.open(now) }

  public func disconnected(_ now: Instant) {
    guard hub.link != nil else { return }
    hub.reset()
    for feature in features { feature.disconnected(now) }
  }

  public func receive(_ bytes: consuming [UInt8], with descriptor: PassedDescriptor? = nil, _ now: Instant) {
    hub.receive(bytes, with: descriptor, now) { (event, link) throws(SegueError) in try handle(event, of: link, now) }
  }

  private func handle(_ event: FramedConnection.Event, of link: FramedConnection, _ now: Instant) throws(SegueError) {
    switch event {
    case .message:
      let descriptor = link.takeDescriptor()
      guard let message = try link.takeMessage(Message.decode) else { return }
      guard !hub.isWelcome else { return try handle(message, descriptor, link, now) }
      if hub.receiveWelcome(message, now) { for feature in features { feature.connected(now) } }
    case .data(let channel, let bytes):
      link.grant(bytes.count, to: channel)
      starts.received(bytes, on: channel, now)
      retained.received(bytes, on: channel, now)
      savedChanges.received(bytes, on: channel)
      kept.received(bytes, on: channel, now)
    case .end(let channel, _):
      starts.receivedEnd(of: channel, now)
      retained.receivedEnd(of: channel, now)
      savedChanges.receivedEnd(of: channel, now)
      kept.receivedEnd(of: channel, now)
    case .reset(let channel):
      kept.receivedReset(of: channel)
      starts.receivedReset(of: channel, now)
      retained.receivedReset(of: channel, now)
      savedChanges.receivedReset(of: channel)
      deliveries.documents.receivedReset(of: channel)
    case .credit(let channel, _): deliveries.documents.pump(channel)
    case .relay: throw SegueError(.malformed, "a frame of a relay came from the hub")
    }
  }

  private func handle(
    _ message: Message, _ descriptor: PassedDescriptor?, _ link: FramedConnection, _ now: Instant
  ) throws(SegueError) {
    switch message {
    case .goodbye(let error): hub.report(.refused(error))
    case .ping(let number): hub.send(.pong(number), isUrgent: true)
    case .pong: hub.answered(now)
    case .offer(let offer, let timing, let origin):
      agent.origins[offer.description.id] = origin
      hub.heardOffer(now)
      seen.put(offer, timing, now)
      starts.offered(offer.description.id, now)
      kept.note(offer.description.id, of: offer.origin)
      kept.review(now)
      retained.review(now)
      if agent.origins.isOfThisDevice(offer.description.id) { agent.owner.noteRetention() }
    case .gone(let id, _):
      let isOwn = agent.origins.isOfThisDevice(id)
      seen.remove(id)
      kept.review(now)
      if isOwn { agent.owner.noteRetention() }
    case .ready(let settling): if hub.receiveReady(settling: settling, now) { seen.becomeReady(now) }
    case .present(let app, let accepts, let principal):
      deliveries.present(app, accepts: accepts, of: principal, now)
      kept.note(of: app.id)
      kept.review(now)
    case .absent(let id):
      deliveries.absent(id, now)
      kept.review(now)
    case .keep(let id, let app, let channel, let size):
      // Another device's, which it has seen here.
      guard retained.origin(of: id) == nil else {
        if channel != 0 {
          try link.accept(channel)
          link.reset(channel)
        }
        return
      }
      try kept.receive(id, by: app, channel: channel, size: size, now)
    case .keepAttachment(let channel, let name, let changed):
      kept.receiveAttachment(name, changed: changed, of: channel, descriptor)
    case .originFolders(let id, _, let text): starts.receiveOriginFolders(id, text)
    case .state(let id, _, let channel, let size, let isStale, let why):
      if retained.isPulling(id) {
        try retained.receiveState(id, channel: channel, size: size, isStale: isStale, why: why, now)
      } else {
        try starts.receiveState(id, channel: channel, size: size, isStale: isStale, why: why, now)
      }
    case .refused(let id, _, let error):
      if !retained.refused(id, error, now) { starts.refused(id, error, now) }
    case .peerLost(let id):
      let error = SegueError(.connectionUnavailable, "the origin has ended")
      if !deliveries.peerLost(id), !retained.refused(id, error, now) { starts.refused(id, error, now) }
    case .outcomeAck(let id, _): if outcomes.acknowledged(id) { agent.owner.perform(.confirm(id)) }
    case .fetch(let continuation, _, let receiver, _, _, _):
      if let receiver { deliveries.documents.fetched(continuation.id, by: receiver.id, now) }
    case .outcome(let continuation, let outcome, let error, let receiver):
      if let receiver, let failed = deliveries.answered(continuation.id, outcome, error, by: receiver, now), let error {
        starts.waiting.failed(failed, error, now)
      }
    case .stream(let id, let continuation, let app, _, let attachment):
      serve(
        StreamRequest(
          id: id, continuation: continuation, app: app, principal: app, crossesLink: false, attachment: attachment,
          descriptor: descriptor ?? PassedDescriptor(isLost: true)))
    case .streamAnswer(let id, _, let channel, let error):
      streams.receiveAnswer(id, crossesLink: channel != 0, error, now)
    case .request(let number, let continuation, let app, let milliseconds, let channel, let size)
    where savedChanges.isMeant(continuation):
      try savedChanges.receive(
        number, continuation, from: app, milliseconds: milliseconds, channel: channel, size: size, now)
    case .request(let number, let continuation, let app, _, let channel, _):
      if channel != 0 {
        try link.accept(channel)
        link.reset(channel)
      }
      hub.send(.response(number, continuation, to: app, channel: 0, size: 0, Self.originOnly))
    default: break
    }
  }

  private func serve(_ request: StreamRequest) {
    if request.attachment == nil { return answer(request, Self.originOnly) }
    if request.descriptor.isLost {
      return answer(request, SegueError(.limitExceeded, "the agent may open no more descriptors"))
    }
    guard deliveries.documents.has(request.continuationID, request.app) else {
      return answer(
        request,
        SegueError(.notFound, "the app has answered: attachments of what has waited are fetched before that"))
    }
    agent.owner.serve(request)
  }

  /// The agent has the activity with its attachments, and nothing else of its origin.
  private static var originOnly: SegueError {
    SegueError(.connectionUnavailable, "the activity waited in the inbox: its origin is no longer connected to it")
  }
}
