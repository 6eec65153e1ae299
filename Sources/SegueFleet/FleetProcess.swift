import SegueEngine
import SegueModel
import SegueWire

/// A process on a device of a fleet: an app, and the device's hub if it has fallen to it.
public final class FleetProcess {
  /// As in the trace: device and app.
  public let name: String
  /// Outlives its processes.
  unowned(unsafe) public let device: FleetDevice
  unowned(unsafe) let fleet: Fleet
  /// Outlives the process: it leaves before it goes. Nil: it has not begun, or has left.
  public private(set) unowned(unsafe) var program: (any FleetProgram)?
  public private(set) var engine: AppEngine?
  private let clock: DeviceClock
  var search = HubSearch()
  /// The host is to be told something and has yet to look: no promise of ours is late then.
  public var awaitsDispatch = false

  /// The connection to the hub, and the hub's generation.
  private(set) var connection: Connection?
  private(set) var generation: UInt64?
  /// The hub, if it runs here.
  var hub: FleetHub?
  let offersFrontmostOnly: Bool

  /// Rises with each search for a hub: those under way are then of no interest any more.
  private var searches: UInt64 = 0

  /// Stopped, as by SIGSTOP: what happens to it waits.
  private(set) var isStalled = false
  private var waiting: [FleetEvent] = []
  /// When the engine is ticked next, as far as that is in the queue.
  private var deadline: Int64?
  private var hasCallbacksQueued = false
  /// Ends of streams, that close with the process.
  private var sockets: [FleetSocket] = []

  // What the promises are held against.
  var ledger = Ledger()
  /// What the app offers by its own account, and since when.
  var offered = Offered()

  init(_ name: String, on device: FleetDevice, offersFrontmostOnly: Bool) {
    self.name = name
    self.device = device
    fleet = device.fleet
    clock = device.clock
    self.offersFrontmostOnly = offersFrontmostOnly
  }

  public var now: Moment { clock.now }
  public var isAlive: Bool { engine != nil }
  /// It takes part in what happens.
  var isAwake: Bool { isAlive && !isStalled }

  // MARK: Its life

  /// The app opens: it looks for the hub.
  public func begin(_ program: any FleetProgram, _ engine: AppEngine) {
    self.program = program
    self.engine = engine
    fleet.trace(name, "opens")
    // It has to be told of what there is.
    fleet.disturb(for: Fleet.agreementTime)
    seek(minimum: 1, after: 0)
  }

  /// The app has closed; what it had to say goes out, and the hub with it.
  public func leave() {
    guard isAlive else { return }
    fleet.trace(name, "closes")
    flush()
    end()
    hub?.close()
    device.remove(self)
  }

  /// It dies without a word, in the middle of what it does.
  public func kill() {
    guard isAlive else { return }
    fleet.trace(name, "is killed")
    connection?.cut(from: 0, fleet)
    hub?.cut()
    die()
  }

  /// The same, but its system has nothing more to say to other devices either.
  func vanish() {
    hub?.vanish()
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
    fleet.noteDeparture(self)
    connection?.close(0, fleet)
    connection = nil
    generation = nil
    engine = nil
    program = nil
    isStalled = false
    waiting = []
    closeSockets()
  }

  /// The fleet ends.
  func dissolve() {
    connection?.dissolve()
    connection = nil
    hub = nil
    engine = nil
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
    fleet.stalledCount += 1
    if let milliseconds { fleet.push(.resume(self), at: fleet.clock.uptime + milliseconds) }
  }

  public func resume() {
    guard isStalled else { return }
    fleet.trace(name, "goes on")
    isStalled = false
    fleet.stalledCount -= 1
    // A hub that reads only now what was said long ago takes it for a sign of life.
    fleet.disturb(for: hub == nil ? Fleet.agreementTime : Fleet.silenceTime)
    ledger.resumedAt = fleet.clock.uptime
    flush()
    if let hub {
      hub.flushAll()
      device.joinAll()
    }
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

  /// To be called after each call of the engine: bytes go out, the next deadline is set, a hub that will not do is left.
  /// - Parameter hasCallbacks: the app is to be told something.
  public func settle(hasCallbacks: Bool) {
    guard let engine else { return }
    let fleet = fleet
    flush(engine, fleet)
    if hasCallbacks, !hasCallbacksQueued {
      hasCallbacksQueued = true
      fleet.push(.callbacks(self), at: fleet.clock.uptime)
    }
    if let complaint = engine.takeComplaint() { heed(complaint) }
    setDeadline(engine, fleet)
    fleet.noteOffer(of: self, engine)
    fleet.check(self, engine)
  }

  func runCallbacks() {
    hasCallbacksQueued = false
    program?.runCallbacks()
  }

  private func setDeadline(_ engine: AppEngine, _ fleet: Fleet) {
    guard let next = engine.nextDeadline, deadline.map({ next < $0 }) ?? true else { return }
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

  func receive(_ segment: Connection.Segment) {
    search.heard()
    program?.tell { engine, now in
      engine.receive(segment.bytes, with: segment.descriptor, now)
      takeStreams(engine)
    }
  }

  /// The writer's buffer has room again.
  func flush() { if let engine { flush(engine, fleet) } }

  private func flush(_ engine: AppEngine, _ fleet: Fleet) {
    guard let link = engine.link, link.hasOutput, let connection else { return }
    while link.takeOutput({ connection.write($0, link.outgoingDescriptor, from: 0, fleet) }) {}
    if Fleet.isOverfull(link) { fleet.reportOverfull(link, of: self) }
  }

  func connected(_ connection: Connection, generation: UInt64) {
    drop()
    self.connection = connection
    self.generation = generation
    search.connected(now)
    program?.tell { $0.connected($1) }
  }

  func isConnected(by connection: Connection) -> Bool { self.connection === connection }

  /// The hub has closed the connection.
  func lost() {
    let generation = generation ?? 0
    let wasWelcome = engine?.hubGeneration != nil
    leaveHub()
    follow(search.lost(generation, wasWelcome: wasWelcome, now) { device.hubLives(generation) })
  }

  /// The device has a hub of a higher generation.
  func learnOfHub(_ highest: UInt64) {
    if let hub, hub.generation < highest { hub.stepDown() }
    if let generation {
      guard generation < highest else { return }
      leaveHub()
    }
    seek(minimum: highest, after: 0)
  }

  private func heed(_ complaint: HubComplaint) {
    let generation = generation ?? 0
    let wasWelcome = engine?.hubGeneration != nil
    let step = search.heed(complaint, generation, wasWelcome: wasWelcome, now) { device.hubLives(generation) }
    if case .wait = step {
      engine?.waitForHub(now)
    } else {
      leaveHub()
    }
    follow(step)
  }

  private func leaveHub() {
    drop()
    program?.tell { $0.disconnected($1) }
  }

  private func drop() {
    connection?.close(0, fleet)
    connection = nil
    generation = nil
  }

  private func follow(_ step: HubSearch.Step) {
    switch step {
    case .wait: break
    case .seek(let minimum, let time): seek(minimum: minimum, after: time)
    case .seekLater(let time): seek(minimum: 1, after: time)
    }
  }

  /// There is no hub, and it cannot be one.
  func seekLater() { seek(minimum: 1, after: 50) }

  private func seek(minimum: UInt64, after time: Int64) {
    searches += 1
    fleet.push(
      .seek(self, minimum: minimum, search: searches), at: fleet.clock.uptime + time + fleet.random.within(0, 2))
  }

  func seeks(_ search: UInt64) -> Bool { isAlive && search == searches && connection == nil }
}
