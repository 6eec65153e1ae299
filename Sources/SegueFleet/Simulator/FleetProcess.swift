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
  /// Nil before `begin`, and after the end.
  private(set) var app: RunningApp?
  private let clock: DeviceClock

  /// The runtime folder as the process sees it, opened by `begin`.
  private(set) lazy var directory = FleetDirectory(self)
  /// Nil before `begin`, and after the end.
  private(set) var election: HubElection?
  /// The latest connection to a hub.
  var connection: Connection?
  /// The hub that the process runs, or nil.
  var hub: FleetHub?
  public let offersFrontmostOnly: Bool
  /// The sandbox in which it runs (R13.8); nil: in none.
  var sandbox: Sandbox?
  private let role: Role
  /// Whether the process gets no notice of changes in the folder, but polls.
  var learnsLate = false {
    didSet { if learnsLate { fleet.trace(name, "learns late") } }
  }
  /// The most milliseconds between two polls.
  static let lookTime: Int64 = 5_000

  private var stop = ProcessStop()
  private var queued = QueuedEvents()
  /// Ends of streams. They close with the process.
  private var sockets: [FleetSocket] = []

  /// The callbacks that the app is still owed.
  var obligations = ObligationTracker()
  /// The activity that the app offers, and since when.
  var offered = Offered()

  /// The kinds of processes.
  enum Role {
    /// An app, and the device's hub if it was elected.
    case app
    /// The device's agent, which carries the hub and has no app.
    case agent
    /// A forked child, which does nothing.
    case child
  }

  init(_ name: String, on device: FleetDevice, offersFrontmostOnly: Bool = false, as role: Role = .app) {
    self.role = role
    self.name = name
    self.device = device
    number = device.fleet.takeProcessNumber()
    clock = device.clock
    self.offersFrontmostOnly = offersFrontmostOnly
  }

  var fleet: Fleet { device.fleet }
  var isAgent: Bool { role == .agent }
  var program: (any FleetProgram)? { app?.program }
  public var driver: AppDriver<AppEngine>? { app?.driver }
  public var engine: AppEngine? { app?.driver.engine }
  /// Whether callbacks wait for the host to dispatch. No callback counts as late then.
  public var awaitsDispatch: Bool {
    get { app?.awaitsDispatch ?? false }
    set { app?.awaitsDispatch = newValue }
  }
  public var now: Instant { clock.now }
  public var isAlive: Bool { election != nil }
  /// The agent with all that ships; nil in all other processes.
  var asFleetAgent: FleetAgent? { nil }
  /// It carries a hub, which nobody knows of yet.
  func becameHub(_ hub: FleetHub) {}
  /// As whom an agent takes part at the hub; nil if it does not.
  var participant: Identifier? { nil }
  func offers(_ activity: Identifier) -> Bool { offered.id == activity }
  /// Whether it is stopped, as by SIGSTOP. Its events wait.
  public var isStalled: Bool { stop.isOn }
  /// Uptime at which it last went on after it was stopped.
  var resumedAt: Int64 { stop.endedAt }
  /// Whether it runs.
  var isAwake: Bool { isAlive && !isStalled }

  // MARK: Begin and end

  /// Opens the app, which looks for the hub.
  public func begin(_ program: any FleetProgram, _ engine: AppEngine) {
    app = RunningApp(program: program, driver: AppDriver(engine, in: directory), beganAt: fleet.clock.uptime)
    election = HubElection(in: directory)
    fleet.trace(name, "opens")
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
    stop.begin()
    fleet.push(.resume(self), at: fleet.clock.uptime + milliseconds)
    return true
  }

  /// Ends the process with its device: other devices get no notice.
  func vanish() {
    hub?.vanish()
    guard role != .child else { return stop.drop() }
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
    app = nil
    connection = nil
    election?.remove(self)
    election = nil
    stop.drop()
    closeSockets()
  }

  /// Breaks the reference cycles when the fleet ends.
  func tearDown() {
    connection?.tearDown()
    connection = nil
    hub?.tearDown()
    hub = nil
    app = nil
    election = nil
    stop.drop()
    closeSockets()
  }

  // MARK: Streams

  /// Creates a stream, both ends of which the process holds.
  public func makeSockets() -> (FleetSocket, FleetSocket) {
    let (one, two) = FleetSocket.pair()
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

  /// Takes the streams that have come.
  func takeStreams(_ engine: AppEngine) {
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
    stop.begin()
    device.unsettle(isExpected: false)
    fleet.checker.stalled()
    if let milliseconds { fleet.push(.resume(self), at: fleet.clock.uptime + milliseconds) }
  }

  public func resume() {
    guard isStalled else { return }
    let events = stop.end(at: fleet.clock.uptime)
    if role == .child {
      hub?.end()
      return device.childEnded(self)
    }
    fleet.trace(name, "goes on")
    device.unsettle(isExpected: false)
    fleet.checker.resumed()
    // A hub that reads old messages only now takes them for signs of life.
    fleet.checker.disturb(for: hub == nil ? InvariantChecker.agreementTime : InvariantChecker.silenceTime)
    obligations.resumedAt = fleet.clock.uptime
    directory.listen()
    flush()
    if hub != nil { device.joinAll() }
    for event in events { fleet.push(event, at: fleet.clock.uptime) }
  }

  /// Postpones an event if the process is stopped, and returns whether it is.
  func postpones(_ event: FleetEvent) -> Bool { stop.postpones(event) }

  // MARK: The engine

  /// Calls the engine, unless it is gone, and handles the results.
  public func perform(_ call: (AppEngine, Instant) -> Void) {
    app?.driver.perform(for: self, call)
    app?.program.engineCalled()
  }

  /// Handles the results of a call of the engine.
  public func drain() { app?.driver.drain(for: self) }

  /// Queues the next deadline and the callbacks, and checks the invariants.
  public func schedule() {
    guard let driver else { return }
    let (engine, fleet) = (driver.engine, fleet)
    obligations.keepDeliveries { engine.deliveredOffer(of: $0) != nil }
    if !queued.hasCallbacks, program?.hasCallbacks ?? false {
      queued.hasCallbacks = true
      fleet.push(.callbacks(self), at: fleet.clock.uptime)
    }
    // The app still looks for its hub, so the fleet is not at rest.
    if let readyAt = queued.addSettling(at: engine.readyAt) { fleet.push(.settled(self), at: readyAt) }
    if let next = queued.deadline.add(driver.nextDeadline) { fleet.push(.deadline(self, next), at: next) }
    fleet.checker.noteOffer(of: self, engine)
    fleet.checker.check(self, engine)
  }

  func runCallbacks() {
    queued.hasCallbacks = false
    program?.runCallbacks()
  }

  /// Returns false if the deadline was reset meanwhile.
  func isDue(_ at: Int64) -> Bool { queued.deadline.isDue(at) }

  func tick() {
    queued.deadline.remove()
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

  /// Checks the bound of what waits for the hub.
  func checkQueue() {
    if let link = driver?.engine.link { fleet.checker.checkQueue(link, of: self) }
  }

  /// Queues a search for a hub.
  /// - Parameter search: nil for the first search.
  func queue(_ search: NextHubAttempt?) {
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
