// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Continuations of which the agent is the receiver, on behalf of apps that do not run: from the question to the
/// origin's receipt (R3.8). Each is committed to the inbox before anything else happens.
final class AgentContinuations: AppFeature {
  private let agent: AgentContext
  private let hub: HubConnection
  private let deliveries: InboxDeliveries
  private let fetches: StateFetches
  private let starts: AgentContinuationTable
  let lookups: OfferLookups
  let receipts: AgentReceipts
  let programs: ProgramStarts
  let waiting: WaitingContinuations

  init(
    _ agent: AgentContext, _ hub: HubConnection, _ seen: SeenOffers, _ outcomes: PendingOutcomes,
    _ deliveries: InboxDeliveries
  ) {
    self.agent = agent
    self.hub = hub
    self.deliveries = deliveries
    fetches = StateFetches(hub)
    starts = AgentContinuationTable(agent)
    lookups = OfferLookups(agent, seen, deliveries)
    receipts = AgentReceipts(agent, outcomes)
    programs = ProgramStarts(agent, starts, receipts)
    waiting = WaitingContinuations(agent, deliveries, starts, receipts)
  }

  // MARK: Asking and choosing

  func begin(_ request: AgentContinuationRequest, _ now: Instant) {
    if lookups.awaits(request, now) { return }
    startOrRefuse(request, now)
  }

  /// An offer has come, which may be awaited.
  func offered(_ activity: Identifier, _ now: Instant) {
    while let push = lookups.takeOffered(activity) { startOrRefuse(push, now) }
  }

  private func startOrRefuse(_ request: AgentContinuationRequest, _ now: Instant) {
    do throws(SegueError) {
      try start(request, now)
    } catch {
      agent.owner.answer(request.number, .failure(error))
    }
  }

  /// A requester waits no longer. The last one cancels a start that is not in the inbox yet; an entry of one that is
  /// keeps the default deadline.
  func abandon(_ number: UInt64, _ now: Instant) {
    let error = SegueError(.userCancelled, "the app that asked for it has ended")
    if lookups.abandon(number) { return agent.owner.answer(number, .failure(error)) }
    guard let index = starts.index(asking: number) else { return }
    if starts[index].requesters.count > 1 {
      starts[index].requesters.removeAll { $0.number == number }
      return agent.owner.answer(number, .failure(error))
    }
    switch starts[index].phase {
    case .looking: starts.end(at: index, .failure(error))
    case .fetching, .collecting: fail(at: index, error, now)
    case .storing, .kept, .showing:
      let usual = starts[index].begun + agent.limits.continuation
      starts[index].deadline = min(starts[index].deadline, max(now.uptime, usual))
    }
  }

  /// Continues a saved activity, of which the agent is the origin (R8.3): nothing is fetched.
  func begin(_ request: SavedStartRequest, _ now: Instant) {
    do throws(SegueError) {
      let record = request.record
      let offer = Offer(
        description: OfferDescription(record.state, id: record.activity), origin: agent.app.identity.id,
        appName: request.appName, bundleIdentifier: request.app, deviceName: hub.deviceName, rank: 0, activatedAt: 0)
      let choice = AppChoice(
        offer: offer, team: request.team, wanted: request.app, running: deliveries.identities, device: nil)
      try share(
        choice, number: request.number, request.principal, timeout: request.timeout, .store(record.document),
        leavesText: false, request.activationToken, nil, now)
    } catch {
      agent.owner.answer(request.number, .failure(error))
    }
  }

  private func start(_ request: AgentContinuationRequest, _ now: Instant) throws(SegueError) {
    let choice = try lookups.choice(for: request.activity, wanted: request.app)
    let offer = choice.offer
    if let date = offer.description.expirationDate, date <= now.date {
      throw SegueError(.handoffFailed, "continue: the offer has expired")
    }
    try share(
      choice, number: request.number, request.principal, timeout: request.timeout, .fetch,
      leavesText: request.leavesText, request.activationToken, request.retained, now)
  }

