// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// One open of the library: connects an `AppEngine` to the host's calls and callbacks, and to its environment, which
/// is a real device or one of a virtual fleet.
///
/// Its monitor guards all of its state. Order of locks: app, then activity. No lock is held while the host is called.
public final class App: HandleObject {
  enum State {
    case created
    /// Another thread is in `open`, which may still fail.
    case opening
    case open(AppEngine)
    case closing(AppEngine)
    case closed
  }

  public let monitor: any AppMonitor
  private(set) var state = State.created
  /// Changes only before the app opens, and once an agent has said what the manifest of the app is (R6.1); the label
  /// at any time.
  public private(set) var settings: AppSettings
  private var handlers = HostHandlers()
  var activities = ActivityTable()
  /// App+Documents.swift.
  var documents = DocumentTable()
  /// App+Containers.swift.
  var containerTable = ContainerTable()
  public let environment: any AppEnvironment
  /// Set while the app is open in a fleet.
  public var observer: (any AppObserver)?
  private let hasSystemClock: Bool

  // The callbacks that are due.
  var due = CallbackQueue<HostTask>()
  var pending = PendingOperations()
  /// Streams whose local end the host may still have: App+Streams.swift.
  var streams: [Identifier: LiveStream] = .init()
  /// App+Attachments.swift.
  var downloads = DownloadTable()
  public let dispatcher = Dispatcher()
  public var logs: [(severity: Severity, message: DiagnosticText)] = []

  /// - Parameter hasSystemClock: its device has the clocks of this system.
  public init(_ settings: AppSettings, in environment: any AppEnvironment, hasSystemClock: Bool) {
    self.settings = settings
    self.environment = environment
    self.hasSystemClock = hasSystemClock
    monitor = environment.monitor
  }

  public override func lastHandleReleased() {
    do throws(SegueError) {
      try close()
    } catch {
      // Inside a callback of this app, or of one for whose end it would wait: closes when that returns.
      monitor.lock()
      dispatcher.shallClose = true
      monitor.unlock()
    }
  }

  /// Calls that wait for the agent, or in dispatch, end: otherwise the app would stay open as long as they wait.
  public override func lastHandleReleasedInUse() { lastHandleReleased() }

  /// The engine of the open app, also while it closes.
  public var engine: AppEngine? {
    switch state {
    case .open(let engine), .closing(let engine): engine
    case .created, .opening, .closed: nil
    }
  }

  var delegate: AppDelegate? { handlers.delegate }

  /// Milliseconds by the clock of the device. With or without the lock. Each change of an activity reads it, so a real
  /// device is not asked by way of `environment`.
  var uptime: Int64 { hasSystemClock ? Clock.uptime : environment.now.uptime }

  // MARK: Before it opens

