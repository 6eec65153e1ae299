// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueApp
import SegueFleet
import SegueModel
import SegueSystem
import SegueTransport
import Synchronization

/// A virtual fleet that the host drives. One lock guards all of it, including its apps. Callbacks run inside `step`,
/// `run` and `advance`, without the lock, on the calling thread.
final class LiveFleet: HandleObject {
  /// The most milliseconds of `advance`: a day.
  static let advanceLimit: UInt64 = 86_400_000
  /// The limits of a workload.
  static let workloadLimits = (devices: 64, apps: 400, events: 100_000)

  let monitor = ConditionLock()
  let clock: FleetClock
  /// Guarded by the lock.
  let fleet: Fleet
  /// The stepping thread.
  private let stepper = Atomic<pthread_t>(0)
  /// Work to do without the lock: contexts to destroy, apps to close, lines to log.
  private var deferred: [() -> Void] = []
  /// The open apps.
  private var apps: [HostFleetEnvironment] = []
  /// Streams of its apps.
  private var streams: [FleetStream] = []
  /// Readable when `wait` has to check again; negative if there is none yet.
  private var wakeDescriptor: Int32 = -1
  private var isAwaited = false

  init(seed: UInt64) {
    fleet = Fleet(seed: seed)
    clock = fleet.clock
  }

  deinit { Descriptors.close(wakeDescriptor) }

  /// Runs `body` with the fleet, under the lock.
  func perform<Result>(_ body: (Fleet) throws(SegueError) -> Result) throws(SegueError) -> Result {
    monitor.lock()
    defer { unlockAndTidy() }
    return try body(fleet)
  }

  func read<Result>(_ body: (Fleet) -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return body(fleet)
  }

  /// Queues work to do without the lock.
  func later(_ action: @escaping () -> Void) { deferred.append(action) }

  private func unlockAndTidy() {
    let deferred = self.deferred
    self.deferred = []
    monitor.unlock()
    for action in deferred { action() }
  }

  /// Called with the lock, like the next one.
  func opened(_ app: HostFleetEnvironment) { apps.append(app) }
  func closed(_ app: HostFleetEnvironment) { apps.remove(app) }

  /// Whether this thread runs a callback of one of its apps: the fleet must not advance then. Called with the lock.
  private var isInCallback: Bool {
    stepper.load(ordering: .relaxed) == pthread_self() || apps.contains { $0.isInCallback }
  }

  // MARK: Devices and network

  func addDevice(_ name: String) throws(SegueError) -> LiveFleetDevice {
    LiveFleetDevice(try perform { (fleet) throws(SegueError) in try fleet.addDevice(name) }, of: self)
  }

  /// Kills an app; nothing of it runs afterwards. Throws INVALID_ARGUMENT if it is of another fleet, INVALID_STATE if
  /// it is not open.
  func kill(_ app: App) throws(SegueError) {
    try perform { (_) throws(SegueError) in try process(of: app).kill() }
  }

  /// Stops an app, as SIGSTOP does, or continues it. Throws the same.
  func setStopped(_ app: App, _ isStopped: Bool) throws(SegueError) {
    try perform { (_) throws(SegueError) in
      let process = try process(of: app)
      if isStopped { process.stall() } else { process.resume() }
    }
  }

  private func process(of app: App) throws(SegueError) -> FleetProcess {
    guard app.monitor === monitor else { throw SegueError(.invalidArgument, "app: is not of this fleet") }
    // Apps of a fleet have no other environment.
    guard let process = unsafeDowncast(app.environment, to: FleetEnvironment.self).process else {
      throw SegueError(.invalidState, "app: is not open")
    }
    return process
  }

  func setLinksAll(_ linksAll: Bool) { read { $0.linksAll = linksAll } }
  func heal() { read { $0.heal() } }

  /// - Parameters: least and most are in milliseconds.
  func setDelay(_ least: UInt32, _ most: UInt32) throws(SegueError) {
    try perform { (fleet) throws(SegueError) in try fleet.network.setDelay(Int64(least), Int64(most)) }
  }

  func setFaults(loss: Double, duplication: Double, reordering: Double) throws(SegueError) {
    try perform { (fleet) throws(SegueError) in
      try fleet.network.setFaults(loss: loss, duplication: duplication, reordering: reordering)
    }
  }

  // MARK: Time

  /// Executes the next event. False if nothing is left that could happen (`Fleet.isIdle`).
  func step() throws(SegueError) -> Bool {
    try drive { () throws(SegueError) in !fleet.isIdle && oneStep(until: .max) }
  }