  /// Joins the requesters of the same offer for the same app; without any, looks for an entry of former ones (R3.8).
  /// - Parameter principal: of the requester; nil: the program of the agent itself.
  private func share(
    _ choice: AppChoice, number: UInt64, _ principal: Principal?, timeout: Int64?,
    _ beginning: AgentContinuation.Beginning, leavesText: Bool, _ activationToken: String?,
    _ push: PushMark?, _ now: Instant
  ) throws(SegueError) {
    try starts.checkRoom()
    let (app, offer) = (try agent.owner.choose(choice), choice.offer)
    let former = starts.index(of: offer, in: app)
    if let principal { try starts.check(principal, former == nil ? offer.origin : nil) }
    let requester = AgentContinuation.Requester(
      number: number, principal: principal, deadline: now.uptime + max(1, timeout ?? agent.limits.continuation),
      isShared: former != nil, activationToken: activationToken)
    if let former {
      if leavesText { starts[former].leavesText = true }
      return join(requester, at: former, now)
    }
    // A push has the same one whenever it is tried (R14.5).
    guard let id = push == nil ? agent.owner.drawIdentifier() : offer.description.id else {
      throw SegueError(.system, "continue: no random bytes")
    }
    guard starts.index(of: id) == nil else { throw SegueError(.busy, "continue: it is under way") }
    let start = AgentContinuation(
      requester, id, offer, in: app, beginning, leavesText: leavesText, usual: agent.limits.continuation, push, now)
    starts.add(start)
    look(for: start)
  }

  private func look(for start: AgentContinuation) {
    agent.owner.perform(
      .share(
        start.id, activity: start.offer.description.id, origin: start.offer.origin, app: start.app.bundleIdentifier))
  }

  private func join(_ requester: AgentContinuation.Requester, at index: Int, _ now: Instant) {
    starts[index].join(requester)
    let start = starts[index]
    if case .looking = start.phase { return }
    agent.owner.began(requester.number, start.id, in: start.app, isShared: true)
    if case .kept = start.phase { look(for: start) }
  }

  /// The inbox has been asked for an entry that waits.
  func shared(_ id: Identifier, _ result: Result<WaitingEntry?, SegueError>, _ now: Instant) {
    guard let index = starts.index(of: id) else { return }
    if case .kept = starts[index].phase {
      // It has expired, unless the disk does not say.
      if case .success(nil) = result { return waiting.gone(at: index, .failed, AgentContinuation.expired, now) }
      return waiting.deliver(starts[index], now)
    }
    guard case .looking(let beginning) = starts[index].phase else { return }
    do throws(SegueError) {
      let former = try result.get()
      if let former, starts[index].app.form.startsProgram {
        programs.end(former, at: index, now)
      } else if let former {
        (starts[index].id, starts[index].isStale) = (former.continuation, former.isStale)
        starts[index].phase = .kept
        for place in starts[index].requesters.indices { starts[index].requesters[place].isShared = true }
      }
      let start = starts[index]
      let (type, name) = (start.offer.description.type, start.app.name)
      let isWaiting = if case .kept = start.phase { true } else { false }
      agent.app.log(
        .info,
        !isWaiting
          ? "\(type) of \(start.offer.appName) is to be continued by \(name)" : "\(type) waits for \(name) already")
      for requester in start.requesters {
        agent.owner.began(requester.number, start.id, in: start.app, isShared: requester.isShared)
      }
      // The owner may have called back.
      guard let index = starts.index(of: start.id) else { return }
      if case .kept = starts[index].phase { return waiting.deliver(start, now) }
      switch beginning {
      case .fetch:
        starts[index].phase = .fetching
        fetches.begin(start.continuation, for: receipts.receiver(start.app), deadline: start.originDeadline, now)
      case .store(let document):
        guard starts[index].app.form.startsProgram else { return store(at: index, document, []) }
        let activity = try ActivityDocument.decode(document, ReferenceReader(.none), userInfoLimit: Limits.value)
        try take(activity, document, at: index, now)
      }
    } catch {
      starts.end(at: index, .failure(error))
    }
  }

