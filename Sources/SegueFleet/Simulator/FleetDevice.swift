// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueAgentCore
import SegueModel
import SegueWire

/// A device of a fleet: its processes, its hubs, and its links to other devices.
public final class FleetDevice {
  public let name: String
  /// The fleet outlives its devices.
  unowned(unsafe) public let fleet: Fleet
  let index: Int
  let clock: DeviceClock
  private var power = DevicePower()
  public var isUp: Bool { power.isOn }
  /// Seconds by which the device's date is ahead of the fleet's.
  public var clockOffset: Double {
    get { clock.offset }
    set { clock.offset = newValue }
  }

  private(set) var processes: [FleetProcess] = []
  /// Children of dead processes that carried a hub. Each keeps the hub's lock and socket.
  private var children: [FleetProcess] = []
  /// The running hubs; all except `hub` are about to step down.
  private(set) var hubs: [FleetHub] = []
  private(set) var links: [DeviceLink] = []
  /// The runtime folder; nil if it was removed.
  private(set) var folder: FleetFolder?
  var resources = DeviceResources()
  /// Nil: it has none.
  var agent: FleetProcess? { processes.last { $0.isAgent && $0.isAlive } }
  /// The disk, with all that its agents store.
  public let disk: FleetDisk
  /// The device in the network of all devices, for the links of its account.
  private(set) lazy var host = FleetHost(of: self)
  private(set) lazy var cryptography = StandInCryptography(fleet.signatures, seed: fleet.random.next())
  var programs = DevicePrograms()
  /// The sites and the names that its agents find.
  public var internet = DeviceInternet()
  private(set) var interruptions = HubInterruptions()

  init(_ name: String, _ index: Int, of fleet: Fleet) {
    self.name = name
    self.index = index
    self.fleet = fleet
    clock = DeviceClock(fleet.clock)
    disk = FleetDisk(clock)
  }

  public var now: Instant { clock.now }

  /// The hub of the highest generation; nil if there is none.
  var hub: FleetHub? { folder?.hub }

  // MARK: Processes

  /// Creates a process for an app, which then calls `FleetProcess.begin`. Throws INVALID_STATE if the device is down.
  public func start(_ app: String, offersFrontmostOnly: Bool = false) throws(SegueError) -> FleetProcess {
    guard isUp else { throw SegueError(.invalidState, "device: \(name) is down") }
    let first = String(joining: "\(name)/\(app)")
    var unique = first
    var number = 1
    while processes.contains(where: { Text.isSame($0.name, unique) }) {
      number += 1
      unique = String(joining: "\(first)#\(number)")
    }
    let process = FleetProcess(unique, on: self, offersFrontmostOnly: offersFrontmostOnly)
    processes.append(process)
    fleet.checker.noteCrowd(processes.count)
    return process
  }

  /// The agent of the device starts, unless it runs.
  func startAgent() {
    guard isUp, agent == nil else { return }
    start(agent: FleetProcess(String(joining: "\(name)/agent"), on: self, as: .agent))
  }

  /// The agent with all that ships; nil: none runs.
  public var fleetAgent: FleetAgent? { agent?.asFleetAgent }

  /// Starts the agent that ships. Throws INVALID_STATE if the device is down, or an agent runs.
  public func startFleetAgent(_ make: (FleetDevice) -> FleetAgent) throws(SegueError) {
    guard isUp else { throw SegueError(.invalidState, "device: \(name) is down") }
    guard agent == nil else { throw SegueError(.invalidState, "device: \(name) has an agent") }
    start(agent: make(self))
  }

  /// Ends the agent, in order or as SIGKILL does. Throws INVALID_STATE if none runs.
  public func endFleetAgent(isKilled: Bool) throws(SegueError) {
    guard let agent = fleetAgent else { throw SegueError(.invalidState, "device: \(name) has no agent") }
    if isKilled { agent.kill() } else { agent.leave() }
  }

  /// Starts an agent. The device has power, and none.
  func start(agent process: FleetProcess) {
    processes.append(process)
    unsettle(isExpected: true)
    process.beginAgent()
  }

  // MARK: Changes

  /// The hub moves, or something happens that keeps it from answering.
  /// - Parameters:
  ///   - isExpected: an agent comes, leaves or dies: its apps are to be at a hub again within a second.
  ///   - milliseconds: for how long it goes on.
  func unsettle(isExpected: Bool, for milliseconds: Int64 = 0) {
    let uptime = fleet.clock.uptime
    if isExpected {
      interruptions.agentMoved(at: uptime)
      fleet.push(.reunion(self, uptime), at: uptime + InvariantChecker.reunionTime)
    } else {
      interruptions.add(until: uptime + milliseconds)
    }
  }

