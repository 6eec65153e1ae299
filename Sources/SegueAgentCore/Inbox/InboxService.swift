// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// Connects the agent's engine to the inbox, the launcher, the catalogue of apps and the control clients. No I/O. For
/// one thread.
public final class InboxService: RetainingInbox {
  /// The most withdrawals that wait for the disk.
  private static let withdrawalLimit = 256

  private enum State {
    case idle
    case open(Opened)
    case closed
  }

  /// The parts that are there between `open` and `close`.
  private struct Opened {
    let participant: any AgentParticipantHandle
    let transfers: AttachmentTransfers
  }

  private let environment: any AgentEnvironment
  private let launcher: any ProgramLauncher
  private let disk: any InboxExecutor
  private let hub: any AgentParticipation
  private let preferences: StoredPreferences
  private let change: (SavedChange, AppIdentity, Identifier, @escaping (Result<Int, SegueError>) -> Void) -> Void
  private var state = State.idle
  private var kept: [(offer: KeptParticipant, participant: any KeptOfferHandle)] = []
  private var requests: [PendingRequest] = []
  /// Those who wait until a kept offer is withdrawn.
  private var withdrawals: [(number: UInt64, done: (SegueError?) -> Void)] = []
  /// Those who wait for an offer.
  private var looks: [(number: UInt64, done: (Result<AppChoice, SegueError>) -> Void)] = []
  /// Those who wait until a push is stored that is kept for another device.
  private var keptPushes: [(id: Identifier, done: (SegueError?) -> Void)] = []
  /// Set to nil before it ends, or `close` ends its use.
  public unowned(unsafe) var observer: (any InboxObserver)?
  private var isTellingRetention = false
  private var lastNumber: UInt64 = 0
  /// The programs of this device that may continue an activity.
  public var installed = InstalledApps()
  /// The folders of the user (R13.4).
  public var folders = Containers()
  /// The answers of the sites that manifests claim (R12.8).
  public var sites = SiteStatuses()

  /// - Parameter isShared: whether another client came before (R3.8).
  public typealias Began = (_ continuation: Identifier, _ app: ChosenApp, _ isShared: Bool) -> Void

  /// A continuation that somebody waits for.
  private struct PendingRequest {
    let number: UInt64
    let client: ControlClient
    /// The variables that say where a launched program shows itself.
    let environment: [LaunchVariable]
    /// Called once the app is chosen; nil: the client waits for the end.
    let began: Began?
    var hasBegun = false
    let answer: (Result<AgentContinuationReport, SegueError>) -> Void
  }

  /// - Parameter change: does what an app asks for at the hub with saved activities (R8.1, R8.2), and answers once with
  ///   how many were concerned.
  public init(
    in environment: any AgentEnvironment, _ disk: any InboxExecutor, _ launcher: any ProgramLauncher,
    at hub: any AgentParticipation,
    change: @escaping (SavedChange, AppIdentity, Identifier, @escaping (Result<Int, SegueError>) -> Void) -> Void
  ) {
    (self.environment, self.disk, self.launcher, self.hub) = (environment, disk, launcher, hub)
    preferences = StoredPreferences(in: environment, disk)
    self.change = change
  }

  private var opened: Opened? { if case .open(let opened) = state { opened } else { nil } }

  /// Takes part at the device's hub, until `close`.
  /// - Parameters:
  ///   - mover: moves the bytes of attachments.
  ///   - ready: called once it is known what the user prefers, or cannot be known.
  public func open(
    _ identity: AppIdentity, _ limits: Limits, _ mover: any AttachmentMover, _ ready: @escaping () -> Void
  ) throws(SegueError) {
    // `close` ends the transfers before this object is released.
    let transfers = AttachmentTransfers(in: environment, mover) { [self] body in
      perform(body)
    } _: { [self] offer, body in
      perform(offer, body)
    }
    do throws(SegueError) {
      try preferences.open()
      // This object outlives the participant, which `close` ends.
      let participant = try hub.join(AgentEngine(identity: identity, limits: limits, owner: self))
      state = .open(Opened(participant: participant, transfers: transfers))
    } catch {
      preferences.close()
      transfers.close()
      throw error
    }
    preferences.load(ready)
  }

