import SegueDriver
import SegueEngine
import SegueFleet
import SegueModel
import SegueTransport
import SegueWire

/// One open of the library: connects an `AppEngine` to a socket, to the host's calls and to its callbacks.
///
/// Its monitor guards all of its state. Order of locks: app, then activity. No lock is held while the host is called.
/// An app of a virtual fleet is a `FleetApp`: it has a simulated device in place of a socket, a clock and randomness.
public class App: Handled {
  enum State {
    case created
    /// Another thread is in `open`, which may still fail.
    case opening
    case open
    case closing
    case closed
  }

  let monitor: ConditionLock
  var state = State.created
  /// Changes only before the app opens.
  public private(set) var settings: AppSettings
  var engine: AppEngine?
  var delegate: AppDelegate?
  /// The device, which finds a hub for the app while it is open.
  private(set) var device: Device?

  var activities = ActivityTable()

  // The connection to the hub: App+Hub.swift.
  var gate: AppPoller?
  /// Nil if the app is not open, or belongs to a fleet.
  var driver: AppDriver?
  var socket: AppSocket?
  /// Used on the library thread, while the device has the app.
  var watch: Watch?

  // The callbacks that are due.
  var due = CallbackQueue<HostTask>()
  var pending = PendingOperations()
  /// Streams whose local end the host may still have: App+Streams.swift.
  var streams: [Identifier: LiveStream] = [:]
  /// Attachments that the app fetches, and those that it sends: App+Attachments.swift.
  var downloads: [AttachmentDownload] = []
  var uploads: [AttachmentUpload] = []
  let wakeUp = WakeUp()
  let dispatcher = Dispatcher()
  private var deliveryThread: Thread?
  /// The activity whose `was_continued` runs; the end of that attempt comes next.
  var continuedActivity: LiveActivity?
  /// Results for downloads about the streams that they have requested.
  var downloadAnswers: [(download: AttachmentDownload, error: SegueError?)] = []
  var logs: [(severity: Severity, message: DiagnosticText)] = []

  public init(_ settings: AppSettings) {
    self.settings = settings
    monitor = ConditionLock()
  }

  init(_ settings: AppSettings, _ monitor: ConditionLock) {
    self.settings = settings
    self.monitor = monitor
  }

  public override final func lastHandleReleased() {
    do throws(SegueError) {
      try close()
    } catch {
      // Inside a callback of this app, or of one for whose end it would wait: closes when that returns.
      dispatcherShallClose()
    }
  }

  // MARK: Before it opens