  /// Calls `body` at that time, unless the device has lost its power by then.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    fleet.later(milliseconds) { [self, power] in if self.power == power { body() } }
  }

  /// Removes a process that has ended.
  func remove(_ process: FleetProcess) {
    processes.remove(process)
    fleet.checker.departed(process)
  }

  /// Cuts the power: all processes end, and other devices get no notice.
  public func crash() {
    guard isUp else { return }
    fleet.trace(name, "crashes")
    unsettle(isExpected: false)
    power.lose()
    while let process = processes.last {
      process.vanish()
      // A process that had not begun is still listed.
      processes.remove(process)
    }
    for child in children { child.vanish() }
    children = []
    // The runtime folder is in memory.
    folder = nil
    fleet.checker.disturb(for: InvariantChecker.silenceTime)
  }

  /// Restores the power. No process runs yet.
  public func restart() {
    guard !isUp else { return }
    fleet.trace(name, "restarts")
    power.restore()
    // The device knows no former connection, and resets those on which other devices still write.
    for link in links { link.connection?.release(fleet) }
  }

  // MARK: Hubs

  /// Returns the folder at the path, created if necessary.
  func openFolder() -> FleetFolder {
    let opened = folder ?? FleetFolder()
    folder = opened
    return opened
  }

  /// Removes the folder and its contents.
  /// - Parameter isKept: whether the folder itself stays.
  func removeFolder(isKept: Bool) {
    guard let removed = folder else { return }
    unsettle(isExpected: false)
    fleet.trace(name, isKept ? "has its folder emptied" : "loses its folder")
    removed.removeAll(isKept: isKept)
    if !isKept { folder = nil }
    changed(removed)
  }

  /// Notifies the processes that watch a folder of a change in it.
  func changed(_ folder: FleetFolder) {
    let isLate = processes.contains { $0.learnsLate }
    fleet.checker.disturb(for: InvariantChecker.agreementTime + (isLate ? FleetProcess.lookTime : 0))
    for process in processes where process.directory.folder === folder {
      let time = fleet.random.within(0, process.learnsLate ? FleetProcess.lookTime : 2)
      fleet.push(.folderChanged(process), at: fleet.clock.uptime + time)
    }
  }

  /// Leaves a child of a killed process, which keeps the lock and the socket of a hub for that many milliseconds.
  func leaveChild(with generation: UInt64, in folder: FleetFolder, for milliseconds: Int64) {
    guard folder === self.folder else { return }
    let child = FleetProcess(String(joining: "\(name)/child"), on: self, as: .child)
    guard child.keepOpen(generation, for: milliseconds) else { return }
    children.append(child)
  }

  func childEnded(_ child: FleetProcess) { children.remove(child) }

  /// Connects a process to a hub, which notices when it accepts.
  func connect(_ process: FleetProcess, to hub: FleetHub) -> Connection {
    let connection = Connection(.app(process), .backlog(hub))
    hub.connect(connection)
    return connection
  }

  func makeHub(_ generation: UInt64, in process: FleetProcess, offersFrontmostOnly: Bool) -> FleetHub {
    let engine = HubEngine(
      HubIdentity(id: fleet.random.identifier(), deviceName: name), generation: generation,
      offersFrontmostOnly: offersFrontmostOnly,
      agent: process.isAgent ? AgentDescription(version: "0", capabilities: 0, participant: process.participant) : nil,
      now)
    return FleetHub(engine, generation, in: process)
  }

  /// Records that a hub listens.
  func started(_ hub: FleetHub) {
    hubs.append(hub)
    fleet.trace(name, "starts hub", text: "\(hub.generation) in \(hub.process.name)")
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    joinAll()
  }

  func ended(_ hub: FleetHub) {
    hubs.remove(hub)
    hub.process.directory.released(hub)
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
  }

  /// Breaks the reference cycles when the fleet ends.
  func tearDown() {
    for process in processes + children { process.tearDown() }
    for hub in hubs { hub.tearDown() }
    // A link and its connection retain each other.
    for link in links {
      link.connection?.tearDown()
      link.connection = nil
    }
    links = []
  }

  // MARK: Links

  /// The devices of its account with whose hubs its hub is linked.
  var accountDevices: [FleetDevice] {
    guard let hub, hub.hasAccountLinks else { return [] }
    let hubs = hub.accountHubs
    return fleet.devices.filter { device in device.hub.map { hubs.contains($0.engine.id) } ?? false }
  }

  func add(_ link: DeviceLink) { links.append(link) }
  func link(to device: FleetDevice) -> DeviceLink? { links.first { $0.other(self) === device } }

  func joinAll() { for link in links { join(link) } }

  /// Queues an attempt to connect a link, if it is wanted.
  func join(_ link: DeviceLink, after time: Int64 = 0) {
    guard link.isWanted, !link.isJoining else { return }
    link.isJoining = true
    fleet.push(.join(link), at: fleet.clock.uptime + time + fleet.network.delay(&fleet.random))
  }

  /// Connects the hubs at both ends of a link. If one is missing, its device tries again when it has one.
  func joined(_ link: DeviceLink) {
    link.isJoining = false
    guard link.isWanted, !link.isSilent, !link.isJoined, let one = link.first.hub, let two = link.second.hub,
      !one.process.isStalled, !two.process.isStalled
    else { return }
    let numbers = (one.takeNumber(), two.takeNumber())
    let connection = Connection(.hub(one, numbers.0), .hub(two, numbers.1), over: link)
    link.connection = connection
    fleet.trace(link.first.name, "is linked with", link.second.name)
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    let requests = link.takeRequests()
    one.join(connection, end: 0, as: numbers.0, for: requests.0)
    two.join(connection, end: 1, as: numbers.1, for: requests.1)
  }

  /// Queues the next attempt once both ends of a connection have closed.
  func lost(_ link: DeviceLink, _ connection: Connection) {
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    guard link.connection === connection, connection.owners[0] == nil, connection.owners[1] == nil else { return }
    fleet.trace(link.first.name, "is no longer linked with", link.second.name)
    join(link, after: DeviceLink.retryTime)
  }
}
