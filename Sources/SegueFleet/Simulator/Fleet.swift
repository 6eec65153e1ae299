// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// A virtual fleet: devices, their hubs and apps, and the network between them, in simulated time that advances only by
/// calls. The engines are the product's; the fleet connects them, and contains no rule of Handoff. All randomness comes
/// from a seed: the same seed and the same calls give the same trace, byte for byte.
///
/// Use a fleet on one thread at a time.
public final class Fleet {
  /// The most steps of `run`.
  public static let runLimit = 10_000_000
  /// The most milliseconds of `advance`: a year.
  public static let advanceLimit: Int64 = 366 * 86_400_000
  /// The most devices of a fleet.
  public static let deviceLimit = 65_536

  public let seed: UInt64
  public let clock = FleetClock()
  public var network = Network() {
    // Bytes in flight keep the settings with which they were sent.
    didSet { checker.disturb(for: max(oldValue.longestDelay, network.longestDelay)) }
  }
  /// Whether a new device is linked with all existing ones.
  public var linksAll = true
  public private(set) var devices: [FleetDevice] = []
  /// Devices by name, as bytes. Never iterated.
  private var named: [[UInt8]: FleetDevice] = .init()
  public internal(set) var log = Trace()
  /// The first violated invariant, or nil.
  public var violation: String? { log.violation }

  var random: SeededRandom
  private var schedule = FleetSchedule()
  private var lastProcess: Int32 = 0
  /// The bound of the steps of `advance` at one time.
  var bound = StepBound()

  private(set) lazy var checker = InvariantChecker(self)
  /// The signatures of all accounts.
  let signatures = StandInCryptography.Signatures()
  private var reachability = Reachability()
  /// The agents that have ended, and still refer to what they have left.
  private var ended: [FleetAgent] = []

  /// Whether nothing comes from one device to the other until `heal`.
  func isCut(_ one: FleetDevice, _ other: FleetDevice) -> Bool { reachability.isCut(one.index, other.index) }

  public init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  deinit {
    closeEnded()
    // Processes, hubs and connections retain each other.
    for device in devices { device.tearDown() }
  }

  // MARK: Devices

  public func addDevice(_ name: String) throws(SegueError) -> FleetDevice {
    try Text.check(name, "name", atMost: Limits.identifier)
    let key = Text.bytes(name)
    guard named[key] == nil else {
      throw SegueError(.invalidArgument, "name: the fleet has a device of this name")
    }
    guard devices.count < Self.deviceLimit else {
      throw SegueError(.limitExceeded, "fleet: \(Self.deviceLimit) devices are the most")
    }
    let device = FleetDevice(name, devices.count, of: self)
    devices.append(device)
    named[key] = device
    trace(name, "is there")
    if linksAll { for other in devices.dropLast() { makeLink(other, device) } }
    return device
  }

  /// Links two devices, or removes their link.
  public func setLinked(_ one: FleetDevice, _ two: FleetDevice, _ isLinked: Bool) throws(SegueError) {
    try checkPair(one, two)
    // The center of a star has many links.
    let known = one.links.count < two.links.count ? one.link(to: two) : two.link(to: one)
    guard isLinked != (known?.isWanted ?? false) else { return }
    trace(one.name, isLinked ? "is to be linked with" : "is to be linked no longer with", two.name)
    checker.disturb(for: InvariantChecker.agreementTime)
    if isLinked {
      let link = known ?? makeLink(one, two)
      link.isWanted = true
      one.join(link)
    } else if let known {
      known.isWanted = false
      known.close(self)
    }
  }

  @discardableResult
  private func makeLink(_ one: FleetDevice, _ two: FleetDevice) -> DeviceLink {
    let link = DeviceLink(one, two)
    one.add(link)
    two.add(link)
    one.join(link)
    return link
  }

  /// Partitions two devices, without notice to either.
  /// - Parameter two: nil for all others.
  public func partition(_ one: FleetDevice, from two: FleetDevice?) throws(SegueError) {
    if let two {
      try checkPair(one, two)
    } else if one.fleet !== self {
      throw SegueError(.invalidArgument, "device: is of another fleet")
    }
    trace(one.name, "is cut off from", two?.name ?? "all")
    reachability.cut(one.index, from: two?.index)
    for link in one.links where two == nil || link.other(one) === two { link.isSilent = true }
    checker.disturb(for: InvariantChecker.silenceTime)
  }

