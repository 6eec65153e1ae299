// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueFleet

/// The inbox on the disk of an agent, as plain as possible: it outlives the agents that use it.
final class TestInbox {
  struct Entry {
    let record: InboxRecord
    var isDelivered = false
    var isAcknowledged = false
    var attempts = 0
    var crashes = 0
    /// The app that was the last to be sent the whole document.
    var sent: Identifier?
  }

  var entries: [Entry] = []
  /// The activities that apps have left (R2.5).
  private(set) var kept: [KeptRecord] = []
  private(set) var receipts: [Receipt] = []
  private var confirmed: Set<Identifier> = []
  /// The error of each change. Nil: the disk makes it.
  var failure: SegueError?
  /// Those of what apps leave next, before that.
  var keepFailures: [SegueError?] = []
  /// Whether the disk refuses to note what was sent.
  var refusesSent = false
  /// The most bytes of attachments of what an app leaves.
  var room = UInt64.max
  /// The error if that is too little.
  var roomFailure = SegueError(.limitExceeded, "the inbox is full")
  /// The error if it is asked what is kept. Nil: it answers.
  var loadFailure: SegueError?

  /// Those that wait, or are being delivered.
  var open: [Entry] { entries.filter { !$0.isAcknowledged } }

  /// The continuations whose receipts somebody waits for.
  var owed: [Identifier] { receipts.map { $0.continuation }.filter { !confirmed.contains($0) } }

  /// The date of the device is set: what is kept is as old as before.
  func follow(_ seconds: Double) throws {
    kept = try kept.map { each in
      try KeptRecord(
        each.activity, of: each.app, document: each.document, keptAt: each.keptAt + seconds,
        attachmentBytes: each.attachmentBytes, retained: each.retained,
        expirationDate: each.description.expirationDate, receipt: each.receipt)
    }
  }

  /// As after a restart.
  func restart() { for index in entries.indices { entries[index].isDelivered = false } }

  private func index(_ id: Identifier) -> Int? { entries.firstIndex { $0.record.continuation == id } }

  private func decide(_ receipt: Receipt) -> Bool {
    guard !receipts.contains(where: { $0.continuation == receipt.continuation }) else { return false }
    receipts.append(receipt)
    return true
  }

  /// Begins to deliver the next entry for an app.
  private func begin(_ bundle: String, except tried: [Identifier] = []) -> InboxItem? {
    let own = entries.indices.filter { entries[$0].record.app == bundle && !entries[$0].isAcknowledged }
    guard !own.contains(where: { entries[$0].isDelivered }),
      let next = own.first(where: { entries[$0].crashes < 3 && !tried.contains(entries[$0].record.continuation) })
    else { return nil }
    entries[next].isDelivered = true
    entries[next].attempts += 1
    let record = entries[next].record
    return InboxItem(
      continuation: record.continuation, offer: record.offer, isStale: record.isStale,
      isRedelivered: entries[next].attempts > 1, originFolders: record.originFolders)
  }

