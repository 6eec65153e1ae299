// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// A process on a device of a fleet: it runs an app, and the device's hub if it was elected.
public class FleetProcess {
  /// Its name in the trace: device and app.
  public let name: String
  /// Its process identifier.
  public let number: Int32
  /// The device outlives its processes, as the fleet does.
  unowned(unsafe) public let device: FleetDevice
  unowned(unsafe) let fleet: Fleet
  /// The program outlives the process, which it leaves first. Nil before `begin`, and after the end.
  public private(set) unowned(unsafe) var program: (any FleetProgram)?
  /// Nil before `begin`, and after the end.
  public private(set) var driver: AppDriver<AppEngine>?
  private let clock: DeviceClock
  /// Whether callbacks wait for the host to dispatch. No callback counts as late then.
  public var awaitsDispatch = false

  /// The runtime folder as the process sees it, opened by `begin`.
  private(set) lazy var directory = FleetDirectory(self, on: device)
  /// Nil before `begin`, and after the end.
  private(set) var election: HubElection?
  /// The latest connection to a hub.
  var connection: Connection?
  /// The hub that the process runs, or nil.
  var hub: FleetHub?
  public let offersFrontmostOnly: Bool
  /// The sandbox in which it runs (R13.8); nil: in none.
  var sandbox: Sandbox?
  /// The device's agent, which carries the hub and has no app.
  let isAgent: Bool
  /// Whether the process gets no notice of changes in the folder, but polls.
  var learnsLate = false {
    didSet { if learnsLate { fleet.trace(name, "learns late") } }
  }
  /// The most milliseconds between two polls.
  static let lookTime: Int64 = 5_000
  /// Whether it is a forked child, which does nothing.
  private var isChild = false

  /// Whether it is stopped, as by SIGSTOP. Its events wait.
  private(set) var isStalled = false
  private var waiting: [FleetEvent] = []
  /// Uptime at which it last went on after it was stopped.
  private(set) var resumedAt: Int64 = .min
  /// The uptime of the engine's deadline that is in the queue.
  private var deadline: Int64?
  private var settlesAt: Int64?
  private var hasCallbacksQueued = false
  /// Ends of streams. They close with the process.
  private var sockets: [FleetSocket] = []

  /// Uptime at which its app opened.
  private(set) var beganAt: Int64 = 0

  /// The callbacks that the app is still owed.
  var obligations = ObligationTracker()
  /// The continuations that the agent delivers, until they are over.
  var deliveries: [Identifier] = []
  /// The activity that the app offers, and since when.
  var offered = Offered()

  init(_ name: String, on device: FleetDevice, offersFrontmostOnly: Bool, isAgent: Bool = false) {
    self.isAgent = isAgent
    self.name = name
    self.device = device
    fleet = device.fleet
    number = device.fleet.takeProcessNumber()
    clock = device.clock
    self.offersFrontmostOnly = offersFrontmostOnly
  }

  public var engine: AppEngine? { driver?.engine }
  public var now: Instant { clock.now }
  public var isAlive: Bool { election != nil }
  /// The agent with all that ships; nil in all other processes.
  var asFleetAgent: FleetAgent? { nil }
  /// It carries a hub, which nobody knows of yet.
  func becameHub(_ hub: FleetHub) {}
  /// As whom an agent takes part at the hub; nil if it does not.
  var participant: Identifier? { nil }
  func offers(_ activity: Identifier) -> Bool { offered.id == activity }
  /// Whether it runs.
  var isAwake: Bool { isAlive && !isStalled }

  // MARK: Begin and end

  /// Opens the app, which looks for the hub.
  public func begin(_ program: any FleetProgram, _ engine: AppEngine) {
    self.program = program
    driver = AppDriver(engine, in: directory)
    election = HubElection(in: directory)
    fleet.trace(name, "opens")
    beganAt = fleet.clock.uptime
    // The app has to learn of all offers.
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    queue(nil)
  }

  /// The agent starts: it takes the place of the hub.
  func beginAgent() {
    election = HubElection(in: directory, isAgent: true)
    fleet.trace(name, "starts")
    queue(nil)
  }

