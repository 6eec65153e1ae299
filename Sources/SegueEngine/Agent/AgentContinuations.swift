// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Continuations of which the agent is the receiver, on behalf of apps that do not run: from the question to the
/// origin's receipt (R3.8). Each is committed to the inbox before anything else happens.
final class AgentContinuations: AppFeature {
  /// The most requesters at a time, of one principal a quarter; and of one origin for one principal, a quarter of what
  /// an origin accepts of the agent.
  static let limit = 32
  static let principalLimit = limit / Principal.share
  static let originLimit = OutgoingContinuations.receiverLimit / Principal.share
  /// Milliseconds for an offer to come that its app pushes (R3.15).
  static let offerTime: Int64 = 1_000
  /// The most bytes of their documents.
  static let bytesLimit = 64 * 1024 * 1024

  private let agent: AgentContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let outcomes: PendingOutcomes
  private let deliveries: InboxDeliveries
  private let fetches: StateFetches
  private var starts: [AgentContinuation] = []
  /// Offers that have not come yet.
  private var awaited: [PendingOfferLookup] = []

  init(
    _ agent: AgentContext, _ hub: HubConnection, _ seen: SeenOffers, _ outcomes: PendingOutcomes,
    _ deliveries: InboxDeliveries
  ) {
    self.agent = agent
    self.hub = hub
    self.seen = seen
    self.outcomes = outcomes
    self.deliveries = deliveries
    fetches = StateFetches(hub)
  }

  // MARK: Asking and choosing

  func begin(_ request: AgentContinuationRequest, _ now: Instant) {
    if request.isPush, seen.list[request.activity] == nil, awaited.count < Self.limit {
      return awaited.append(PendingOfferLookup(purpose: .start(request), until: now.uptime + Self.offerTime))
    }
    startOrRefuse(request, now)
  }

  /// Tells the owner of an offer, once it is there.
  func look(for activity: Identifier, wanted: String?, _ number: UInt64, _ now: Instant) {
    let awaits = seen.list[activity] == nil && awaited.count < Self.limit
    let offer = PendingOfferLookup(
      purpose: .look(activity, wanted: wanted, number: number), until: now.uptime + Self.offerTime)
    if awaits { awaited.append(offer) } else { end(offer, now) }
  }

  /// An offer has come, which may be awaited.
  func offered(_ activity: Identifier, _ now: Instant) {
    while let index = awaited.firstIndex(where: { $0.activity == activity }) { end(awaited.remove(at: index), now) }
  }