  /// Steps until nothing is in progress.
  func run() throws(SegueError) -> Int {
    try drive { () throws(SegueError) in
      var steps = 0
      while fleet.isBusy, oneStep(until: .max) {
        steps += 1
        guard steps < Fleet.runLimit else {
          throw SegueError(.limitExceeded, "fleet: something is under way after \(Fleet.runLimit) steps")
        }
      }
      return steps
    }
  }

  func advance(_ milliseconds: UInt64) throws(SegueError) -> Int {
    guard milliseconds <= Self.advanceLimit else {
      throw SegueError(.invalidArgument, "milliseconds: at most \(Self.advanceLimit), a day")
    }
    return try drive { () throws(SegueError) in
      let end = clock.uptime + Int64(milliseconds)
      var steps = 0
      while oneStep(until: end) { steps += 1 }
      fleet.moveTime(to: end)
      return steps
    }
  }

  /// Asks the agent of a device, and advances the fleet until it answers.
  /// - Parameters:
  ///   - timeout: milliseconds of the fleet for the answer, from when this thread has the fleet.
  ///   - process: the one that asks; nil: it has ended.
  /// Throws CONNECTION_UNAVAILABLE (no agent runs, or it ends), REMOTE_APPLICATION_TIMED_OUT, BUSY, CANCELLED (the
  /// process has ended), what it answers.
  func askAgent(
    of device: FleetDevice, _ request: Value, timeout: Int64, process: () -> FleetProcess?
  ) throws(SegueError) -> Value {
    try drive { () throws(SegueError) in
      let deadline = clock.uptime + timeout
      let cancelled = SegueError(.cancelled, "agent: the app was closed before it answered")
      guard let number = process()?.number else { throw cancelled }
      guard let agent = device.fleetAgent else {
        throw SegueError(.connectionUnavailable, "agent: none runs on \(device.name)")
      }
      var answer: Result<Value, SegueError>?
      let client = agent.handle(request, ofProcess: number) { answer = $0 }
      defer { agent.abandon(client) }
      while answer == nil {
        guard process() != nil else { throw cancelled }
        guard agent.isAlive else { throw SegueError(.connectionUnavailable, "the agent has ended") }
        if oneStep(until: deadline) { continue }
        fleet.moveTime(to: deadline)
        throw SegueError(.remoteApplicationTimedOut, "the agent does not answer")
      }
      guard let answer else { throw SegueError(.remoteApplicationTimedOut, "the agent does not answer") }
      return try answer.get()
    }
  }

  /// Steps until `isDone`, or that many milliseconds have passed.
  /// - Parameter milliseconds: negative for no limit, but only as long as something can still happen (`Fleet.isIdle`).
  func advance(_ milliseconds: Int32, until isDone: () -> Bool) throws(SegueError) {
    try drive { () throws(SegueError) in
      let end = milliseconds < 0 ? nil : clock.uptime + Int64(milliseconds)
      while !isDone() {
        if end == nil, fleet.isIdle { return }
        if oneStep(until: end ?? .max) { continue }
        if let end { fleet.moveTime(to: end) }
        return
      }
    }
  }