  /// Ends the process after the app has closed. Sends the last messages of the app and of the hub. A process that is
  /// stopped goes on first: it does nothing before, and what waits for its hub would be lost.
  public func leave() {
    guard isAlive else { return }
    resume()
    fleet.trace(name, "closes")
    flush()
    let (election, hasHub) = (election, hub != nil)
    if hasHub { device.unsettle(isExpected: isAgent) }
    end()
    election?.end()
    // A hub removes the process once its last messages are sent.
    if !hasHub { device.remove(self) }
  }

  /// Kills the process, as SIGKILL does.
  public func kill() { kill(leavingChildFor: nil) }

  /// Kills the process.
  /// - Parameter milliseconds: for which a child keeps the lock and the socket of the hub; nil for no child.
  func kill(leavingChildFor milliseconds: Int64?) {
    guard isAlive else { return }
    fleet.trace(name, "is killed", milliseconds == nil ? nil : "but not its child")
    if hub != nil { device.unsettle(isExpected: isAgent && milliseconds == nil) }
    let (device, generation, folder) = (device, hub?.generation, directory.folder)
    connection?.cut(from: 0, fleet)
    hub?.cut()
    die()
    if let generation, let milliseconds { device.leaveChild(with: generation, in: folder, for: milliseconds) }
  }

  /// Makes it a child that keeps the lock and the socket of a hub, and reads nothing.
  /// - Returns: false if the hub has neither.
  func keepOpen(_ generation: UInt64, for milliseconds: Int64) -> Bool {
    hub = directory.keep(generation)
    guard hub != nil else { return false }
    isChild = true
    isStalled = true
    fleet.push(.resume(self), at: fleet.clock.uptime + milliseconds)
    return true
  }

  /// Ends the process with its device: other devices get no notice.
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