  /// - Parameter description: of the page, if its app gets that alone.
  private func store(
    at index: Int, _ document: [UInt8], _ attachments: [Attachment], as description: OfferDescription? = nil
  ) {
    starts[index].phase = .storing
    starts[index].size = document.count
    let start = starts[index]
    let offer = description.map { start.offer.described($0) } ?? start.offer
    agent.owner.perform(
      .put(
        InboxRecord(
          continuation: start.id, app: start.app.bundleIdentifier, offer: offer, isStale: start.isStale,
          document: document, attachments: attachments, principal: start.principal?.id,
          // A page, and what goes to a program, names no container.
          originFolders: start.app.form == .activity ? start.originFolders : [], push: start.push),
        begins: !start.app.form.startsProgram && !deliveries.isOpen(start.app.bundleIdentifier)))
  }

  // MARK: Fetching

  /// The origin sends the document on a channel.
  func receiveState(
    _ id: Identifier, channel: FramedConnection.Channel, size: UInt64, isStale: Bool, why: String, _ now: Instant
  ) throws(SegueError) {
    end(
      try fetches.receiveState(id, channel: channel, size: size, isStale: isStale, why: why, room: starts.room), now)
  }

  func receiveOriginFolders(_ id: Identifier, _ text: [UInt8]) { fetches.receiveOriginFolders(id, text) }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, _ now: Instant) {
    end(fetches.received(bytes, on: channel), now)
  }

  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant) { end(fetches.receivedEnd(of: channel), now) }

  func receivedReset(of channel: FramedConnection.Channel, _ now: Instant) {
    end(fetches.receivedReset(of: channel), now)
  }

  private func end(_ fetch: StateFetch?, isReported: Bool = true, _ now: Instant) {
    guard let fetch, let index = starts.index(of: fetch.id) else { return }
    if let error = fetch.error { return fail(at: index, error, isReported: isReported, now) }
    do throws(SegueError) {
      let activity = try ActivityDocument.decode(
        fetch.document, ReferenceReader(.none), userInfoLimit: Limits.value)
      let start = starts[index]
      let error =
        activity.rejection(toType: start.offer.description.type, declared: start.app.types)
        ?? activity.rejection(to: start.offer.description, at: now.date)
      if let error { return fail(at: index, error, now) }
      (starts[index].isStale, starts[index].staleReason) = (fetch.isStale, fetch.staleReason)
      starts[index].originFolders = fetch.originFolders
      try take(activity, fetch.document, at: index, now)
    } catch {
      // A document that no program opens is no defect of the origin.
      if starts[index].app.form == .document {
        return fail(at: index, error, as: error.status == .notAllowed ? .declined : .failed, now)
      }
      fail(at: index, SegueError(.handoffFailed, "the origin's activity cannot be read: \(error.message)"), now)
    }
  }

  /// The activity is whole, in the form in which its origin sent it: the app gets it in its own form.
  private func take(
    _ activity: Activity, _ document: [UInt8], at index: Int, _ now: Instant
  ) throws(SegueError) {
    switch try AppPayload.of(activity, document, for: starts[index], folders: agent.owner.folders) {
    case .activity: collect(at: index, document, activity.attachments)
    case .page(let page, let description, let url):
      store(at: index, page, [], as: description)
      if let url { programs.begin(.page(url), at: index, now) }
    case .document(let opened):
      store(at: index, document, activity.attachments)
      programs.begin(.document(opened), at: index, now)
    }
  }

  /// Fetches the attachments that the inbox may store, in their order; larger ones stay with the origin.
  private func collect(at index: Int, _ document: [UInt8], _ attachments: [Attachment]) {
    var room = UInt64(Limits.storedAttachments)
    let start = starts[index]
    let wanted = attachments.filter { attachment in
      guard attachment.size <= room else {
        agent.app.log(.info, "\(attachment.name) is too large for the inbox: it stays with \(start.offer.appName)")
        return false
      }
      room -= attachment.size
      return true
    }
    guard !wanted.isEmpty else { return store(at: index, document, attachments) }
    starts[index].phase = .collecting(document, attachments)
    starts[index].size = document.count
    agent.owner.collect(wanted, of: start.id, for: start.principal?.id)
  }

  /// As many attachments as could be fetched are here. The others stay with the origin.
  func collected(_ id: Identifier, _ found: [Attachment]) {
    guard let index = starts.index(of: id), case .collecting(let document, let attachments) = starts[index].phase else {
      return
    }
    store(
      at: index, document,
      attachments.map { attachment in found.first { Text.isSame($0.name, attachment.name) } ?? attachment })
  }

  /// The source that a request for a stream to the origin names; nil if the attachments are not being fetched.
  func source(of id: Identifier) -> ContinuedFrom? {
    guard let index = starts.index(of: id), case .collecting = starts[index].phase else { return nil }
    return ContinuedFrom(
      continuation: id, offer: starts[index].offer, isStale: starts[index].isStale, isRedelivered: false,
      documentURL: nil)
  }

  /// No document comes: the origin or the hub says so, or the origin is gone.
  func refused(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    // Once the document is here, the origin is no longer needed.
    end(fetches.cancel(id, error), isReported: false, now)
  }

  // MARK: The end

  /// The entry is in the inbox, or could not be stored.
  func put(_ id: Identifier, _ error: SegueError?, _ now: Instant) {
    guard let index = starts.index(of: id) else { return }
    if let error { return fail(at: index, error, now) }
    starts[index].size = 0
    if case .showing = starts[index].phase { return }
    waiting.begin(at: index, now)
  }

  /// Fails before the entry is in the inbox.
  private func fail(
    at index: Int, _ error: SegueError, as outcome: Outcome = .failed, isReported: Bool = true, _ now: Instant
  ) {
    let start = starts[index]
    _ = fetches.cancel(start.id, error)
    if case .collecting = start.phase { agent.owner.stopCollecting(start.id) }
    if isReported, start.decision == nil {
      receipts.report(start.continuation, outcome, error, by: start.deadline, receipts.receiver(start.app), now)
    }
    starts.end(at: index, .failure(error))
  }

  // MARK: Life cycle

  func connected(_ now: Instant) { fetches.connected(now) }

  func disconnected(_ now: Instant) { fetches.disconnected(now) }

  func tick(_ now: Instant) {
    while let fetch = fetches.tick(now) { end(fetch, now) }
    while let push = lookups.takeOverdue(now) { startOrRefuse(push, now) }
    while let (start, requester) = starts.takeOverdue(now) {
      let late = start.app.form.startsProgram ? AgentContinuation.unopened(start.app) : AgentContinuation.late
      starts.answer(
        requester, of: start,
        start.isStored ? .success(start.decision ?? (.unknown, late)) : .failure(AgentContinuation.slow))
    }
    while let index = starts.due(now) {
      switch starts[index].phase {
      case .collecting:
        starts[index].isLate = true
        agent.owner.stopCollecting(starts[index].id)
      case .looking: starts.end(at: index, .failure(AgentContinuation.slow))
      case .fetching: fail(at: index, AgentContinuation.slow, now)
      case .storing, .kept: waiting.decide(.unknown, AgentContinuation.late, at: index, now)
      // It has no deadline: only its requesters have, and these are answered above.
      case .showing: return
      }
    }
  }

  var nextDeadline: Int64? {
    earlier(earlier(lookups.nextDeadline, fetches.nextDeadline), starts.nextDeadline)
  }

  var leak: StaticString? { starts.isEmpty && lookups.isEmpty ? nil : "agent: it keeps a continuation" }
}