  private func end(_ awaited: PendingOfferLookup, _ now: Instant) {
    switch awaited.purpose {
    case .start(let request): startOrRefuse(request, now)
    case .look(let activity, let wanted, let number):
      do throws(SegueError) {
        agent.owner.found(number, .success(try choice(for: activity, wanted: wanted)))
      } catch {
        agent.owner.found(number, .failure(error))
      }
    }
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
    if let index = awaited.firstIndex(where: { $0.number == number }) {
      awaited.remove(at: index)
      return agent.owner.answer(number, .failure(error))
    }
    guard let index = starts.firstIndex(where: { $0.has(number) }) else { return }
    if starts[index].requesters.count > 1 {
      starts[index].requesters.removeAll { $0.number == number }
      return agent.owner.answer(number, .failure(error))
    }
    switch starts[index].phase {
    case .looking: end(at: index, .failure(error))
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

  /// The question which app continues an offer. Throws NOT_FOUND, BUSY.
  func choice(for activity: Identifier, wanted: String? = nil) throws(SegueError) -> AppChoice {
    guard let offer = seen.list[activity] else {
      throw SegueError(.notFound, "continue: the activity is not offered")
    }
    guard let origin = agent.origins[activity] else {
      // Only the hub of the agent says it.
      throw SegueError(.busy, "continue: the agent does not carry the hub at present")
    }
    return AppChoice(
      offer: offer, team: origin.team, wanted: wanted, running: deliveries.identities,
      device: agent.origins.device(of: activity), retained: origin.retained)
  }

  private func start(_ request: AgentContinuationRequest, _ now: Instant) throws(SegueError) {
    let choice = try choice(for: request.activity, wanted: request.app)
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
    guard starts.reduce(0, { $0 + max(1, $1.requesters.count) }) < Self.limit else {
      throw SegueError(.limitExceeded, "continue: \(Self.limit) continuations are under way")
    }
    let (app, offer) = (try agent.owner.choose(choice), choice.offer)
    let former = starts.firstIndex { $0.isOf(offer, in: app) }
    if let principal { try check(principal, former == nil ? offer.origin : nil) }
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
    guard index(of: id) == nil else { throw SegueError(.busy, "continue: it is under way") }
    let start = AgentContinuation(
      requester, id, offer, in: app, beginning, leavesText: leavesText, usual: agent.limits.continuation, push, now)
    starts.append(start)
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
    guard let index = index(of: id) else { return }
    if case .kept = starts[index].phase {
      // It has expired, unless the disk does not say.
      if case .success(nil) = result { return gone(at: index, .failed, Self.expired, now) }
      return deliver(starts[index], now)
    }
    guard case .looking(let beginning) = starts[index].phase else { return }
    do throws(SegueError) {
      let former = try result.get()
      if let former, starts[index].app.form.startsProgram {
        // It was stored, and its program was not started: an agent has ended in between, or the disk has refused its
        // end. No process gets it, so it makes room for a new one.
        endUnopened(former, of: starts[index], Self.notStarted(starts[index].app), now)
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
      guard let index = self.index(of: start.id) else { return }
      if case .kept = starts[index].phase { return deliver(start, now) }
      switch beginning {
      case .fetch:
        starts[index].phase = .fetching
        fetches.begin(start.continuation, for: receiver(start.app), deadline: start.originDeadline, now)
      case .store(let document):
        guard starts[index].app.form.startsProgram else { return store(at: index, document, []) }
        let activity = try ActivityDocument.decode(document, ReferenceReader(.none), userInfoLimit: Limits.value)
        try take(activity, document, at: index, now)
      }
    } catch {
      end(at: index, .failure(error))
    }
  }

  /// Delivers an entry that is in the inbox, also again, or starts its app.
  private func deliver(_ start: AgentContinuation, _ now: Instant) {
    let wasOpen = deliveries.deliverAgain(
      start.id, to: start.app.bundleIdentifier, activationToken: start.activationToken, now)
    if !wasOpen { agent.owner.launch(start.app, for: start.id, start.launchNumber) }
  }

  /// Throws LIMIT_EXCEEDED if a principal would have too much under way. A saved activity has no origin to spare, and
  /// what is shared costs its origin nothing.
  /// - Parameter origin: nil: it is shared.
  private func check(_ principal: Principal, _ origin: Identifier?) throws(SegueError) {
    let count = starts.reduce(0) { $0 + $1.requesters.count { $0.principal == principal } }
    let ofOrigin =
      origin == agent.app.identity.id ? 0 : starts.count { $0.principal == principal && $0.offer.origin == origin }
    guard count < Self.principalLimit, ofOrigin < Self.originLimit else {
      throw SegueError(
        .limitExceeded,
        "continue: \(count) continuations of this process are under way, \(ofOrigin) of them of one origin")
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

  private func receiver(_ app: ChosenApp) -> Receiver {
    Receiver(
      id: agent.app.identity.id, deviceName: "", appName: app.name, bundleIdentifier: app.bundleIdentifier)
  }

  // MARK: Fetching

  /// The origin sends the document on a channel.
  func receiveState(
    _ id: Identifier, channel: FramedConnection.Channel, size: UInt64, isStale: Bool, why: String, _ now: Instant
  ) throws(SegueError) {
    let room = Self.bytesLimit - starts.reduce(0) { $0 + $1.size }
    end(try fetches.receiveState(id, channel: channel, size: size, isStale: isStale, why: why, room: room), now)
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
    guard let fetch, let index = index(of: fetch.id) else { return }
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
    let start = starts[index]
    let contents: Activity.PageContents
    switch start.app.form {
    case .activity: return collect(at: index, document, activity.attachments)
    case .page(let kept): contents = kept
    // The URL goes to the place that the state of another browser names (R12.6).
    case .argument: contents = Activity.isBrowsingWeb(start.offer.description.type) ? .browserState : .nothing
    case .document:
      // A file in a folder of the user is another one here.
      let here = try ActivityDocument.decode(
        document, ReferenceReader(agent.owner.folders, OriginFolders(start.originFolders)),
        userInfoLimit: Limits.value)
      let opened = try OpenedDocument(here, leavesText: start.leavesText)
      store(at: index, document, activity.attachments)
      return decideToShow(.document(opened), at: index, now)
    }
    let page = try activity.page(contents)
    // The app was chosen for a page of that site, and none else (R12.1).
    guard WebOrigin.isSame(page.webOrigin, start.offer.description.webOrigin) else {
      throw SegueError(.handoffFailed, "the page is of another site than was offered")
    }
    let description = OfferDescription(page, id: start.offer.description.id)
    store(at: index, try ActivityDocument.encode(page, .none), [], as: description)
    if start.app.form == .argument, let url = page.urlAtPlace { decideToShow(.page(url), at: index, now) }
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
    guard let index = index(of: id), case .collecting(let document, let attachments) = starts[index].phase else {
      return
    }
    store(
      at: index, document,
      attachments.map { attachment in found.first { Text.isSame($0.name, attachment.name) } ?? attachment })
  }

  /// The source that a request for a stream to the origin names; nil if the attachments are not being fetched.
  func source(of id: Identifier) -> ContinuedFrom? {
    guard let index = index(of: id), case .collecting = starts[index].phase else { return nil }
    return ContinuedFrom(
      continuation: id, offer: starts[index].offer, isStale: starts[index].isStale, isRedelivered: false,
      documentURL: nil)
  }

  /// No document comes: the origin or the hub says so, or the origin is gone.
  func refused(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    // Once the document is here, the origin is no longer needed.
    end(fetches.cancel(id, error), isReported: false, now)
  }

  // MARK: The inbox, and the launch

  /// The entry is in the inbox, or could not be stored.
  func put(_ id: Identifier, _ error: SegueError?, _ now: Instant) {
    guard let index = index(of: id) else { return }
    if let error { return fail(at: index, error, now) }
    starts[index].size = 0
    if case .showing = starts[index].phase { return }
    starts[index].phase = .kept
    let start = starts[index]
    let isOpen = deliveries.deliver(
      start.id, to: start.app.bundleIdentifier, activationToken: start.activationToken, now)
    if !isOpen { agent.owner.launch(start.app, for: start.id, start.launchNumber) }
  }

  // MARK: Pages and files that go to a program as an argument (R12.3, R13.7)

  /// Has the entry end, with the receipt `unknown`, as soon as it is stored and before the program is started: the disk
  /// does one after the other, so no process of the program gets it in between. It is opened once at most.
  private func decideToShow(_ shown: AgentContinuation.Shown, at index: Int, _ now: Instant) {
    starts[index].phase = .showing(shown)
    let entry = WaitingEntry(starts[index].id, isStale: starts[index].isStale)
    endUnopened(entry, of: starts[index], Self.unheard(starts[index].app), now)
  }

  private func endUnopened(
    _ entry: WaitingEntry, of start: AgentContinuation, _ error: SegueError, _ now: Instant
  ) {
    let receipt = Receipt(
      continuation: entry.continuation, receiver: receiver(start.app), outcome: .unknown, status: error.status,
      reason: InboxDeliveries.bounded(error.message), isStale: entry.isStale, date: now.date)
    agent.owner.perform(.acknowledge(entry.continuation, app: agent.app.identity.id, wasSent: true, receipt))
  }

  /// The entry of a page has ended; or it was gone before, or the disk has refused that.
  func decidedToShow(_ id: Identifier, _ result: Result<OwedReceipt?, SegueError>, _ now: Instant) {
    guard let index = index(of: id), case .showing(let shown) = starts[index].phase else {
      // One that was left from before.
      if case .success(let owed?) = result { report(owed, now) }
      return
    }
    let start = starts[index]
    do throws(SegueError) {
      guard try result.get() != nil else { return self.shown(id, Self.expired, now) }
      switch shown {
      case .page(let page): agent.owner.show(page, in: start.app, for: id, start.launchNumber)
      case .document(let document): agent.owner.open(document, with: start.app, for: id, start.launchNumber)
      }
    } catch {
      // The entry stays until somebody asks for it again.
      self.shown(
        id, .unknown, SegueError(error.status, "\(error.message); the \(start.app.form.noun) is not opened"), now)
    }
  }

  /// The program was started, or could not be.
  func shown(_ id: Identifier, _ error: SegueError?, _ now: Instant) {
    shown(id, error == nil ? .unknown : .failed, error, now)
  }

  private func shown(_ id: Identifier, _ outcome: Outcome, _ error: SegueError?, _ now: Instant) {
    guard let index = index(of: id), case .showing = starts[index].phase else { return }
    let start = starts[index]
    let unheard = Self.unheard(start.app)
    // Its origin does not learn which files this device has.
    let told = start.app.form == .document ? error.map { SegueError($0.status, "the file was not opened") } : error
    report(
      start.continuation, outcome, told ?? unheard, by: now.uptime + agent.limits.continuation, receiver(start.app), now
    )
    end(at: index, error.map { .failure($0) } ?? .success((.unknown, unheard)))
  }

  /// No one tells whether a program has opened what it was started with.
  private static func unheard(_ app: ChosenApp) -> SegueError {
    SegueError(
      .handoffFailed, "\(app.name) was started with the \(app.form.noun): nothing tells whether it has opened it")
  }

  /// The receipt of an entry that was stored, and whose program was not started.
  private static func notStarted(_ app: ChosenApp) -> SegueError {
    SegueError(
      .handoffFailed, "\(app.name) was not started with the \(app.form.noun), which was asked for once more")
  }

  /// The user has forgotten the entry.
  func removed(_ id: Identifier, _ now: Instant) {
    guard let index = index(of: id), case .kept = starts[index].phase else { return }
    gone(at: index, .declined, SegueError(.userCancelled, "the user has removed it from the inbox"), now)
  }

  /// The entry is not in the inbox any longer, and nobody has answered it.
  private func gone(at index: Int, _ outcome: Outcome, _ error: SegueError, _ now: Instant) {
    let id = starts[index].id
    deliveries.removed(id)
    // An app that has it may restore it all the same.
    let outcome = deliveries.isDelivering(id) ? .unknown : outcome
    answer(at: index, .success((outcome, error)))
    // The owner may have called back.
    if let index = self.index(of: id), starts[index].decision == nil { decide(outcome, error, at: index, now) }
  }

  /// The program of the app runs, or could not be started: the entry stays.
  func launched(_ id: Identifier, _ error: SegueError?, _ now: Instant) {
    guard let error else { return }
    agent.app.log(.error, "\(error.message); what it was to continue waits in the inbox")
    deliveries.launchFailed(for: id)
    guard let index = index(of: id) else { return }
    answer(at: index, .failure(SegueError(error.status, "\(error.message); the activity waits in the inbox")))
  }

  // MARK: The end

  /// The app has answered, and that is on the disk. Only the first receipt of a continuation goes to the origin.
  func acknowledged(_ owed: OwedReceipt, _ now: Instant) {
    report(owed, now)
    if let index = index(of: owed.receipt.continuation) { end(at: index, owed.receipt) }
  }

  private func end(at index: Int, _ receipt: Receipt) {
    let error = receipt.outcome == .restored ? nil : SegueError(receipt.status, DiagnosticText(of: receipt.reason))
    starts[index].isStale = receipt.isStale
    end(at: index, .success((receipt.outcome, error)))
  }

  /// The app has answered, and the origin has had another receipt before.
  func acknowledged(late receipt: Receipt) {
    guard let index = index(of: receipt.continuation), case .kept = starts[index].phase,
      Text.isSame(starts[index].app.bundleIdentifier, receipt.receiver.bundleIdentifier)
    else { return }
    end(at: index, receipt)
  }

  /// The receipt `unknown` is on the disk, or there was another before.
  func decided(_ id: Identifier, _ result: Result<Bool, SegueError>, _ now: Instant) {
    guard let index = index(of: id) else { return }
    let start = starts[index]
    let decision = start.decision ?? (.unknown, Self.late)
    // Without a disk the origin gets it all the same: it counts no second one.
    if (try? result.get()) ?? true {
      report(start.continuation, decision.outcome, decision.error, by: start.deadline, receiver(start.app), now)
    }
    guard start.requesters.isEmpty else {
      // These wait longer for the app.
      starts[index].decision = nil
      starts[index].deadline = start.requesters.reduce(0) { max($0, $1.deadline) }
      return
    }
    end(at: index, .success(decision))
  }

  /// Sends a receipt that was decided.
  func report(_ owed: OwedReceipt, _ now: Instant) {
    let receipt = owed.receipt
    let continuation = Message.Continuation(id: receipt.continuation, origin: owed.origin, activity: owed.activity)
    let error = receipt.outcome == .restored ? nil : SegueError(receipt.status, DiagnosticText(of: receipt.reason))
    report(
      continuation, receipt.outcome, error, by: now.uptime + agent.limits.continuation, receipt.receiver, now)
  }

  private func report(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, by deadline: Int64,
    _ receiver: Receiver, _ now: Instant
  ) {
    // No origin waits for the receipt of a saved activity (R8.3).
    guard continuation.origin != agent.app.identity.id else { return agent.owner.perform(.confirm(continuation.id)) }
    outcomes.report(continuation, outcome, error, by: deadline, receiver: receiver, now)
  }

  /// Its requester waits no longer, and the entry is not in the inbox yet.
  private static var slow: SegueError {
    SegueError(.remoteApplicationTimedOut, "not continued within its time")
  }

  private static var expired: SegueError {
    SegueError(.notFound, "what waited for the app has expired, and is no longer in the inbox")
  }

  private static var late: SegueError {
    SegueError(.remoteApplicationTimedOut, "the app has not answered yet; the activity waits for it")
  }

  private static func unopened(_ app: ChosenApp) -> SegueError {
    SegueError(
      .remoteApplicationTimedOut, "the \(app.form.noun) is not opened yet; it is once the disk has stored that")
  }

  /// Fails before the entry is in the inbox.
  private func fail(
    at index: Int, _ error: SegueError, as outcome: Outcome = .failed, isReported: Bool = true, _ now: Instant
  ) {
    let start = starts[index]
    _ = fetches.cancel(start.id, error)
    if case .collecting = start.phase { agent.owner.stopCollecting(start.id) }
    if isReported, start.decision == nil {
      report(start.continuation, outcome, error, by: start.deadline, receiver(start.app), now)
    }
    end(at: index, .failure(error))
  }

  private typealias Ending = Result<(outcome: Outcome, error: SegueError?), SegueError>

  private func end(at index: Int, _ ending: Ending) {
    // Removed first: the owner may call back.
    let start = starts.remove(at: index)
    for requester in start.requesters { answer(requester, of: start, ending) }
  }

  /// Answers all that wait.
  private func answer(at index: Int, _ ending: Ending) {
    let start = starts[index]
    starts[index].requesters = []
    for requester in start.requesters { answer(requester, of: start, ending) }
  }

  private func answer(_ requester: AgentContinuation.Requester, of start: AgentContinuation, _ ending: Ending) {
    let result = ending.map { end in
      AgentContinuationReport(
        continuation: start.id, app: start.app, isShared: requester.isShared, outcome: end.outcome, error: end.error,
        isStale: start.isStale, staleReason: start.staleReason)
    }
    agent.owner.answer(requester.number, result)
  }

  // MARK: Life cycle

  func connected(_ now: Instant) { fetches.connected(now) }

  func disconnected(_ now: Instant) { fetches.disconnected(now) }

  func tick(_ now: Instant) {
    while let fetch = fetches.tick(now) { end(fetch, now) }
    while let index = awaited.firstIndex(where: { $0.until <= now.uptime }) {
      end(awaited.remove(at: index), now)
    }
    while let (start, requester) = takeOverdue(now) {
      let late = start.app.form.startsProgram ? Self.unopened(start.app) : Self.late
      answer(requester, of: start, start.isStored ? .success(start.decision ?? (.unknown, late)) : .failure(Self.slow))
    }
    while let index = starts.firstIndex(where: { $0.nextDeadline.map { $0 <= now.uptime } ?? false }) {
      switch starts[index].phase {
      case .collecting:
        starts[index].isLate = true
        agent.owner.stopCollecting(starts[index].id)
      case .looking: end(at: index, .failure(Self.slow))
      case .fetching: fail(at: index, Self.slow, now)
      case .storing, .kept: decide(.unknown, Self.late, at: index, now)
      // It has no deadline: only its requesters have, and these are answered above.
      case .showing: return
      }
    }
  }

  /// Removes a requester whose time is up, and returns it with its continuation; nil for none.
  private func takeOverdue(_ now: Instant) -> (AgentContinuation, AgentContinuation.Requester)? {
    for index in starts.indices {
      if let requester = starts[index].takeOverdue(now) { return (starts[index], requester) }
    }
    return nil
  }

  /// The app has got it, and has failed to restore it. The entry is delivered again, so the outcome is unknown.
  func failed(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    guard let index = index(of: id), case .kept = starts[index].phase, starts[index].decision == nil else { return }
    let error = SegueError(error.status, "\(error.message); the activity waits for the app")
    answer(at: index, .success((.unknown, error)))
    if let index = self.index(of: id) { decide(.unknown, error, at: index, now) }
  }

  /// Decides the receipt without an answer of the app: it has not answered by the deadline, or has failed, or the entry
  /// has gone. The disk may take longer than the requesters wait.
  private func decide(_ outcome: Outcome, _ error: SegueError, at index: Int, _ now: Instant) {
    let start = starts[index]
    starts[index].decision = (outcome, error)
    agent.owner.perform(
      .decide(
        Receipt(
          continuation: start.id, receiver: receiver(start.app), outcome: outcome, status: error.status,
          reason: InboxDeliveries.bounded(error.message), isStale: start.isStale, date: now.date)))
  }

  var nextDeadline: Int64? {
    var next = awaited.reduce(fetches.nextDeadline) { earlier($0, $1.until) }
    for index in starts.indices { next = earlier(next, starts[index].nextDeadline) }
    return next
  }

  var leak: StaticString? { starts.isEmpty && awaited.isEmpty ? nil : "agent: it keeps a continuation" }

  private func index(of id: Identifier) -> Int? { starts.firstIndex { $0.id == id } }
}