  public func close() {
    preferences.close()
    observer = nil
    guard let opened else { return state = .closed }
    opened.transfers.close()
    perform { engine, _ in engine.flush() }
    state = .closed
    opened.participant.close()
    for each in kept { each.participant.close() }
    kept = []
    requests = []
    withdrawals = []
    looks = []
    keptPushes = []
  }

  // MARK: For control clients

  /// Continues an offer in an app that need not run.
  /// - Parameters:
  ///   - leavesText: whether text that is in no file may stay behind if a program opens the file (R13.7).
  ///   - began: for an activity of the client (R3.15): called in place of `answer` if the app could be chosen.
  ///   - answer: called once, at the end or at the deadline, unless the agent ends before.
  public func `continue`(
    _ activity: Identifier, app: String?, timeout: Int64?, environment: [LaunchVariable],
    leavesText: Bool, for client: ControlClient, retained: PushMark? = nil, began: Began? = nil,
    _ answer: @escaping (Result<AgentContinuationReport, SegueError>) -> Void
  ) {
    lastNumber += 1
    requests.append(
      PendingRequest(number: lastNumber, client: client, environment: environment, began: began, answer: answer))
    let request = AgentContinuationRequest(
      number: lastNumber, activity: activity, app: app, timeout: timeout, principal: client.principal,
      isPush: began != nil, leavesText: leavesText,
      activationToken: LaunchVariable.activationToken(in: environment), retained: retained)
    perform { $0.continue(request, $1) }
  }

  /// The same; nobody has agreed that text stays behind.
  public func `continue`(
    _ activity: Identifier, app: String?, timeout: Int64?, environment: [LaunchVariable], for client: ControlClient,
    retained: PushMark? = nil, began: Began? = nil,
    _ answer: @escaping (Result<AgentContinuationReport, SegueError>) -> Void
  ) {
    `continue`(
      activity, app: app, timeout: timeout, environment: environment, leavesText: false, for: client,
      retained: retained, began: began, answer)
  }

