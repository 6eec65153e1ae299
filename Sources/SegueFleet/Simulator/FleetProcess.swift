import SegueDriver
import SegueEngine
import SegueModel
import SegueWire

/// A process on a device of a fleet: an app, and the device's hub if it has fallen to it.
public final class FleetProcess {
  /// As in the trace: device and app.
  public let name: String
  /// What its system calls it.
  let number: Int32
  /// Outlives its processes.
  unowned(unsafe) public let device: FleetDevice
  unowned(unsafe) let fleet: Fleet
  /// Outlives the process: it leaves before it goes. Nil: it has not begun, or has left.
  public private(set) unowned(unsafe) var program: (any FleetProgram)?
  /// Nil: it has not begun, or has left.
  public private(set) var driver: AppDriver?
  private let clock: DeviceClock
  /// The host is to be told something and has yet to look: no promise of ours is late then.
  public var awaitsDispatch = false

  /// Where its device's hubs stand, as it sees it. Opened when it begins.
  private(set) lazy var directory = FleetDirectory(self, on: device)
  /// Nil: it has not begun, or has left.
  private var election: HubElection?
  /// The latest connection to a hub.
  private var connection: Connection?
  /// The hub, if it runs here.
  var hub: FleetHub?
  public let offersFrontmostOnly: Bool
  /// It is not told of changes in the folder, but looks now and then.
  var learnsLate = false {
    didSet { if learnsLate { fleet.trace(name, "learns late") } }
  }
  /// Milliseconds between two looks, at most.
  static let lookTime: Int64 = 5_000
  /// It was forked, and does nothing.
  private var isChild = false

  /// Stopped, as by SIGSTOP: what happens to it waits.
  private(set) var isStalled = false
  private var waiting: [FleetEvent] = []
  /// When the engine is ticked next, as far as that is in the queue.
  private var deadline: Int64?
  private var hasCallbacksQueued = false
  /// Ends of streams, that close with the process.
  private var sockets: [FleetSocket] = []

  // What the promises are held against.
  var obligations = ObligationTracker()
  /// What the app offers by its own account, and since when.
  var offered = Offered()

  init(_ name: String, on device: FleetDevice, offersFrontmostOnly: Bool) {
    self.name = name
    self.device = device
    fleet = device.fleet
    number = device.fleet.takeProcessNumber()
    clock = device.clock
    self.offersFrontmostOnly = offersFrontmostOnly
  }

  public var engine: AppEngine? { driver?.engine }
  public var now: Moment { clock.now }
  public var isAlive: Bool { driver != nil }
  /// It takes part in what happens.
  var isAwake: Bool { isAlive && !isStalled }

  // MARK: Its life

  /// The app opens: it looks for the hub.
  public func begin(_ program: any FleetProgram, _ engine: AppEngine) {
    self.program = program
    driver = AppDriver(engine, in: directory)
    election = HubElection(in: directory)
    fleet.trace(name, "opens")
    // It has to be told of what there is.
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    queue(nil)
  }

  /// The app has closed; what it had to say goes out, and the hub with it.
  public func leave() {
    guard isAlive else { return }
    fleet.trace(name, "closes")
    flush()
    let (election, hasHub) = (election, hub != nil)
    end()
    election?.end()
    // A hub takes the process along once it has said what it has to.
    if !hasHub { device.remove(self) }
  }

  /// It dies without a word, in the middle of what it does.
  public func kill() { kill(leavingChildFor: nil) }

  /// - Parameter milliseconds: for so long a child keeps the lock and the socket of its hub.
  func kill(leavingChildFor milliseconds: Int64?) {
    guard isAlive else { return }
    fleet.trace(name, "is killed", milliseconds == nil ? nil : "but not its child")
    let (device, generation, folder) = (device, hub?.generation, directory.folder)
    connection?.cut(from: 0, fleet)
    hub?.cut()
    die()
    if let generation, let milliseconds { device.leaveChild(with: generation, in: folder, for: milliseconds) }
  }

  /// It is a child that keeps the lock and the socket of a hub, and reads nothing.
  /// - Returns: whether there is something to keep.
  func keepOpen(_ generation: UInt64, for milliseconds: Int64) -> Bool {
    hub = directory.keep(generation)
    guard hub != nil else { return false }
    isChild = true
    isStalled = true
    fleet.push(.resume(self), at: fleet.clock.uptime + milliseconds)
    return true
  }

  /// The same, but its system has nothing more to say to other devices either.
  func vanish() {
    hub?.vanish()
    guard !isChild else { return isStalled = false }
    die()
  }

  private func die() {
    let program = program
    end()
    hub?.end()
    device.remove(self)
    program?.died()
  }

  private func end() {
    fleet.checker.noteDeparture(self)
    driver?.abandon()
    driver = nil
    connection = nil
    election?.remove(self)
    election = nil
    program = nil
    isStalled = false
    waiting = []
    closeSockets()
  }

  /// The fleet ends.
  func tearDown() {
    connection?.tearDown()
    connection = nil
    hub?.tearDown()
    hub = nil
    driver = nil
    election = nil
    program = nil
    waiting = []
    closeSockets()
  }

  // MARK: Streams

  /// Two ends of a stream, which are the process's.
  public func makeSockets() -> (FleetSocket, FleetSocket) {
    let (one, two) = FleetSocket.pair(fleet)
    hold(one)
    hold(two)
    return (one, two)
  }

  private func hold(_ socket: FleetSocket) {
    sockets.removeAll { $0.isClosed }
    sockets.append(socket)
    socket.give(to: .app(self))
  }

  @inline(never)
  private func closeSockets() {
    for socket in sockets { socket.close() }
    sockets = []
  }

