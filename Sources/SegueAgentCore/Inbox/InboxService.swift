// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// Connects the agent's engine to the inbox, the launcher, the catalogue of apps and the control clients. No I/O. For
/// one thread.
public final class InboxService {
  private enum State {
    case idle
    case open(Opened)
    case closed
  }

  /// The parts that are there between `open` and `close`.
  struct Opened {
    let participant: any AgentParticipantHandle
    let transfers: AttachmentTransfers
  }

  let environment: any AgentEnvironment
  let launcher: any ProgramLauncher
  let disk: any InboxExecutor
  let hub: any AgentParticipation
  let preferences: StoredPreferences
  let change: (SavedChange, AppIdentity, Identifier, @escaping (Result<Int, SegueError>) -> Void) -> Void
  private var state = State.idle
  /// The offers that are kept for apps that have gone.
  var kept: [(offer: KeptParticipant, participant: any KeptOfferHandle)] = []
  var callers = InboxCallers()
  /// The observer sets this to nil before it is released. Nil after `close`.
  public unowned(unsafe) var observer: (any InboxObserver)?
  /// Whether the observer is to hear of a change of what is retained, in a later turn.
  var isTellingRetention = false
  /// The programs of this device that may continue an activity.
  public var installed = InstalledApps()
  /// The folders of the user (R13.4).
  public var folders = Containers()
  /// The answers of the sites that manifests claim (R12.8).
  public var sites = SiteStatuses()

  /// - Parameter isShared: whether another client came before (R3.8).
  public typealias Began = (_ continuation: Identifier, _ app: ChosenApp, _ isShared: Bool) -> Void

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

  var opened: Opened? { if case .open(let opened) = state { opened } else { nil } }

  /// Takes part at the device's hub, until `close`.
  /// - Parameters:
  ///   - mover: moves the bytes of attachments.
  ///   - ready: called once it is known what the user prefers, or cannot be known.
  public func open(
    _ identity: AppIdentity, _ limits: Limits, _ mover: any AttachmentMover, _ ready: @escaping () -> Void
  ) throws(SegueError) {
    // The transfers keep this object until `close`.
    let transfers = AttachmentTransfers(in: environment, mover) { [self] body in
      perform(body)
    } _: { [self] offer, body in
      perform(offer, body)
    }
    do throws(SegueError) {
      try preferences.open()
      // The engine does not keep this object: `close` ends the participant before this object is released.
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
    callers = InboxCallers()
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
    let number = callers.takeNumber()
    callers.add(
      ContinuationCaller(number: number, client: client, environment: environment, began: began, answer: answer))
    let request = AgentContinuationRequest(
      number: number, activity: activity, app: app, timeout: timeout, principal: client.principal,
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

  /// Somebody who asked has gone.
  public func abandon(_ client: ControlClient) {
    // A continuation that has begun for an origin goes on: its receipt tells the origin the end.
    for number in callers.continuations(of: client) { perform { $0.abandon(number, $1) } }
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
    let number = callers.takeNumber()
    do throws(SegueError) {
      let request = try SavedStartRequest(
        number: number, activity: activity, document: document, app: app, team: team,
        appName: self.name(of: app, named: name), timeout: timeout, principal: client.principal,
        activationToken: LaunchVariable.activationToken(in: environment))
      callers.add(
        ContinuationCaller(number: number, client: client, environment: environment, began: nil, answer: answer))
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

  func router(_ running: [AppIdentity]) -> Router {
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
    let number = callers.addLook(done)
    perform { $0.look(for: activity, wanted: wanted, number, $1) }
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
    guard let number = callers.addWithdrawal(done) else {
      return done(SegueError(.busy, "withdraw: \(InboxCallers.withdrawalLimit) wait for the disk"))
    }
    perform { $0.withdraw(activity, for: number, $1) }
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

  /// Calls the engine, if the agent takes part at the hub.
  func perform(_ body: (AgentEngine, Instant) -> Void) { opened?.participant.perform(body) }

  /// Calls an offer that is kept; no effect once it is over.
  func perform(_ offer: KeptParticipant, _ body: () -> Void) {
    kept.first { $0.offer === offer }?.participant.perform(body)
  }
}