  public func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    disk.hasTaken(push, done)
  }

  public func noteTaken(_ push: PushMark) {
    disk.noteTaken(push) { [environment] result in
      if case .failure(let error) = result { environment.log(.error, "push: \(error.message)") }
    }
  }

  /// Somebody who asked has gone.
  public func abandon(_ client: ControlClient) {
    // A continuation that has begun for an origin goes on: its receipt tells the origin the end.
    for request in requests where request.client.number == client.number && !request.hasBegun {
      perform { $0.abandon(request.number, $1) }
    }
  }

  /// Continues a saved activity in its app, which need not run (R8.3). The answer is as for `continue`.
  /// - Parameters:
  ///   - app: its bundle identifier; `name` is its name as it was when the activity was saved.
  ///   - document: the activity as it was saved.
  public func open(
    _ activity: Identifier, _ document: [UInt8], of app: String, named name: String, team: String, timeout: Int64?,
    environment: [LaunchVariable], for client: ControlClient,
    _ answer: @escaping (Result<AgentContinuationReport, SegueError>) -> Void
  ) {
    lastNumber += 1
    do throws(SegueError) {
      let request = try SavedStartRequest(
        number: lastNumber, activity: activity, document: document, app: app, team: team,
        appName: self.name(of: app, named: name), timeout: timeout, principal: client.principal,
        activationToken: LaunchVariable.activationToken(in: environment))
      requests.append(
        PendingRequest(number: lastNumber, client: client, environment: environment, began: nil, answer: answer))
      perform { $0.open(request, $1) }
    } catch {
      answer(.failure(error))
    }
  }

  /// The name of the app of a saved activity: the manifest's, else the app's own, else its bundle identifier.
  public func name(of app: String, named name: String) -> String {
    installed.catalogue[app]?.name ?? (name.isEmpty ? app : name)
  }

  /// The router that chooses an app at this moment.
  public var router: Router {
    var running: [AppIdentity] = []
    perform { engine, _ in running = engine.runningApps }
    return router(running)
  }

  private func router(_ running: [AppIdentity]) -> Router {
    Router(
      catalogue: installed.catalogue, preferences: preferences.current, running: RunningApps(running),
      browsers: installed.browsers, sites: sites, defaults: installed.defaults, openers: installed.openers)
  }

  /// The processes of an app that are open on this device.
  public func running(_ bundleIdentifier: String) -> [AppIdentity] {
    var running: [AppIdentity] = []
    perform { engine, _ in
      running = engine.runningApps.filter { Text.isSame($0.bundleIdentifier, bundleIdentifier) }
    }
    return running
  }

  /// The query to the router for an offer. Throws NOT_FOUND, BUSY.
  public func query(for activity: Identifier) throws(SegueError) -> RoutingQuery {
    try choice(for: activity, wanted: nil).get().query
  }

  /// Looks for an offer that may just have been made, for 1 s.
  /// - Parameters:
  ///   - wanted: the bundle identifier of the app that is to continue it; nil: whatever fits.
  ///   - done: called once, not inside this call, unless the agent ends before. NOT_FOUND, BUSY.
  public func look(
    for activity: Identifier, wanted: String? = nil, _ done: @escaping (Result<AppChoice, SegueError>) -> Void
  ) {
    lastNumber += 1
    looks.append((lastNumber, done))
    perform { [lastNumber] in $0.look(for: activity, wanted: wanted, lastNumber, $1) }
  }

  /// The question which app continues an offer that is there. NOT_FOUND, BUSY.
  public func choice(for activity: Identifier, wanted: String?) -> Result<AppChoice, SegueError> {
    var result = Result<AppChoice, SegueError>.failure(
      SegueError(.busy, "the agent does not carry the hub at present"))
    perform { engine, _ in result = engine.choice(for: activity, wanted: wanted) }
    return result
  }

  /// The reasons that concern the page of an offer of an app here: see `HubEngine.pageReasons`.
  public func pageReasons(of app: AppIdentity, _ offer: OfferDescription) -> [Message.Explanation] {
    let query = RoutingQuery(offer, team: app.team, bundleIdentifier: app.bundleIdentifier, origin: app.id)
    return RoutingRequests.pageReasons(router.explain(query))
  }

  /// Remembers the app that the user wants for a type; nil forgets it.
  /// - Parameter done: called on the loop once it is on the disk, or cannot be.
  public func choose(_ app: String?, for type: String, _ done: @escaping (SegueError?) -> Void) {
    preferences.choose(app, for: type, done)
  }

  /// The user withdraws what an app has left (R2.5).
  /// - Parameter done: called once, when it is no longer on the disk, or cannot be withdrawn; not if the agent ends
  ///   before.
  public func withdraw(_ activity: Identifier, _ done: @escaping (SegueError?) -> Void) {
    guard withdrawals.count < Self.withdrawalLimit else {
      return done(SegueError(.busy, "withdraw: \(Self.withdrawalLimit) wait for the disk"))
    }
    lastNumber += 1
    withdrawals.append((lastNumber, done))
    perform { [lastNumber] in $0.withdraw(activity, for: lastNumber, $1) }
  }

  /// The user forgets an entry. Those that wait for its end are told.
  /// - Parameter done: called once, when it is no longer on the disk; gets whether there was one.
  public func remove(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    disk.remove(continuation) { [self] result in
      done(result)
      if case .success(true) = result { perform { $0.removed(continuation, $1) } }
    }
  }

  /// An entry is to be delivered although its app has had it.
  public func retry(_ continuation: Identifier) { perform { engine, _ in engine.retry(continuation) } }

  // MARK: For other devices (R14.5)

  public var ownOffers: [Offer] {
    var offers: [Offer] = []
    perform { engine, _ in offers = engine.ownOffers }
    return offers
  }

  public var retainedOffers: [KeptRecord] {
    var records: [KeptRecord] = []
    perform { engine, _ in records = engine.retainedOffers }
    return records
  }

  public func retentionProblem(of device: Identifier) -> SegueError? {
    var problem: SegueError?
    perform { engine, _ in problem = engine.retentionProblem(of: device) }
    return problem
  }

  public func retain(_ wanted: [RetainedOrigin], for device: Identifier) {
    perform { $0.retain(wanted, for: device, $1) }
  }

  public var retentionProblem: SegueError? {
    var problem: SegueError?
    perform { engine, _ in problem = engine.retentionProblem }
    return problem
  }

  public func keepPush(_ push: RetainedOrigin, _ done: @escaping (SegueError?) -> Void) {
    guard let id = push.push?.id else { return }
    keptPushes.append((id, done))
    perform { $0.keepPush(push, $1) }
  }

  public func dropPushes(_ ids: [Identifier], of device: Identifier) {
    perform { $0.dropPushes(ids, of: device, $1) }
  }

  public var duePushes: [RetainedOrigin] {
    var due: [RetainedOrigin] = []
    perform { engine, _ in due = engine.duePushes }
    return due
  }

  public func toldPush(_ activity: Identifier) { perform { engine, _ in engine.toldPush(activity) } }

  public func answeredPush(_ activity: Identifier, _ error: SegueError?) {
    perform { $0.answeredPush(activity, error, $1) }
  }

  public func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?) {
    perform { $0.setDevices(devices, linked: linked, name: name, $1) }
  }

  private func perform(_ body: (AgentEngine, Instant) -> Void) { opened?.participant.perform(body) }

  /// Calls an offer that is kept; no effect once it is over.
  private func perform(_ offer: KeptParticipant, _ body: () -> Void) {
    kept.first { $0.offer === offer }?.participant.perform(body)
  }
}

