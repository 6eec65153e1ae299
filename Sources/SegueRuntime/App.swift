import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// One open of the library: joins an `AppEngine` to a socket, to the host's calls and to its callbacks.
///
/// Its monitor guards all of its state. Order of locks: app, then activity. No lock is held while the host is called.
public final class App: Handled {
  enum State {
    case created
    case open
    case closing
    case closed
  }

  let monitor = Monitor()
  var state = State.created
  /// Changes before it opens only.
  public private(set) var settings: AppSettings
  var engine: AppEngine?
  var delegate: AppDelegate?
  private var device: Device?

  // The activities that can be offered, and the one that is.
  private var activities: [Identifier: LiveActivity] = [:]
  private var current: LiveActivity?

  // The connection to the hub.
  var gate: Gate?
  var socket: Int32 = -1
  /// Of the hub that it is connected to; nil: to none.
  private var hubGeneration: UInt64?
  /// How often in a row a hub has closed the connection before it said welcome.
  private var refusals = 0
  private var watch: Watch?
  /// The socket is full: more goes out when it says so.
  var isWaitingToWrite = false

  // What the host is to be told.
  var due = DueQueue()
  var continuations: [Identifier: Continuation] = [:]
  var explanations: [UInt64: Explaining] = [:]
  let wakeUp = WakeUp()
  var dispatcher = Dispatcher()
  private var deliveryThread: Thread?
  private var logs: [(severity: Severity, message: String)] = []

  public init(_ settings: AppSettings) { self.settings = settings }

  public override func lastHandleReleased() {
    // Inside a callback it closes when that returns.
    if isInCallback { dispatcherShallClose() } else { try? close() }
  }

  // MARK: Before it opens