  public final func configure(_ change: (inout AppSettings) throws(SegueError) -> Void) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard case .created = state else { throw SegueError(.invalidState, "app: can be described before it opens only") }
    try change(&settings)
  }

  /// The type of activities that are created without one (R1.1).
  public func firstType() throws(SegueError) -> String {
    monitor.lock()
    defer { monitor.unlock() }
    guard let type = settings.types.first else {
      throw SegueError(.invalidArgument, "type: must be given, since the app declares none")
    }
    return type
  }

  public func setDelegate(_ delegate: AppDelegate?) {
    delegate?.give()
    monitor.lock()
    let former = self.delegate
    self.delegate = delegate
    monitor.unlock()
    // The host's functions destroy its contexts, so this happens without the lock.
    withExtendedLifetime(former) {}
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
    let cancellation = Cancellation.disable()
    defer { Cancellation.restore(cancellation) }
    monitor.lock()
    defer { monitor.unlock() }
    guard case .created = state else { throw SegueError(.invalidState, "app: has been opened before") }
    state = .opening
    do throws(SegueError) {
      let engine = AppEngine(
        identity: settings.identity(try drawIdentifier()), limits: ProcessLimits.current,
        savePolicy: settings.savePolicy, owner: self)
      try join(engine)
      self.engine = engine
      state = .open
    } catch {
      giveUpOpening()
      throw error
    }
  }

  /// Called with the lock, and returns with it.
  private func giveUpOpening() {
    if let thread = deliveryThread {
      deliveryThread = nil
      monitor.unlock()
      thread.join()
      monitor.lock()
    }
    state = .created
    monitor.notifyAll()
  }

  /// Ends everything in order (R3.14). Throws BUSY inside a callback, and if it would wait for a callback that waits
  /// for the one in which this thread is.
  public func close() throws(SegueError) {
    guard !isInCallback else { throw SegueError(.busy, "app: cannot be closed inside one of its callbacks") }
    let cancellation = Cancellation.disable()
    defer { Cancellation.restore(cancellation) }
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
      case .open: break
      }
      break
    }
    state = .closing
    wakeUp.wake()
    while dispatcher.isBusy { monitor.wait() }
    let thread = deliveryThread
    deliveryThread = nil
    monitor.unlock()
    thread?.join()
    CloseDeadlockGuard.shared.ended()
    endAll()
  }

  /// Does the same on the app's own thread, outside of callbacks. It cannot wait for itself, so no other thread may be
  /// closing.
  func closeOnDeliveryThread() {
    monitor.lock()
    guard case .open = state else { return monitor.unlock() }
    state = .closing
    deliveryThread?.detach()
    deliveryThread = nil
    monitor.unlock()
    endAll()
  }

  /// The rest of closing: the state is `closing`, and no other thread runs callbacks.
  private func endAll() {
    endTransfers()
    monitor.lock()
    guard let engine else { return monitor.unlock() }
    dispatcher.enter()
    engine.startClosing(now)
    drainEngine()
    runDue(all: true)
    engine.finishClosing(now)
    drainEngine()
    runDue(all: true)
    dispatcher.leave()
    flushBeforeClose()
    unlockAndLog()

    leave()

    monitor.lock()
    let forget = forgetAll()
    monitor.unlock()
    forget()
  }

  /// The app is closed, or dead. Called with the lock.
  /// - Returns: the work to do without the lock: the host's functions destroy contexts.
  func forgetAll() -> () -> Void {
    let unfinished = pending.all
    let formerly = activities.removeAll()
    let open = streams
    let undelivered = due
    pending = PendingOperations()
    streams = [:]
    due = CallbackQueue<HostTask>()
    engine = nil
    driver = nil
    socket = nil
    gate = nil
    device = nil
    state = .closed
    monitor.notifyAll()
    return {
      for operation in unfinished {
        switch operation {
        case .continuation(let continuation): continuation.end(isAppClosed: true)
        case .request(let request): request.forget()
        case .explanation, .link, .stream: break
        }
      }
      for activity in formerly { activity.leaveApp() }
      withExtendedLifetime((undelivered, open)) {}
    }
  }

  // MARK: Its device, real or of a fleet

  /// The time by the clocks of its device.
  var now: Moment { Clock.now }

  /// Draws an identifier for an app, an activity or a continuation. Called with the lock, like all of these except
  /// `now` and `leave`.
  func drawIdentifier() throws(SegueError) -> Identifier { try Randomness.identifier() }

  /// Wraps a descriptor to send it with a message.
  func passing(_ descriptor: OwnedDescriptor) -> PassedDescriptor { descriptor }

  /// Connects the engine to the device.
  func join(_ engine: AppEngine) throws(SegueError) {
    let gate = try AppPoller()
    try wakeUp.open()
    if case .thread = settings.delivery {
      // The thread looks at `state` after this call has returned. The closing thread joins it before this object is
      // released; if the thread closes the app itself, it retains the app.
      deliveryThread = try Thread { [unowned(unsafe) self] in self.deliverUntilClosed() }
    }
    let device = try Library.shared.open(self)
    driver = device.driver(of: engine)
    self.device = device
    self.gate = gate
  }

  /// When this returns, the device no longer uses the app. Called without the lock.
  func leave() { if let device { Library.shared.close(self, of: device) } }

  /// Sends the engine's messages to its hub, after a call of the engine.
  func drain() { drainDriver() }

  /// Sets the next deadline, after a call of the engine whose deliveries were taken.
  func setDeadline() {
    gate?.setDeadline(driver?.nextDeadline)
    if !due.isEmpty { signalDue() }
  }

  /// Notifies the host that a callback is due.
  func signalDue() { if !dispatcher.isRunningHere { wakeUp.signal(isAwaited: dispatcher.isWaiting) } }

  /// Runs the callbacks that are due, after waiting for the first of them (SEGUE_DELIVER_HOST).
  /// - Parameter timeout: milliseconds; negative: no limit.
  /// - Returns: the number of callbacks that ran.
  public func dispatch(timeout: Int32) throws(SegueError) -> Int { try dispatchHere(timeout: timeout) }

  /// Makes `dispatch` return. Safe in a signal handler.
  public func wake() { wakeUp.wake() }

  /// Readable while `dispatch` has something to do.
  public func descriptor() throws(SegueError) -> Int32 {
    monitor.lock()
    defer { monitor.unlock() }
    return try wakeUpDescriptor()
  }

  /// Its process in the fleet; nil if it belongs to no fleet, or is not open.
  var process: FleetProcess? { nil }

  public var asFleetApp: FleetApp? { nil }

  /// The clock of its fleet.
  var fleetClock: FleetClock? { nil }

  // MARK: Offers

  /// Whether the app is registered with a hub, and if not, the last known cause.
  public var connectionState: (isReady: Bool, problem: SegueError?) {
    monitor.lock()
    defer { monitor.unlock() }
    guard let engine, engine.isReady else { return (false, (process?.driver ?? driver)?.problem) }
    return (true, nil)
  }

  /// Frontmost first.
  public var offers: [HeldOffer] {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.offers.all.map { HeldOffer($0, fleetClock) } ?? []
  }

  // MARK: The engine

  /// Calls the engine and handles the results. Throws INVALID_STATE before the app is open, INVALIDATED after it is
  /// closed.
  @inline(never)
  func perform(_ body: (AppEngine, Moment) -> Void) throws(SegueError) {
    monitor.lock()
    guard case .open = state, let engine else {
      let error = notOpen
      monitor.unlock()
      throw error
    }
    body(engine, now)
    drainEngine()
    unlockAndLog()
  }

  /// The error for an app that is not open.
  var notOpen: SegueError {
    switch state {
    case .created, .opening: SegueError(.invalidState, "app: is not open yet")
    case .open, .closing, .closed: SegueError(.invalidated, "app: is closed")
    }
  }

  /// Does the same also while the app closes; afterwards there is nothing to do.
  @inline(never)
  func performIfOpen(_ body: (AppEngine, Moment) -> Void) {
    monitor.lock()
    if let engine {
      body(engine, now)
      drainEngine()
    }
    unlockAndLog()
  }

  /// Releases the lock, and then logs the lines from meanwhile: the log's callback belongs to the host.
  func unlockAndLog() {
    let logs = self.logs
    self.logs = []
    monitor.unlock()
    for log in logs { Log.write(log.severity, log.message) }
  }

  /// Handles the results of a call of the engine: sends bytes, sets the next deadline.
  func drainEngine() {
    guard let engine else { return }
    drain()
    tellDownloads()
    activities.setCurrent(engine.currentActivity)
    setDeadline()
  }

  /// Draws an identifier, without the lock.
  func newIdentifier() throws(SegueError) -> Identifier {
    monitor.lock()
    defer { monitor.unlock() }
    return try drawIdentifier()
  }
}