  public func configure(_ change: (inout AppSettings) throws(SegueError) -> Void) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard case .created = state else {
      throw SegueError(.invalidState, "app: is open already; set its properties before segue_app_open")
    }
    try change(&settings)
  }

  /// The type of activities that are created without one (R1.1).
  public func firstType() throws(SegueError) -> String {
    monitor.lock()
    defer { monitor.unlock() }
    if let type = settings.firstType { return type }
    guard engine?.knowsManifest ?? false else {
      throw SegueError(
        .invalidArgument, "type: must be given: the app declares none, and no agent has answered yet")
    }
    throw SegueError(.invalidArgument, "type: must be given: neither the app nor its manifest declares one")
  }

  /// Sets the label for people, before the app opens or while it is open (R13.6).
  /// - Parameter label: nil or empty: none.
  public func setLabel(_ label: String?) throws(SegueError) {
    monitor.lock()
    defer { unlockAndLog() }
    try settings.setLabel(label)
    engine?.setLabel(settings.label, environment.now)
    drainEngine()
  }

  /// Adds what a manifest says, before the app opens.
  public func load(_ manifest: AppManifest) throws(SegueError) {
    monitor.lock()
    defer { unlockAndLog() }
    guard case .created = state else {
      throw SegueError(.invalidState, "app: is open already; set its properties before segue_app_open")
    }
    add(manifest)
  }

  /// Adds what a manifest says. Called with the lock.
  func add(_ manifest: AppManifest) {
    let left = settings.add(manifest)
    guard left > 0 else { return }
    logs.append((.error, "\(left) types of the manifest do not fit: an app declares \(Limits.typesPerApp) at most"))
  }

  public func setDelegate(_ delegate: AppDelegate?) {
    delegate?.give()
    monitor.lock()
    let former = handlers.delegate
    handlers.delegate = delegate
    tellAcceptance()
    unlockAndLog()
    // The host's functions destroy its contexts, so this happens without the lock.
    withExtendedLifetime(former) {}
  }

  /// Whether what waits for the app may come. It is true of a new app.
  public func setAcceptsWaiting(_ accepts: Bool) {
    monitor.lock()
    handlers.acceptsWaiting = accepts
    tellAcceptance()
    unlockAndLog()
  }

  private func tellAcceptance() {
    engine?.setAcceptsDeliveries(handlers.acceptsDeliveries)
    drainEngine()
  }

  public func setActivityDelegate(_ delegate: ActivityDelegate?) {
    delegate?.give()
    monitor.lock()
    let former = activities.delegate
    activities.delegate = delegate
    monitor.unlock()
    withExtendedLifetime(former) {}
  }

  /// Throws INVALID_STATE if it was opened before; UNSAFE_FOLDER or SYSTEM, after which the call may be repeated.
  public func open() throws(SegueError) {
    let folders = environment.userFolders()
    monitor.lock()
    defer { monitor.unlock() }
    guard case .created = state else {
      throw SegueError(.invalidState, "app: is open already, or was closed; create another app")
    }
    state = .opening
    // An agent tells others, if there are.
    setFolders(folders)
    do throws(SegueError) {
      let engine = AppEngine(
        identity: settings.identity(try environment.drawIdentifier()), limits: environment.limits,
        savePolicy: settings.savePolicy, owner: self)
      engine.setAcceptsDeliveries(handlers.acceptsDeliveries)
      engine.setLabel(settings.label, environment.now)
      for id in activities.privateOnes { engine.changed(id, environment.now) }
      try environment.open(self, engine)
      state = .open(engine)
    } catch {
      state = .created
      monitor.notifyAll()
      throw error
    }
  }

  /// Ends everything in order (R3.14). Throws BUSY inside a callback, and if it would wait for a callback that waits
  /// for the one in which this thread is.
  public func close() throws(SegueError) {
    guard !isInCallback else { throw SegueError(.busy, "app: cannot be closed inside one of its callbacks") }
    try CloseDeadlockGuard.shared.wait(for: self)
    monitor.lock()
    while true {
      switch state {
      case .opening, .closing:
        monitor.wait()
        continue
      case .created, .closed:
        state = .closed
        monitor.unlock()
        return CloseDeadlockGuard.shared.ended()
      case .open(let engine): state = .closing(engine)
      }
      break
    }
    environment.endAgentCalls()
    environment.wake()
    while dispatcher.isBusy { monitor.wait() }
    monitor.unlock()
    environment.endDelivery()
    CloseDeadlockGuard.shared.ended()
    endAll()
  }

  /// Does the same on the thread that runs the app's callbacks, outside of them. Called with the lock while the app is
  /// open; releases the lock.
  public func closeHere() {
    if let engine { state = .closing(engine) }
    environment.endAgentCalls()
    monitor.unlock()
    endAll()
  }

  /// The rest of closing: the state is `closing`, and no other thread runs callbacks.
  private func endAll() {
    endTransfers()
    monitor.lock()
    guard let engine else { return monitor.unlock() }
    dispatcher.enter()
    engine.startClosing(environment.now)
    drainEngine()
    runDue(all: true)
    engine.finishClosing(environment.now)
    drainEngine()
    runDue(all: true)
    dispatcher.leave()
    unlockAndLog()

    environment.close()

    monitor.lock()
    let tidy = tearDown()
    monitor.unlock()
    tidy()
  }

  /// The app is closed, or dead. Called with the lock.
  /// - Returns: the work to do without the lock: the host's functions destroy contexts.
  public func tearDown() -> () -> Void {
    let unfinished = pending.all
    let formerly = activities.removeAll()
    let open = streams
    let undelivered = due
    let released = endObservations()
    let formerDocuments = documents.removeAll()
    pending = PendingOperations()
    streams = .init()
    due = CallbackQueue<HostTask>()
    downloads.removeAll()
    state = .closed
    monitor.notifyAll()
    return {
      for operation in unfinished {
        switch operation {
        case .continuation(let continuation): continuation.end()
        case .request(let request): request.forget()
        case .resumption(let request): request.forget()
        case .link(let link): link.forget()
        case .deletion, .explanation, .stream: break
        }
      }
      for activity in formerly { activity.leaveApp() }
      withExtendedLifetime((undelivered, open, formerDocuments)) {}
      withExtendedLifetime(released) {}
    }
  }

  // MARK: Offers

  /// Whether the app is registered with a hub, and if not, the last known cause.
  public var connectionState: (isReady: Bool, problem: SegueError?) {
    monitor.lock()
    defer { monitor.unlock() }
    guard let engine, engine.isReady else { return (false, environment.problem) }
    return (true, nil)
  }

  /// Frontmost first.
  public var offers: [OfferObject] {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.offers.all.map { OfferObject($0, environment) } ?? []
  }

  // MARK: The engine

  /// Calls the engine and handles the results. Throws INVALID_STATE before the app is open, INVALIDATED after it is
  /// closed.
  @inline(never)
  public func perform(_ body: (AppEngine, Instant) -> Void) throws(SegueError) {
    monitor.lock()
    guard isOpen, let engine else {
      let error = notOpen
      monitor.unlock()
      throw error
    }
    body(engine, environment.now)
    drainEngine()
    unlockAndLog()
  }

  /// Whether the app is open, and not closing. Called with the lock.
  public var isOpen: Bool { if case .open = state { true } else { false } }

  /// The error for an app that is not open.
  public var notOpen: SegueError {
    switch state {
    case .created, .opening: SegueError(.invalidState, "app: is not open yet")
    case .open, .closing, .closed: SegueError(.invalidated, "app: is closed")
    }
  }

  /// Does the same also while the app closes; afterwards there is nothing to do.
  @inline(never)
  func performIfOpen(_ body: (AppEngine, Instant) -> Void) {
    monitor.lock()
    if let engine {
      body(engine, environment.now)
      drainEngine()
    }
    unlockAndLog()
  }

  /// Releases the lock, and then logs the lines from meanwhile: the log's callback belongs to the host.
  public func unlockAndLog() {
    let logs = self.logs
    self.logs = []
    monitor.unlock()
    for log in logs { environment.log(log.severity, log.message) }
  }

  /// Handles the results of a call of the engine: sends bytes, sets the next deadline.
  public func drainEngine() {
    guard engine != nil else { return }
    environment.drain()
    engineCalled()
  }

  /// The results of a call of the engine were handled, but for what concerns the objects of the app.
  public func engineCalled() {
    guard let engine else { return }
    answerDownloads()
    activities.setCurrent(engine.currentActivity)
  }

  /// Draws an identifier, without the lock.
  func newIdentifier() throws(SegueError) -> Identifier {
    monitor.lock()
    defer { monitor.unlock() }
    return try environment.drawIdentifier()
  }
}