  /// It has gone to another.
  func release(_ socket: FleetSocket) { sockets.removeAll { $0 === socket } }

  private func takeStreams(_ engine: AppEngine) {
    for request in engine.takeStreamRequests() {
      guard let socket = unsafeDowncast(request.descriptor, to: FleetDescriptor.self).takeSocket() else {
        engine.refuse(request, SegueError(.malformed, "what came with the message is no stream"))
        continue
      }
      if let error = program?.objection(to: request) {
        engine.refuse(request, engine.objection(to: request) ?? error)
        socket.close()
      } else if engine.take(request) {
        hold(socket)
        program?.keep(socket, of: request)
      } else {
        socket.close()
      }
    }
  }

  /// Its program is called in so many milliseconds.
  public func wake(in milliseconds: Int64) { fleet.push(.wake(self), at: fleet.clock.uptime + milliseconds) }

  // MARK: Stopping

  /// - Parameter milliseconds: nil: until `resume`.
  public func stall(for milliseconds: Int64? = nil) {
    guard isAwake else { return }
    fleet.trace(name, "is stopped")
    isStalled = true
    fleet.checker.stalled()
    if let milliseconds { fleet.push(.resume(self), at: fleet.clock.uptime + milliseconds) }
  }

  public func resume() {
    guard isStalled else { return }
    if isChild {
      isStalled = false
      hub?.end()
      return device.childEnded(self)
    }
    fleet.trace(name, "goes on")
    isStalled = false
    fleet.checker.resumed()
    // A hub that reads only now what was said long ago takes it for a sign of life.
    fleet.checker.disturb(for: hub == nil ? InvariantChecker.agreementTime : InvariantChecker.silenceTime)
    obligations.resumedAt = fleet.clock.uptime
    directory.listen()
    flush()
    if hub != nil { device.joinAll() }
    let events = waiting
    waiting = []
    for event in events { fleet.push(event, at: fleet.clock.uptime) }
  }

  /// Whether an event has to wait because the process is stopped.
  func postpones(_ event: FleetEvent) -> Bool {
    guard isStalled else { return false }
    waiting.append(event)
    return true
  }

  // MARK: The engine

  /// Call it after each call of the engine, before taking the callbacks: sends bytes, and leaves a faulty hub.
  public func drain() {
    guard let driver else { return }
    let departure = driver.drain(now)
    checkQueue()
    if let departure { queue(departure.search) }
  }

  /// To be called then: the next deadline is set.
  /// - Parameter hasCallbacks: the app is to be told something.
  public func settle(hasCallbacks: Bool) {
    guard let driver else { return }
    let (engine, fleet) = (driver.engine, fleet)
    if hasCallbacks, !hasCallbacksQueued {
      hasCallbacksQueued = true
      fleet.push(.callbacks(self), at: fleet.clock.uptime)
    }
    setDeadline(driver, fleet)
    fleet.checker.noteOffer(of: self, engine)
    fleet.checker.check(self, engine)
  }

  func runCallbacks() {
    hasCallbacksQueued = false
    program?.runCallbacks()
  }

  private func setDeadline(_ driver: AppDriver, _ fleet: Fleet) {
    guard let next = driver.nextDeadline, deadline.map({ next < $0 }) ?? true else { return }
    deadline = next
    fleet.push(.deadline(self, next), at: next)
  }

  /// False: the deadline was set anew meanwhile.
  func isDue(_ at: Int64) -> Bool { deadline == at }

  func tick() {
    deadline = nil
    program?.tell { engine, now in
      guard let next = engine.nextDeadline, next <= now.uptime else { return }
      engine.tick(now)
      if let next = engine.nextDeadline, next <= now.uptime {
        fleet.report(name, "a deadline that has passed stays due: it would be busy for ever")
      }
    }
  }

  // MARK: The hub

  /// Something has come from the hub, or its end.
  func receive() {
    program?.tell { engine, now in
      driver?.receive(now)
      takeStreams(engine)
    }
  }

  /// The writer's buffer has room again.
  func flush() {
    driver?.flush(now)
    checkQueue()
  }

  private func checkQueue() {
    if let link = driver?.engine.link { fleet.checker.checkQueue(link, of: self) }
  }

  /// The process looks for a hub in a moment.
  /// - Parameter search: how; nil: for the first time.
  private func queue(_ search: HubSearch?) {
    fleet.push(.seek(self, search), at: fleet.clock.uptime + fleet.random.within(0, 2))
  }

  func seek(_ search: HubSearch?) {
    let uptime = fleet.clock.uptime
    if let search { election?.follow(search, for: self, uptime) } else { election?.add(self, uptime) }
  }

  /// Whether it is connected to the hub that counts.
  var isAtHub: Bool {
    guard let hub = device.hub, case .hub(let other, _) = connection?.owners[1] else { return false }
    return hub === other
  }

  func folderChanged() { election?.directoryChanged(fleet.clock.uptime) }

  /// The time that the election has set has come.
  func tickElection() { election?.tick(fleet.clock.uptime) }
}

extension FleetProcess: HubSeeker {
  public var hubGeneration: UInt64? { driver?.generation }

  public func prepare() throws(SegueError) {}

  public func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory makes no other.
    connection = unsafeDowncast(hub, to: ConnectionEnd.self).connection
    program?.tell { driver?.connected(hub, generation: generation, $1) }
  }

  public func disconnect() {
    program?.tell { driver?.disconnect($1) }
  }

  public func backlogFull(at generation: UInt64) -> HubSearch {
    driver?.backlogFull(at: generation, now) ?? .retry(generation, after: 0)
  }

  public func couldNotConnect(_ error: SegueError) -> Int64 { driver?.couldNotConnect(error) ?? 0 }
}