  func perform(_ request: InboxRequest) -> InboxReply? {
    switch request {
    case .open:
      return .opened(
        .success(
          receipts.compactMap { receipt in
            guard !confirmed.contains(receipt.continuation), let index = index(receipt.continuation) else { return nil }
            let offer = entries[index].record.offer
            return OwedReceipt(receipt: receipt, origin: offer.origin, activity: offer.description.id)
          }))
    case .share(let id, let activity, let origin, let app):
      let index = entries.firstIndex { entry in
        let offer = entry.record.offer
        return !entry.isAcknowledged && offer.description.id == activity && offer.origin == origin
          && entry.record.app == app
      }
      if let index { entries[index].crashes = 0 }
      return .shared(
        id, .success(index.map { WaitingEntry(entries[$0].record.continuation, isStale: entries[$0].record.isStale) }))
    case .put(let record, let begins):
      if let failure { return .put(record.continuation, .failure(failure)) }
      entries.append(Entry(record: record))
      return .put(record.continuation, .success(begins ? begin(record.app) : nil))
    case .begin(let app, let bundle, let tried):
      if let failure { return .begun(app: app, .failure(failure)) }
      return .begun(app: app, .success(begin(bundle, except: tried)))
    case .load(let id, let app):
      guard let index = index(id), !entries[index].isAcknowledged else {
        return .loaded(id, app: app, .failure(SegueError(.notFound, "dropped")))
      }
      return .loaded(id, app: app, .success(entries[index].record.document))
    case .sent(let id, let app):
      if let failure { return .refused(failure) }
      if refusesSent { return .refused(SegueError(.system, "the disk is full")) }
      if let index = index(id) { entries[index].sent = app }
      return nil
    case .end(let id, let end):
      if let failure { return .refused(failure) }
      guard let index = index(id), entries[index].isDelivered else { return nil }
      entries[index].isDelivered = false
      if end == .crashed { entries[index].crashes += 1 }
      if end == .untold { entries[index].attempts -= 1 }
      return nil
    case .acknowledge(let id, let app, let wasSent, let receipt):
      if let failure { return .acknowledged(id, app: app, .failure(failure)) }
      guard let index = index(id), !entries[index].isAcknowledged else {
        return .acknowledged(id, app: app, .success(nil))
      }
      if receipt.outcome == .restored, !wasSent, entries[index].sent != app { return .disbelieved(id, app: app) }
      entries[index].isAcknowledged = true
      let offer = entries[index].record.offer
      let owed = OwedReceipt(receipt: receipt, origin: offer.origin, activity: offer.description.id)
      return .acknowledged(id, app: app, .success(decide(receipt) ? owed : nil))
    case .decide(let receipt): return .decided(receipt.continuation, .success(decide(receipt)))
    case .confirm(let id):
      confirmed.insert(id)
      return nil
    case .loadKept: return .loadedKept(loadFailure.map { .failure($0) } ?? .success(kept))
    case .keep(let record):
      if let failure = keepFailures.isEmpty ? failure : keepFailures.removeFirst() {
        return .kept(record.activity, failure)
      }
      let size = record.attachments.reduce(0) { $0 + ($1.source == nil ? 0 : $1.size) }
      if size > room { return .kept(record.activity, roomFailure) }
      kept.removeAll { $0.activity == record.activity }
      kept.append(record)
      return .kept(record.activity, nil)
    case .withdraw(let id):
      if let failure { return .withdrawn(id, failure) }
      kept.removeAll { $0.activity == id }
      return .withdrawn(id, nil)
    case .settle(let id, let revision, let receipt):
      if let failure { return .settled(id, failure) }
      let index = kept.firstIndex { $0.activity == id && $0.retained?.revision == revision }
      if let index { kept[index].receipt = receipt }
      return .settled(id, nil)
    }
  }
}

/// The agent of a `World`.
final class TestAgent: AgentOwner, WorldParticipant {
  var folders = Containers()
  let process: FleetProcess
  private(set) var engine: AgentEngine!
  private var driver: AppDriver<AgentEngine>?
  private var connection: Connection?
  let inbox: TestInbox
  private unowned let world: World
  private let identity: AppIdentity
  /// The requests that the disk has not done yet.
  private(set) var requests: [InboxRequest] = []
  /// Whether the disk does nothing for now.
  var isStuck = false
  private(set) var launches: [String] = []
  /// The apps that have opened, also those that were lost for a moment.
  private(set) var openings: [String] = []
  /// The continuations for which an app was chosen, and the numbers of the questions.
  private(set) var begun: [(number: UInt64, continuation: Identifier, isShared: Bool)] = []
  /// The attachments that it was to fetch, and what it was to stop, before anybody has answered.
  var collections: [(continuation: Identifier, attachments: [SegueModel.Attachment])] = []
  private(set) var stopped: [Identifier] = []
  private(set) var streamAnswers: [SegueError?] = []
  /// Attachments that apps fetch.
  private(set) var served: [StreamRequest] = []
  /// Attachments that receivers fetch of what apps have left.
  private(set) var servedKept: [(request: StreamRequest, offer: KeptParticipant)] = []
  private(set) var answers: [Result<AgentContinuationReport, SegueError>] = []
  /// The app that fits.
  var app: ChosenApp? = ChosenApp(bundleIdentifier: "com.example.viewer", name: "viewer", types: [])
  private(set) var choices: [AppChoice] = []
  /// The activities that apps have saved for search, in the order in which they came, and the apps.
  private(set) var saved: [(app: String, record: SavedRecord)] = []
  /// The changes that apps have asked for, in a few words each.
  private(set) var changes: [String] = []
  /// Changes that the disk has not done yet.
  private var pendingChanges: [(number: UInt64, app: AppIdentity, change: SavedChange)] = []
  /// The error of each of these changes. Nil: the disk makes it.
  var changeFailure: SegueError?
  private var asked: UInt64 = 0
  /// The answers to requests that withdraw what apps have left. Nil: it is withdrawn.
  private(set) var withdrawals: [SegueError?] = []
  /// The connections of the offers that it makes for apps that have ended (R2.5).
  private(set) var kept: [KeptConnection] = []
  /// The lines of its log.
  private(set) var lines: [String] = []