extension InboxService: AgentOwner {
  public func drawIdentifier() -> Identifier? { try? environment.drawIdentifier() }

  public func found(_ number: UInt64, _ result: Result<AppChoice, SegueError>) {
    // Posted, because the callee may call the engine, which is in the middle of a call.
    environment.post { [self] in
      guard let index = looks.firstIndex(where: { $0.number == number }) else { return }
      looks.remove(at: index).done(result)
    }
  }

  public func gone(_ activity: Identifier) {
    // As above.
    environment.post { [self] in observer?.offerEnded(activity) }
  }

  public func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp {
    try router(choice.running).choose(choice)
  }

  public func collect(_ wanted: [Attachment], of continuation: Identifier, for principal: Identifier?) {
    opened?.transfers.collect(wanted, of: continuation, for: principal)
  }

  public func stopCollecting(_ continuation: Identifier) { opened?.transfers.stop(continuation) }
  public func streamAnswered(_ id: Identifier, _ error: SegueError?) { opened?.transfers.answered(id, error) }
  public func serve(_ request: StreamRequest) { opened?.transfers.serve(request, of: nil) }
  public func serve(_ request: StreamRequest, of offer: KeptParticipant) { opened?.transfers.serve(request, of: offer) }

  public func began(_ number: UInt64, _ continuation: Identifier, in app: ChosenApp, isShared: Bool) {
    guard let index = requests.firstIndex(where: { $0.number == number }), let began = requests[index].began else {
      return
    }
    requests[index].hasBegun = true
    began(continuation, app, isShared)
  }

  public func launch(_ app: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    let variables = requests.first { $0.number == number }?.environment ?? []
    do throws(SegueError) {
      try launch(app, variables) { [self] error in perform { $0.launched(continuation, error, $1) } }
    } catch {
      // One is under way: the app will open.
      let error = error.status == .busy ? nil : error
      environment.post { [self] in perform { $0.launched(continuation, error, $1) } }
    }
  }

  public func show(_ page: String, in browser: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    let variables = requests.first { $0.number == number }?.environment ?? []
    do throws(SegueError) {
      try launcher.open(page, in: browser.bundleIdentifier, variables) { [self] error in
        perform { $0.shown(continuation, error, $1) }
      }
    } catch {
      environment.post { [self] in perform { $0.shown(continuation, error, $1) } }
    }
  }