  /// Ends all partitions.
  public func heal() {
    trace("fleet", "heals")
    reachability.heal()
    expectLinks()
    for device in devices { device.fleetAgent?.networkHeals() }
    for device in devices {
      for link in device.links where link.isSilent && link.first === device {
        link.isSilent = false
        link.connection?.release(self)
        device.join(link)
      }
    }
    checker.disturb(for: InvariantChecker.agreementTime + Network.recoveryTime)
  }

  private func checkPair(_ one: FleetDevice, _ two: FleetDevice) throws(SegueError) {
    guard one.fleet === self, two.fleet === self else {
      throw SegueError(.invalidArgument, "device: is of another fleet")
    }
    guard one !== two else { throw SegueError(.invalidArgument, "other: is the device itself") }
  }

  func takeProcessNumber() -> Int32 {
    lastProcess &+= 1
    return lastProcess
  }

  /// Draws an identifier for an app, an activity or a continuation.
  public func drawIdentifier() -> Identifier { random.identifier() }

  /// Closes what an agent has left, once no call is under way, or as the fleet goes.
  func closeLater(_ agent: FleetAgent) {
    ended.append(agent)
    push(.closing, at: clock.uptime)
  }

  private func closeEnded() {
    let all = ended
    ended = []
    for agent in all { agent.closeEnded() }
  }

  // MARK: Time

  /// Whether something is in progress: bytes, a search for a hub, a callback. Timers do not count.
  public var isBusy: Bool { schedule.isBusy }

  /// Whether nothing is left that could happen without a call: nothing is in progress, and the only timers are those of
  /// pings between linked hubs that answer. These repeat for ever.
  public var isIdle: Bool {
    !isBusy
      && !schedule.contains {
        switch $0 {
        case .deadline(let process, let at): process.isAwake && process.isDue(at)
        case .hubDeadline(let hub, let at): hub.isAlive && hub.isDue(at) && !hub.isIdle
        case .wake(let process): process.isAwake
        case .timer(let process, _): process.isAwake && process.asFleetAgent?.isLaunching ?? false
        case .resume: true
        default: false
        }
      } && !awaitsLinks
  }

  /// Devices of an account may find each other from now on.
  func expectLinks() { reachability.expectLinks(clock.uptime) }

  /// Whether devices of an account that reach each other are not linked, and may soon be. Whatever else agents do is
  /// done again and again for ever.
  private var awaitsLinks: Bool {
    guard reachability.awaitsLinks(clock.uptime) else { return false }
    let members = devices.filter { $0.isUp && $0.fleetAgent?.accountDevice != nil }
    return members.contains { one in
      let linked = one.accountDevices
      return members.contains { other in
        one !== other && !isCut(one, other) && !linked.contains { $0 === other }
          && one.fleetAgent?.knowsDevice(of: other) ?? false && other.fleetAgent?.knowsDevice(of: one) ?? false
      }
    }
  }

  /// Executes the next event, and advances the time to it.
  /// - Returns: false if there is no event.
  @discardableResult
  public func step() -> Bool { step(until: .max) }

  /// - Returns: false if no event is due by then.
  public func step(until end: Int64) -> Bool {
    while let next = schedule.nextTime, next <= end, let (at, event) = schedule.pop() {
      clock.uptime = max(clock.uptime, at)
      if handle(event) { return true }
    }
    return false
  }

  /// Advances the time to `end`, by which no event is due.
  public func moveTime(to end: Int64) { clock.uptime = max(clock.uptime, end) }

  /// Steps until nothing is in progress.
  /// - Returns: the number of steps. Throws LIMIT_EXCEEDED if it never comes to rest.
  @discardableResult
  public func run() throws(SegueError) -> Int {
    var steps = 0
    while isBusy, step() {
      steps += 1
      guard steps < Self.runLimit else {
        throw SegueError(.limitExceeded, "fleet: something is under way after \(Self.runLimit) steps")
      }
    }
    return steps
  }

  /// Steps until that many milliseconds have passed. Without more steps once a time has had too many of them.
  @discardableResult
  public func advance(_ milliseconds: Int64) -> Int {
    let end = clock.uptime + min(max(0, milliseconds), Self.advanceLimit)
    var steps = 0
    bound.begin(at: clock.uptime)
    while !bound.isReached, step(until: end) {
      steps += 1
      if bound.countStep(at: clock.uptime) { report("fleet", "what happens at one time does not end") }
    }
    moveTime(to: end)
    return steps
  }

  func push(_ event: consuming FleetEvent, at: Int64) {
    schedule.push(event, at: at)
  }

  // MARK: Events