  /// Its end, in whichever way.
  func end() {
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

  /// Breaks the reference cycles when the fleet ends.
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

  /// Creates a stream, both ends of which the process holds.
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

  /// Removes a socket that another process or the hub has taken.
  func release(_ socket: FleetSocket) { sockets.remove(socket) }

  private func takeStreams(_ engine: AppEngine) {
    for request in engine.takeStreamRequests() {
      guard let socket = unsafeDowncast(request.descriptor, to: FleetDescriptor.self).takeSocket() else {
        engine.refuse(request, SegueError(.malformed, "what came with the message is no stream"))
        continue
      }
      if let error = program?.rejection(to: request) {
        engine.refuse(request, engine.rejection(to: request) ?? error)
        socket.close()
      } else if engine.take(request) {
        hold(socket)
        program?.keep(socket, of: request)
      } else {
        socket.close()
      }
    }
  }

  /// Its time has come: an agent that has lost its folder ends.
  func woken() { if isAgent { leave() } else { program?.woken() } }

  /// Calls `FleetProgram.woken` after that many milliseconds.
  public func wake(in milliseconds: Int64) { fleet.push(.wake(self), at: fleet.clock.uptime + milliseconds) }

  // MARK: Stopping

  /// Stops the process, as SIGSTOP does.
  /// - Parameter milliseconds: nil to stop it until `resume`.
  public func stall(for milliseconds: Int64? = nil) {
    guard isAwake else { return }
    fleet.trace(name, "is stopped")
    isStalled = true
    device.unsettle(isExpected: false)
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
    device.unsettle(isExpected: false)
    resumedAt = fleet.clock.uptime
    fleet.checker.resumed()
    // A hub that reads old messages only now takes them for signs of life.
    fleet.checker.disturb(for: hub == nil ? InvariantChecker.agreementTime : InvariantChecker.silenceTime)
    obligations.resumedAt = fleet.clock.uptime
    directory.listen()
    flush()
    if hub != nil { device.joinAll() }
    let events = waiting
    waiting = []
    for event in events { fleet.push(event, at: fleet.clock.uptime) }
  }

  /// Postpones an event if the process is stopped, and returns whether it is.
  func postpones(_ event: FleetEvent) -> Bool {
    guard isStalled else { return false }
    waiting.append(event)
    return true
  }

  // MARK: The engine

  /// Calls the engine, unless it is gone, and handles the results.
  public func perform(_ call: (AppEngine, Instant) -> Void) {
    driver?.perform(for: self, call)
    program?.engineCalled()
  }

  /// Handles the results of a call of the engine.
  public func drain() { driver?.drain(for: self) }

  /// Queues the next deadline and the callbacks, and checks the invariants.
  public func schedule() {
    guard let driver else { return }
    let (engine, fleet) = (driver.engine, fleet)
    if !deliveries.isEmpty { deliveries.removeAll { engine.deliveredOffer(of: $0) == nil } }
    if !hasCallbacksQueued, program?.hasCallbacks ?? false {
      hasCallbacksQueued = true
      fleet.push(.callbacks(self), at: fleet.clock.uptime)
    }
    if engine.readyAt != settlesAt {
      settlesAt = engine.readyAt
      // The app still looks for its hub, so the fleet is not at rest.
      if let settlesAt { fleet.push(.settled(self), at: settlesAt) }
    }
    setDeadline(driver, fleet)
    fleet.checker.noteOffer(of: self, engine)
    fleet.checker.check(self, engine)
  }

  func runCallbacks() {
    hasCallbacksQueued = false
    program?.runCallbacks()
  }

  private func setDeadline(_ driver: AppDriver<AppEngine>, _ fleet: Fleet) {
    guard let next = driver.nextDeadline, deadline.map({ next < $0 }) ?? true else { return }
    deadline = next
    fleet.push(.deadline(self, next), at: next)
  }

  /// Returns false if the deadline was reset meanwhile.
  func isDue(_ at: Int64) -> Bool { deadline == at }

  func tick() {
    deadline = nil
    pump(isReadable: false)
  }

  private func pump(isReadable: Bool) {
    driver?.pump(isReadable: isReadable, isDue: !isReadable, now, for: self)
    program?.engineCalled()
    if !isReadable, let next = engine?.nextDeadline, next <= now.uptime {
      fleet.report(name, "a deadline that has passed stays due: it would be busy for ever")
    }
  }

  // MARK: The hub

  /// Reads from the hub.
  func receive() { pump(isReadable: true) }

  /// Writes to the hub, whose connection has room again.
  func flush() {
    driver?.flush(now)
    checkQueue()
  }

  private func checkQueue() {
    if let link = driver?.engine.link { fleet.checker.checkQueue(link, of: self) }
  }

  /// Queues a search for a hub.
  /// - Parameter search: nil for the first search.
  private func queue(_ search: NextHubAttempt?) {
    fleet.push(.seek(self, search), at: fleet.clock.uptime + fleet.random.within(0, 2))
  }

  func seek(_ search: NextHubAttempt?) {
    let uptime = fleet.clock.uptime
    if isAgent {
      election?.takePlace(uptime)
    } else if let search {
      election?.follow(search, for: self, uptime)
    } else {
      election?.add(self, uptime)
    }
  }

  /// Whether it is connected to the hub of the highest generation.
  var isAtHub: Bool {
    guard let hub = device.hub, case .hub(let other, _) = connection?.owners[1] else { return false }
    return hub === other
  }

  func folderChanged() { election?.directoryChanged(fleet.clock.uptime) }

  /// Handles the timer of the election.
  func tickElection() { election?.tick(fleet.clock.uptime) }
}

extension FleetProcess: AppDriverOwner {
  public func inputHandled() { if let engine { takeStreams(engine) } }
  public func follow(_ loss: HubLoss) { queue(loss.search) }

  public func setTimer(_ uptime: Int64?) {
    checkQueue()
    schedule()
  }
}

extension FleetProcess: HubSeeker {
  public var hubGeneration: UInt64? { driver?.generation }

  public func prepare() throws(SegueError) {}

  public func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory creates no other kind.
    connection = unsafeDowncast(hub, to: ConnectionEnd.self).connection
    perform { driver?.connected(hub, generation: generation, $1) }
  }

  public func disconnect() {
    perform { driver?.disconnect($1) }
  }

  public func superseded(by generation: UInt64) -> NextHubAttempt {
    var next = NextHubAttempt.retry(generation, after: 0)
    perform { if let driver { next = driver.superseded(by: generation, $1) } }
    return next
  }

  public func backlogFull(at generation: UInt64) -> NextHubAttempt {
    driver?.backlogFull(at: generation, now) ?? .retry(generation, after: 0)
  }

  public func couldNotConnect(_ error: SegueError) -> Int64 { driver?.couldNotConnect(error) ?? 0 }
}