  public func open(
    _ document: OpenedDocument, with opener: ChosenApp, for continuation: Identifier, _ number: UInt64
  ) {
    let variables = requests.first { $0.number == number }?.environment ?? []
    do throws(SegueError) {
      try launcher.open(document, with: opener.bundleIdentifier, variables) { [self] error in
        perform { $0.shown(continuation, error, $1) }
      }
    } catch {
      environment.post { [self] in perform { $0.shown(continuation, error, $1) } }
    }
  }

  private func launch(
    _ app: ChosenApp, _ variables: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    guard app.form != .argument else {
      throw SegueError(
        .notFound, "launch of \(app.bundleIdentifier): a page waits for its extension, which is not running")
    }
    guard let declaration = installed.catalogue[app.bundleIdentifier] else {
      throw SegueError(
        .notFound, "launch of \(app.bundleIdentifier): it was open, and no manifest says how to start it")
    }
    switch declaration.launch {
    case .impossible(let error): throw error
    case .command:
      try launcher.launch(app.bundleIdentifier, variables, done)
    }
  }

  public func opened(_ app: AppIdentity) {
    launcher.opened(app.bundleIdentifier)
    // It is stored only of apps that have a manifest: others are no candidates unless they are open, and then they have
    // opened.
    preferences.markUsed(app.bundleIdentifier, isStored: installed.catalogue[app.bundleIdentifier] != nil)
  }

  public func perform(_ request: InboxRequest) { disk.perform(request) { [self] reply in stored(reply, of: request) } }

  private func stored(_ reply: InboxReply, of request: InboxRequest) {
    perform { $0.stored(reply, of: request, $1) }
    // The disk has it, too, that the app which has restored an activity was used most recently.
    if case .acknowledged(_, _, .success) = reply, case .acknowledge(_, _, _, let receipt) = request,
      receipt.outcome == .restored
    {
      preferences.markUsed(receipt.receiver.bundleIdentifier, isStored: false)
    }
  }

  public func withdrawn(_ number: UInt64, _ error: SegueError?) {
    guard let index = withdrawals.firstIndex(where: { $0.number == number }) else { return }
    withdrawals.remove(at: index).done(error)
  }

  public func change(_ change: SavedChange, of app: AppIdentity, principal: Identifier, _ number: UInt64) {
    self.change(change, app, principal) { [self] result in perform { engine, _ in engine.changed(number, result) } }
  }

  // The hub may be in the middle of a call.
  public func join(_ offer: KeptParticipant) {
    environment.post { [self] in
      guard opened != nil else { return }
      do throws(SegueError) {
        kept.append((offer, try hub.join(offer)))
      } catch {
        environment.log(.error, "keep offering: \(error.message)")
        perform { $0.notJoined(offer, $1) }
      }
    }
  }

  public func leave(_ offer: KeptParticipant) {
    environment.post { [self] in
      guard let index = kept.firstIndex(where: { $0.offer === offer }) else { return }
      kept.remove(at: index).participant.close()
    }
  }

  public func ended(_ receipt: Receipt, of offer: KeptParticipant) {
    // Its engine is in the middle of a call.
    environment.post { [self] in perform { $0.ended(receipt, of: offer, $1) } }
  }

  public func withdraw(_ offer: KeptParticipant) {
    // Another engine is in the middle of a call.
    environment.post { [self] in perform(offer) { offer.withdraw(environment.now) } }
  }

  public func noteRetention() {
    guard !isTellingRetention else { return }
    isTellingRetention = true
    // The engine is in the middle of a call; and there may be more news in this turn.
    environment.post { [self] in
      isTellingRetention = false
      observer?.retentionChanged()
    }
  }

  public func pushKept(_ id: Identifier, _ error: SegueError?) {
    // The engine is in the middle of a call.
    environment.post { [self] in
      guard let index = keptPushes.firstIndex(where: { $0.id == id }) else { return }
      keptPushes.remove(at: index).done(error)
    }
  }

  public func answer(_ number: UInt64, _ result: Result<AgentContinuationReport, SegueError>) {
    guard let index = requests.firstIndex(where: { $0.number == number }) else { return }
    let request = requests.remove(at: index)
    if !request.hasBegun { request.answer(result) }
  }

  public func log(_ severity: Severity, _ message: DiagnosticText) { environment.log(severity, message) }
}