  public func configure(_ change: (inout AppSettings) throws(SegueError) -> Void) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard case .created = state else { throw SegueError(.invalidState, "app: can be described before it opens only") }
    try change(&settings)
  }

  /// The type of activities that are made without one (R1.1).
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
    defer { monitor.unlock() }
    self.delegate = delegate
  }

  /// Throws INVALID_STATE if it has been open, UNSAFE_FOLDER or SYSTEM.
  public func open() throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard case .created = state else { throw SegueError(.invalidState, "app: has been opened before") }
    let gate = try Gate()
    try wakeUp.open()
    if case .thread = settings.delivery {
      // It looks at `state` once this call has returned; `close` joins it before this object can go.
      deliveryThread = try Thread { [unowned(unsafe) self] in self.deliverUntilClosed() }
    }
    let device: Device
    do throws(SegueError) {
      device = try Library.shared.open(self)
    } catch {
      giveUpOpening()
      throw error
    }
    engine = AppEngine(
      identity: settings.identity(Randomness.identifier()), limits: ProcessLimits.current, source: self)
    self.gate = gate
    self.device = device
    state = .open
  }

  /// Called with the lock, and returns with it.
  private func giveUpOpening() {
    guard let thread = deliveryThread else { return }
    deliveryThread = nil
    monitor.unlock()
    thread.join()
    monitor.lock()
  }

  /// Ends everything in order (R3.14). Throws BUSY inside a callback.
  public func close() throws(SegueError) {
    guard !isInCallback else { throw SegueError(.busy, "app: cannot be closed inside one of its callbacks") }
    monitor.lock()
    while case .closing = state { monitor.wait() }
    guard case .open = state, let device, let engine else {
      state = .closed
      return monitor.unlock()
    }
    state = .closing
    wakeUp.wake()
    while dispatcher.isBusy { monitor.wait() }
    let thread = deliveryThread
    monitor.unlock()
    thread?.join()

    monitor.lock()
    dispatcher.enter()
    engine.startClosing(Clock.now)
    settle()
    runDue(all: true)
    engine.finishClosing(Clock.now)
    settle()
    runDue(all: true)
    dispatcher.leave()
    monitor.unlock()

    Library.shared.close(self, of: device)

    monitor.lock()
    let ended = Array(continuations.values)
    let formerly = Array(activities.values)
    let unexplained = explanations
    continuations = [:]
    activities = [:]
    current = nil
    explanations = [:]
    self.engine = nil
    gate = nil
    self.device = nil
    deliveryThread = nil
    state = .closed
    monitor.notifyAll()
    monitor.unlock()
    for continuation in ended { continuation.end() }
    for activity in formerly { activity.leaveApp() }
    // Their contexts are destroyed by the host's functions: not under the lock.
    withExtendedLifetime(unexplained) {}
  }

  // MARK: Activities

  /// Throws INVALIDATED if the app is closed.
  func register(_ activity: LiveActivity) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    switch state {
    case .created, .open: activities[activity.id] = activity
    case .closing, .closed: throw SegueError(.invalidated, "app: is closed")
    }
  }

  func makeCurrent(_ activity: LiveActivity) throws(SegueError) {
    try perform { $0.becomeCurrent(activity.id, $1) }
  }

  func resignCurrent(_ activity: LiveActivity) {
    performIfOpen { $0.resignCurrent(activity.id, $1) }
  }

  func changed(_ activity: LiveActivity) {
    performIfOpen { $0.changed(activity.id, $1) }
  }

  func invalidate(_ activity: LiveActivity) {
    performIfOpen { $0.invalidate(activity.id, $1) }
    monitor.lock()
    // The object goes after the lock: others may be waiting for it.
    let gone = activities.removeValue(forKey: activity.id)
    monitor.unlock()
    withExtendedLifetime(gone) {}
  }

  func saved(_ number: UInt64) { performIfOpen { $0.saved(number, $1) } }

  public func setForeground(_ isForeground: Bool) throws(SegueError) {
    try perform { $0.setForeground(isForeground, $1) }
  }

  func liveActivity(_ id: Identifier) -> LiveActivity? { activities[id] }

  // MARK: Offers

  public var isReady: Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.isReady ?? false
  }

  /// Frontmost first.
  public var offers: [Offer] {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.offers.all ?? []
  }

  // MARK: The engine

  /// Calls the engine and does what follows from it. Throws INVALID_STATE before the app is open, INVALIDATED after.
  func perform(_ body: (AppEngine, Moment) -> Void) throws(SegueError) {
    monitor.lock()
    guard case .open = state, let engine else {
      let isNew = if case .created = state { true } else { false }
      monitor.unlock()
      throw isNew ? SegueError(.invalidState, "app: is not open yet") : SegueError(.invalidated, "app: is closed")
    }
    body(engine, Clock.now)
    settle()
    unlockAndLog()
  }

  /// The same while it closes too; after that, nothing is left to do.
  func performIfOpen(_ body: (AppEngine, Moment) -> Void) {
    monitor.lock()
    if let engine {
      body(engine, Clock.now)
      settle()
    }
    unlockAndLog()
  }

  /// Gives the lock up, and logs what came up while it was held: the log's callback is the host's.
  func unlockAndLog() {
    let logs = self.logs
    self.logs = []
    monitor.unlock()
    for log in logs { Log.write(log.severity, log.message) }
  }

  /// After each call of the engine: bytes go out, deliveries become due, the next deadline is set.
  func settle() {
    guard let engine else { return }
    for delivery in engine.takeDeliveries() {
      if case .log(let severity, let message) = delivery {
        logs.append((severity, message))
      } else {
        due.append(.delivery(delivery))
      }
    }
    let offered = engine.currentActivity
    if current?.id != offered {
      current?.setCurrent(false)
      current = offered.flatMap { activities[$0] }
      current?.setCurrent(true)
    }
    flush()
    gate?.setDeadline(engine.nextDeadline)
    if let complaint = engine.takeComplaint() { leaveHub(complaint) }
    if !due.isEmpty, !dispatcher.isRunningHere { wakeUp.signal() }
  }

  // MARK: The hub, on the library thread

  func start(on loop: Loop) {
    monitor.lock()
    defer { monitor.unlock() }
    guard let gate, watch == nil else { return }
    do throws(SegueError) {
      watch = try Watch(gate.fd, on: loop) { [unowned(unsafe) self] _, _ in
        // `end` closes the watch before this object goes.
        self.pump()
      }
    } catch {
      logs.append((.error, error.message))
    }
  }

  func connected(_ socket: Int32, generation: UInt64) {
    monitor.lock()
    dropConnection()
    self.socket = socket
    hubGeneration = generation
    isWaitingToWrite = false
    gate?.setSocket(socket)
    engine?.connected(Clock.now)
    settle()
    // A host that waits for the former socket takes the new one.
    wakeUp.kick(if: dispatcher.isWaiting)
    unlockAndLog()
  }

  /// Of the hub that it is connected to; nil: to none.
  var generation: UInt64? {
    monitor.lock()
    defer { monitor.unlock() }
    return hubGeneration
  }

  /// Leaves the hub for another that the device has found.
  func disconnect() {
    monitor.lock()
    dropConnection()
    settle()
    unlockAndLog()
  }

  /// Nothing of it happens on the library thread after this.
  func end() {
    monitor.lock()
    flush()
    watch?.close()
    watch = nil
    dropConnection()
    monitor.unlock()
  }

  /// The socket or the deadline is due.
  private func pump() {
    monitor.lock()
    pumpLocked()
    unlockAndLog()
  }

  func pumpLocked() {
    guard let engine else { return }
    let now = Clock.now
    gate?.clearDeadline(now.uptime)
    if socket >= 0 {
      let result = Socket.read(socket) { bytes in engine.receive(bytes, now) }
      if case .closed = result { lostConnection() }
    }
    if let deadline = engine.nextDeadline, deadline <= now.uptime { engine.tick(now) }
    settle()
  }

  private func flush() {
    guard socket >= 0, let link = engine?.link else { return }
    while link.takeOutput({ Socket.write($0, to: socket) }) {}
    isWaitingToWrite = link.hasOutput
    showSocket()
  }

  /// The library thread watches the socket unless a host thread waits for it.
  func showSocket() {
    gate?.show(reading: !dispatcher.isWaiting, writing: isWaitingToWrite && !dispatcher.isWaiting)
  }

  private func dropConnection() {
    guard socket >= 0 else { return }
    gate?.setSocket(nil)
    Descriptors.close(socket)
    socket = -1
    hubGeneration = nil
    engine?.disconnected(Clock.now)
    wakeUp.kick(if: dispatcher.isWaiting)
  }

  private func lostConnection() {
    let generation = hubGeneration ?? 0
    let wasWelcome = engine?.hubGeneration != nil
    dropConnection()
    seekAgain(generation, wasWelcome: wasWelcome)
  }

  /// The hub has no room for a connection.
  func turnedAway(by generation: UInt64) {
    monitor.lock()
    seekAgain(generation, wasWelcome: false)
    monitor.unlock()
  }

  /// The hub has closed the connection: it ends, or has no room. One that is there and turns us away again and again is
  /// no better than one that says nothing.
  private func seekAgain(_ generation: UInt64, wasWelcome: Bool) {
    refusals = wasWelcome ? 0 : refusals + 1
    switch refusals {
    case 0...1: seek(minimum: 1)
    case ..<Device.refusalLimit: device?.onLoop { [self] device in device.waitBriefly(self, for: generation) }
    default:
      refusals = 0
      seek(minimum: generation + 1)
    }
  }

  private func leaveHub(_ complaint: HubComplaint) {
    let generation = hubGeneration ?? 0
    let wasWelcome = engine?.hubGeneration != nil
    dropConnection()
    settle()
    switch complaint {
    case .stalled, .older: seek(minimum: generation + 1)
    case .refused(let error):
      logs.append((.info, "the hub of generation \(generation) says goodbye: \(error.message)"))
      if error.status == .unsupportedVersion {
        device?.onLoop { [self] device in device.wait(self, instead: generation) }
      } else {
        seekAgain(generation, wasWelcome: wasWelcome)
      }
    }
  }

  private func seek(minimum: UInt64) {
    device?.onLoop { [self] device in device.seek(self, minimum: minimum) }
  }
}