  /// Waits, in real time, until there is work: another thread has called or answered, or a host has written to a
  /// stream. False if the time is up.
  func wait(_ milliseconds: Int32) throws(SegueError) -> Bool {
    monitor.lock()
    defer { unlockAndTidy() }
    guard !isAwaited, !isInCallback else {
      throw SegueError(.busy, "fleet: another thread waits for it, or this is one of its callbacks")
    }
    if wakeDescriptor < 0 { wakeDescriptor = try Descriptors.eventDescriptor() }
    isAwaited = true
    defer { isAwaited = false }
    let deadline = Clock.uptime + Int64(max(0, milliseconds))
    while true {
      Descriptors.reset(wakeDescriptor)
      attendStreams()
      if fleet.isBusy { return true }
      let left = deadline - Clock.uptime
      guard left > 0 else { return false }
      var descriptors = [pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)]
      for stream in streams { if let wanted = stream.wanted { descriptors.append(wanted) } }
      unlockAndTidy()
      poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: left))
      monitor.lock()
    }
  }

  /// Called with the lock, when there may be work.
  func wake() { if isAwaited, fleet.isBusy { Descriptors.raise(wakeDescriptor) } }

  /// Runs a random workload: see `Workload`.
  func play(devices: Int, apps: Int, events: Int) throws(SegueError) {
    let limits = Self.workloadLimits
    guard 1...limits.devices ~= devices, 1...limits.apps ~= apps, 0...limits.events ~= events else {
      throw SegueError(
        .invalidArgument,
        "play: 1...\(limits.devices) devices, 1...\(limits.apps) apps, 0...\(limits.events) events")
    }
    try drive { () throws(SegueError) in
      guard fleet.devices.isEmpty else { throw SegueError(.invalidState, "fleet: has devices already") }
      try Workload.play(in: fleet, devices: devices, apps: apps, events: events)
    }
  }

  /// Runs `body` with the lock, by one thread at a time, and not inside a callback.
  private func drive<Result>(_ body: () throws(SegueError) -> Result) throws(SegueError) -> Result {
    monitor.lock()
    guard stepper.load(ordering: .relaxed) == 0, !isInCallback else {
      monitor.unlock()
      throw SegueError(.busy, "fleet: another thread moves it, or this is one of its callbacks")
    }
    stepper.store(pthread_self(), ordering: .relaxed)
    defer {
      stepper.store(0, ordering: .relaxed)
      unlockAndTidy()
    }
    attendStreams()
    return try body()
  }

  private func oneStep(until end: Int64) -> Bool {
    guard fleet.step(until: end) else { return false }
    if !deferred.isEmpty {
      unlockAndTidy()
      monitor.lock()
    }
    return true
  }

  // MARK: Streams

  /// - Parameter fd: the other end of the host's socket, owned from now on.
  func add(_ socket: FleetSocket, _ fd: Int32) {
    if let stream = FleetStream(socket, fd) { streams.append(stream) } else { socket.close() }
  }

  func carry(_ socket: FleetSocket) { streams.first { $0.socket === socket }?.carry() }

  /// The host may have written, read or closed: handles that next. With the lock.
  func attendStreams() {
    streams.removeAll { $0.isOver }
    for stream in streams where stream.isReady { stream.socket.notice() }
  }

  // MARK: Callbacks

  /// Milliseconds since the fleet was created.
  var elapsed: UInt64 { UInt64(clamping: clock.elapsed) }
  var trace: String { read { $0.log.lines } }
  var traceHash: UInt64 { read { $0.log.hash } }
  /// The first violated invariant, or nil.
  var violation: String? { read { $0.violation } }
}

extension App {
  /// An app of a virtual fleet, which the host drives.
  convenience init(_ settings: AppSettings, on device: LiveFleetDevice) {
    self.init(settings, in: HostFleetEnvironment(on: device), hasSystemClock: false)
  }
}

/// A device of a fleet, as the host holds it.
final class LiveFleetDevice: HandleObject {
  let fleet: LiveFleet
  let device: FleetDevice

  init(_ device: FleetDevice, of fleet: LiveFleet) {
    self.device = device
    self.fleet = fleet
  }

  /// Starts the agent. Throws INVALID_STATE if the device is down, or one runs.
  func startAgent() throws(SegueError) {
    try fleet.perform { (_) throws(SegueError) in try device.startFleetAgent { FleetAgent(on: $0) } }
  }

  /// Ends the agent, in order or as SIGKILL does. Throws INVALID_STATE if none runs.
  func endAgent(isKilled: Bool) throws(SegueError) {
    try fleet.perform { (_) throws(SegueError) in try device.endFleetAgent(isKilled: isKilled) }
  }

  /// Installs an app, by its manifest.
  func install(_ declaration: AppDeclaration, _ start: @escaping () -> Void) {
    fleet.read { _ in
      // The host's function runs without the lock. The fleet outlives its devices, which hold this closure.
      device.install(declaration) { [unowned(unsafe) fleet] in fleet.later(start) }
    }
  }

  /// Uninstalls an app. Throws NOT_FOUND.
  func uninstall(_ bundleIdentifier: String) throws(SegueError) {
    try fleet.perform { (_) throws(SegueError) in try device.uninstall(bundleIdentifier) }
  }

  func crash() { try? fleet.perform { (_) throws(SegueError) in device.crash() } }
  func restart() { fleet.read { _ in device.restart() } }

  func setLinked(_ other: LiveFleetDevice, _ isLinked: Bool) throws(SegueError) {
    try fleet.perform { (fleet) throws(SegueError) in try fleet.setLinked(device, other.device, isLinked) }
  }

  /// - Parameter other: nil for all others.
  func partition(from other: LiveFleetDevice?) throws(SegueError) {
    try fleet.perform { (fleet) throws(SegueError) in try fleet.partition(device, from: other?.device) }
  }
}