  init(_ inbox: TestInbox, in world: World) {
    self.inbox = inbox
    self.world = world
    process = world.process("agent")
    identity = AppIdentity(
      secret: Identifier(high: 0xa6e, low: 1), bundleIdentifier: "org.segue.agent", name: "agent", team: "", types: [],
      isChooser: true)
    inbox.restart()
    engine = AgentEngine(identity: identity, limits: Limits(), owner: self)
  }

  var description: AgentDescription {
    AgentDescription(version: "1.2.3", capabilities: 5, participant: identity.id)
  }

  /// Takes part at the hub in its process.
  func connect(to hub: FleetHub) {
    let connection = world.device.connect(process, to: hub)
    self.connection = connection
    let driver = AppDriver(engine, in: process.directory)
    self.driver = driver
    driver.connected(ConnectionEnd(connection, 0, in: world.fleet), generation: hub.generation, world.now)
    for each in kept { each.connect(to: hub) }
    world.add(self)
  }

  func poll() -> Bool {
    var hasMoved = false
    while let connection, connection.isReadable(0) {
      driver?.receive(world.now)
      hasMoved = true
      if driver?.drain(world.now) != nil { self.connection = nil }
    }
    if !isStuck, !pendingChanges.isEmpty {
      hasMoved = true
      let (number, app, change) = pendingChanges.removeFirst()
      engine.changed(number, changeFailure.map { .failure($0) } ?? .success(apply(change, of: app.bundleIdentifier)))
    }
    if !isStuck, !requests.isEmpty {
      hasMoved = true
      let request = requests.removeFirst()
      if let reply = inbox.perform(request) { engine.stored(reply, of: request, world.now) }
    }
    _ = driver?.drain(world.now)
    for each in kept {
      if !each.isConnected, world.agent === self, let hub = world.device.hub { each.connect(to: hub) }
      if each.poll() { hasMoved = true }
    }
    kept.removeAll { $0.isOver }
    if let broken = engine.brokenInvariant { Issue.record("\(broken)") }
    return hasMoved
  }

  /// The next deadline of its engine, and of the offers that it makes for apps.
  var nextDeadline: Int64? {
    ([engine.nextDeadline] + kept.map { $0.participant.engine.nextDeadline }).compactMap { $0 }.min()
  }

  func tick() {
    for each in kept { each.participant.engine.tick(world.now) }
    engine.tick(world.now)
    #expect(engine.nextDeadline ?? .max > world.now.uptime, "what was due stays due: it would be busy for ever")
  }

  /// Not one after the other: a delivery has the name of its continuation but for the lowest bit.
  func drawIdentifier() -> Identifier? { Identifier(ofSecret: world.identifier()) }

  /// The results of its searches for an app.
  private(set) var found: [Result<AppChoice, SegueError>] = []
  func found(_ number: UInt64, _ result: Result<AppChoice, SegueError>) { found.append(result) }

  /// The offers that were over.
  private(set) var gone: [Identifier] = []
  func gone(_ activity: Identifier) { gone.append(activity) }

  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp {
    choices.append(choice)
    guard let app else { throw SegueError(.notFound, "no app fits") }
    return app
  }