  /// - Returns: whether it counts as a step.
  private func handle(_ event: FleetEvent) -> Bool {
    switch event {
    case .arrival(let connection, let end): return arrive(connection, end)
    case .readable(let connection, let end):
      connection.notifiedOfRest(end)
      return read(connection, end)
    case .writable(let connection, let end): return write(connection, end)
    case .duplicate: return true
    case .socket(let socket):
      // Belongs to its current owner.
      if let process = socket.holder.process, process.postpones(event) { return false }
      socket.noticed()
      switch socket.holder {
      case .nobody: return false
      case .app(let process): process.program?.attend(to: socket)
      case .hub(let hub, let number): hub.streamReady(number, socket)
      }
    case .accept(let hub):
      guard hub.isAlive, !hub.process.postpones(event) else { return false }
      hub.acceptConnections()
    case .seek(let process, let search):
      guard process.isAlive, !process.postpones(event) else { return false }
      process.seek(search)
    case .election(let process, let at):
      guard process.isAlive, !process.postpones(event), process.directory.takeTimer(at) else { return false }
      process.tickElection()
    case .folderChanged(let process):
      guard process.isAlive, !process.postpones(event) else { return false }
      process.folderChanged()
    case .join(let link): link.first.joined(link)
    case .callbacks(let process):
      guard process.isAlive, !process.postpones(event) else { return false }
      process.runCallbacks()
    case .deadline(let process, let at):
      guard process.isAlive, process.isDue(at), !process.postpones(event) else { return false }
      process.tick()
    case .settled(let process):
      guard process.isAlive, !process.postpones(event) else { return false }
      process.tick()
    case .hubDeadline(let hub, let at):
      guard hub.isAlive, hub.isDue(at), !hub.process.postpones(event) else { return false }
      hub.tick()
    case .wake(let process):
      guard process.isAlive, !process.postpones(event) else { return false }
      process.woken()
    case .task(let process, let body):
      if let process { guard process.isAlive, !process.postpones(event) else { return false } }
      body()
    case .closing: closeEnded()
    case .timer(let process, let body):
      guard process.isAlive, !process.postpones(event) else { return false }
      body()
    case .resume(let process):
      guard process.isStalled else { return false }
      process.resume()
    case .reunion(let device, let at):
      checker.judgeReunion(device, since: at)
      return false
    case .overdue, .audit, .auditAll:
      checker.judge(event)
      return false
    }
    return true
  }

  private func arrive(_ connection: Connection, _ end: Int) -> Bool {
    guard connection.comesThrough(end) else {
      connection.hold(end)
      return false
    }
    connection.arrived(end)
    return read(connection, end)
  }

  /// The owner of an end of a connection reads.
  private func read(_ connection: Connection, _ end: Int) -> Bool {
    guard connection.isReadable(end) else { return false }
    let readCount = connection.readCount(end)
    switch connection.owners[end] {
    case .app(let process):
      guard !process.postpones(.readable(connection, end)) else { return false }
      process.receive()
    case .backlog: return false
    case .hub(let hub, let number):
      guard !hub.process.postpones(.readable(connection, end)) else { return false }
      hub.readable(number)
    case nil:
      // The reader is gone: a writer gets an error.
      _ = connection.read(at: end, atMost: .max, self) { _, _ in }
      connection.finish(1 - end, self)
      return false
    }
    if connection.readCount(end) > readCount { connection.notifyOfRest(end, self) }
    return true
  }

  /// There is room again for the owner of this end.
  private func write(_ connection: Connection, _ end: Int) -> Bool {
    guard let owner = connection.owners[end], !owner.process.postpones(.writable(connection, end)) else { return false }
    switch owner {
    case .app(let process): process.flush()
    case .backlog: return false
    case .hub(let hub, let number): hub.writable(number)
    }
    return true
  }

  // MARK: Reports

  func trace(_ who: String, _ what: StaticString, _ detail: String? = nil) {
    log.add(clock.elapsed, who, what, detail)
  }

  func trace(_ who: String, _ what: StaticString, text detail: DiagnosticText) { trace(who, what, detail.string) }

  /// The process in which an app is open; nil if there is none.
  func process(of app: Identifier) -> FleetProcess? {
    for device in devices {
      if let process = device.processes.first(where: { $0.engine?.identity.id == app }) { return process }
    }
    return nil
  }

  /// Records a violated invariant.
  func report(_ who: String, _ what: DiagnosticText) {
    trace(who, "BROKEN", text: what)
    guard violation == nil else { return }
    log.note(String(joining: "\(who), \(clock.elapsed) ms: \(what) (seed \(seed))"))
  }
}
