import SegueEngine
import SegueModel
import SegueWire

/// A device of a fleet: processes, one hub at a time that counts, and links to other devices.
public final class FleetDevice {
  public let name: String
  /// Outlives its devices.
  unowned(unsafe) public let fleet: Fleet
  let index: Int
  let clock: DeviceClock
  /// Whether it has power.
  public private(set) var isUp = true
  /// Seconds that its clock is ahead of the fleet's: two clocks differ.
  public var clockOffset: Double {
    get { clock.offset }
    set { clock.offset = newValue }
  }

  private(set) var processes: [FleetProcess] = []
  /// Forked by hubs' processes that are dead: each keeps a lock and a socket.
  private var children: [FleetProcess] = []
  /// Those that run; all but the one that counts are about to step down.
  private(set) var hubs: [FleetHub] = []
  private(set) var links: [DeviceLink] = []
  /// Where its hubs stand; nil: it was removed.
  private(set) var folder: FleetFolder?
  /// Whether a process can be the hub: where it would stand, it may not be able to write.
  var admitsHubs = true {
    didSet {
      guard admitsHubs != oldValue else { return }
      if admitsHubs { fleet.checker.resumed() } else { fleet.checker.stalled() }
      fleet.checker.disturb(for: Self.refusalTime + InvariantChecker.agreementTime)
    }
  }
  /// Connections that may wait for a hub to accept them.
  var backlogLimit = FleetFolder.usualBacklog
  /// Probability that a process is stopped between locking a generation and listening.
  var openingStops = 0.0
  var resources = DeviceResources()

  /// Milliseconds after which a process tries again what the system has refused, at most.
  private static let refusalTime: Int64 = 16_000

  init(_ name: String, _ index: Int, of fleet: Fleet) {
    self.name = name
    self.index = index
    self.fleet = fleet
    clock = DeviceClock(fleet.clock)
  }

  public var now: Moment { clock.now }

  /// The hub that counts.
  var hub: FleetHub? { folder?.hub }

  // MARK: Processes

  /// A process for an app, which then begins.
  public func start(_ app: String, offersFrontmostOnly: Bool = false) throws(SegueError) -> FleetProcess {
    guard isUp else { throw SegueError(.invalidState, "device: \(name) is down") }
    var word = app
    var number = 1
    while processes.contains(where: { Text.isSame($0.name, "\(name)/\(word)") }) {
      number += 1
      word = "\(app)#\(number)"
    }
    let process = FleetProcess("\(name)/\(word)", on: self, offersFrontmostOnly: offersFrontmostOnly)
    processes.append(process)
    return process
  }

  func remove(_ process: FleetProcess) {
    processes.removeAll { $0 === process }
    fleet.checker.departed(process)
  }

  /// The power goes: all that ran is gone, and other devices are not told.
  public func crash() {
    guard isUp else { return }
    fleet.trace(name, "crashes")
    isUp = false
    while let process = processes.last {
      process.vanish()
      // One that had not begun.
      processes.removeAll { $0 === process }
    }
    for child in children { child.vanish() }
    children = []
    // It was in memory.
    folder = nil
    fleet.checker.disturb(for: InvariantChecker.silenceTime)
  }

  /// The power is back. Nothing runs yet.
  public func restart() {
    guard !isUp else { return }
    fleet.trace(name, "restarts")
    isUp = true
    // Of connections from before it knows nothing any more, and says so to whoever goes on writing.
    for link in links { link.connection?.release(fleet) }
  }

  // MARK: Hubs

  /// The folder at its path, which is made if need be.
  func openFolder() -> FleetFolder {
    let opened = folder ?? FleetFolder()
    folder = opened
    return opened
  }

  /// The folder is removed with all that is in it, or only what is in it.
  func removeFolder(isKept: Bool) {
    guard let removed = folder else { return }
    fleet.trace(name, isKept ? "has its folder emptied" : "loses its folder")
    removed.removeAll(isKept: isKept)
    if !isKept { folder = nil }
    changed(removed)
  }

  /// Something has come to a folder or gone: the processes that watch it learn of it.
  func changed(_ folder: FleetFolder) {
    let isLate = processes.contains { $0.learnsLate }
    fleet.checker.disturb(for: InvariantChecker.agreementTime + (isLate ? FleetProcess.lookTime : 0))
    for process in processes where process.directory.folder === folder {
      let time = fleet.random.within(0, process.learnsLate ? FleetProcess.lookTime : 2)
      fleet.push(.folderChanged(process), at: fleet.clock.uptime + time)
    }
  }

  /// A process was killed, and its child keeps the lock and the socket of its hub for so many milliseconds.
  func leaveChild(with generation: UInt64, in folder: FleetFolder, for milliseconds: Int64) {
    guard folder === self.folder else { return }
    let child = FleetProcess("\(name)/child", on: self, offersFrontmostOnly: false)
    guard child.keepOpen(generation, for: milliseconds) else { return }
    children.append(child)
  }

  func childEnded(_ child: FleetProcess) { children.removeAll { $0 === child } }

  /// Connects a process to a hub, which learns of it when it looks.
  func connect(_ process: FleetProcess, to hub: FleetHub) -> Connection {
    let connection = Connection(.app(process), .backlog(hub))
    hub.connect(connection)
    return connection
  }

  func makeHub(_ generation: UInt64, in process: FleetProcess, offersFrontmostOnly: Bool) -> FleetHub {
    let engine = HubEngine(
      HubIdentity(id: fleet.random.identifier(), deviceName: name), generation: generation,
      offersFrontmostOnly: offersFrontmostOnly, now)
    return FleetHub(engine, generation, in: process)
  }

  /// A hub listens.
  func started(_ hub: FleetHub) {
    hubs.append(hub)
    fleet.trace(name, "starts hub", text: "\(hub.generation) in \(hub.process.name)")
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    joinAll()
  }

  func ended(_ hub: FleetHub) {
    hubs.removeAll { $0 === hub }
    hub.process.directory.released(hub)
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
  }

  /// The fleet ends.
  func tearDown() {
    for process in processes + children { process.tearDown() }
    for hub in hubs { hub.tearDown() }
    // A link and its connection hold each other.
    for link in links {
      link.connection?.tearDown()
      link.connection = nil
    }
    links = []
  }

  // MARK: Links

  func add(_ link: DeviceLink) { links.append(link) }
  func link(to device: FleetDevice) -> DeviceLink? { links.first { $0.other(self) === device } }

  func joinAll() { for link in links { join(link) } }

  /// Sees to it that a link that is wanted is tried, as soon as there is a hub at either end.
  func join(_ link: DeviceLink, after time: Int64 = 0) {
    guard link.isWanted, !link.isJoining else { return }
    link.isJoining = true
    fleet.push(.join(link), at: fleet.clock.uptime + time + fleet.network.delay(&fleet.random))
  }

  /// The attempt has come through, if both ends are there; else one of them tries again when it is.
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

  /// An end of a connection to another device has closed.
  func lost(_ link: DeviceLink, _ connection: Connection) {
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    guard link.connection === connection, connection.owners[0] == nil, connection.owners[1] == nil else { return }
    fleet.trace(link.first.name, "is no longer linked with", link.second.name)
    join(link, after: DeviceLink.retryTime)
  }
}