  func collect(_ attachments: [SegueModel.Attachment], of continuation: Identifier, for principal: Identifier?) {
    collections.append((continuation, attachments))
  }
  func stopCollecting(_ continuation: Identifier) { stopped.append(continuation) }
  func streamAnswered(_ id: Identifier, _ error: SegueError?) { streamAnswers.append(error) }
  func serve(_ request: StreamRequest) { served.append(request) }
  func serve(_ request: StreamRequest, of offer: KeptParticipant) { servedKept.append((request, offer)) }
  func began(_ number: UInt64, _ continuation: Identifier, in app: ChosenApp, isShared: Bool) {
    begun.append((number, continuation, isShared))
  }
  /// The continuations for which apps were started, in their order.
  private(set) var launched: [Identifier] = []
  func launch(_ app: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    launches.append(app.bundleIdentifier)
    launched.append(continuation)
  }
  /// The pages with which the browser was started, and the continuations.
  private(set) var pages: [(url: String, continuation: Identifier)] = []
  func show(_ page: String, in browser: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    pages.append((page, continuation))
  }
  /// The documents with which programs were started, and the continuations.
  private(set) var documents: [(document: OpenedDocument, continuation: Identifier)] = []
  func open(_ document: OpenedDocument, with opener: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    documents.append((document, continuation))
  }
  func opened(_ app: AppIdentity) { openings.append(app.name) }
  func perform(_ request: InboxRequest) { requests.append(request) }
  func withdrawn(_ number: UInt64, _ error: SegueError?) { withdrawals.append(error) }

  /// The user withdraws what an app has left.
  func withdraw(_ activity: Identifier) {
    engine.withdraw(activity, for: takeNumber(), world.now)
    world.settle()
  }

  func change(_ change: SavedChange, of app: AppIdentity, principal: Identifier, _ number: UInt64) {
    switch change {
    case .save(let record): changes.append("save \(record.state.title ?? "")")
    case .delete(let names, let activities):
      changes.append("delete \((names + activities.map { _ in "activity" }).joined(separator: " "))")
    case .deleteAll: changes.append("delete all")
    }
    pendingChanges.append((number, app, change))
  }

  private func apply(_ change: SavedChange, of app: String) -> Int {
    let count = saved.count
    switch change {
    case .save(let record):
      saved.removeAll { $0.app == app && $0.record.activity == record.activity }
      saved.append((app, record))
      return 1
    case .deleteAll: saved.removeAll { $0.app == app }
    case .delete(let names, let activities):
      saved.removeAll {
        $0.app == app
          && (names.contains($0.record.state.persistentIdentifier ?? "") || activities.contains($0.record.activity))
      }
    }
    return count - saved.count
  }

  /// Whether the system refuses to connect what apps have left.
  var refusesJoins = false
  func join(_ offer: KeptParticipant) {
    guard !refusesJoins else { return engine.notJoined(offer, world.now) }
    kept.append(KeptConnection(offer, of: process, in: world))
  }
  func leave(_ offer: KeptParticipant) { kept.first { $0.participant === offer }?.isOver = true }
  func answer(_ number: UInt64, _ result: Result<AgentContinuationReport, SegueError>) { answers.append(result) }
  func log(_ severity: Severity, _ message: DiagnosticText) { lines.append(message.string) }

  func takeNumber() -> UInt64 {
    defer { asked += 1 }
    return asked
  }

  var outcomes: [Outcome?] { answers.map { try? $0.get().outcome } }
}

extension World {
  /// Somebody asks the agent to continue the frontmost offer that it sees.
  /// - Returns: the number of the question.
  @discardableResult
  func ask(
    _ agent: TestAgent, for activity: Identifier, timeout: Int64? = nil, principal: Principal? = nil,
    isPush: Bool = false, leavesText: Bool = false, activationToken: String? = nil
  ) -> UInt64 {
    let number = agent.takeNumber()
    agent.engine.continue(
      AgentContinuationRequest(
        number: number, activity: activity, timeout: timeout, principal: principal, isPush: isPush,
        leavesText: leavesText, activationToken: activationToken), now)
    settle()
    return number
  }
}
