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
  /// Those that run, the latest last; all but that one are about to step down.
  private(set) var hubs: [FleetHub] = []
  /// Of the latest hub that there has been.
  private(set) var highest: UInt64 = 0
  private(set) var links: [DeviceLink] = []
  /// Whether a process can be the hub: where it would stand, it may not be able to write.
  var admitsHubs = true

  init(_ name: String, _ index: Int, of fleet: Fleet) {
    self.name = name
    self.index = index
    self.fleet = fleet
    clock = DeviceClock(fleet.clock)
  }

  public var now: Moment { clock.now }

  /// The hub that counts.
  var hub: FleetHub? { hubs.last.flatMap { $0.generation == highest ? $0 : nil } }

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
    fleet.departed(process)
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
    highest = 0
    fleet.disturb(for: Fleet.silenceTime)
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

  func hubLives(_ generation: UInt64) -> Bool {
    hubs.contains { $0.generation == generation && !$0.process.isStalled }
  }

  /// A process connects to the hub of the highest generation, or becomes it.
  func seek(_ process: FleetProcess, minimum: UInt64) {
    if let hub, hub.generation >= minimum { return connect(process, to: hub) }
    guard admitsHubs else { return process.seekLater() }
    startHub(max(minimum, highest + 1), in: process)
  }

  private func connect(_ process: FleetProcess, to hub: FleetHub) {
    let number = hub.takeNumber()
    let connection = Connection(.app(process), .hub(hub, number))
    // The system takes the connection for the hub, which learns of it when it looks.
    hub.add(connection, end: 1, as: number)
    fleet.push(.accept(hub, number), at: fleet.clock.uptime)
    process.connected(connection, generation: hub.generation)
  }

  /// Somebody connects to the hub, and says nothing.
  /// - Returns: whether the hub has it still; nil: there is no hub.
  func connectMute() -> (() -> Bool)? {
    guard let hub else { return nil }
    let number = hub.takeNumber()
    let process = FleetProcess("\(name)/mute", on: self, offersFrontmostOnly: false)
    hub.add(Connection(.app(process), .hub(hub, number)), end: 1, as: number)
    fleet.push(.accept(hub, number), at: fleet.clock.uptime)
    return {
      withExtendedLifetime(process) { hub.isConnected(number) }
    }
  }

  private func startHub(_ generation: UInt64, in process: FleetProcess) {
    let former = process.hub
    highest = generation
    let engine = HubEngine(
      HubIdentity(id: fleet.random.identifier(), deviceName: name), generation: generation,
      offersFrontmostOnly: process.offersFrontmostOnly, now)
    let hub = FleetHub(engine, generation, in: process)
    former?.stepDown()
    process.hub = hub
    hubs.append(hub)
    fleet.trace(name, "starts hub", text: "\(generation) in \(process.name)")
    fleet.disturb(for: Fleet.agreementTime)
    connect(process, to: hub)
    for other in processes where other !== process {
      fleet.push(.hubAppeared(other), at: fleet.clock.uptime + fleet.random.within(0, 2))
    }
    joinAll()
  }

  func ended(_ hub: FleetHub) {
    hubs.removeAll { $0 === hub }
    fleet.disturb(for: Fleet.agreementTime)
  }

  /// The fleet ends.
  func dissolve() {
    for process in processes { process.dissolve() }
    for hub in hubs { hub.dissolve() }
    // A link and its connection hold each other.
    for link in links {
      link.connection?.dissolve()
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
    fleet.disturb(for: Fleet.agreementTime)
    let requests = link.takeRequests()
    one.join(connection, end: 0, as: numbers.0, for: requests.0)
    two.join(connection, end: 1, as: numbers.1, for: requests.1)
  }

  /// An end of a connection to another device has closed.
  func lost(_ link: DeviceLink, _ connection: Connection) {
    fleet.disturb(for: Fleet.agreementTime)
    guard link.connection === connection, connection.owners[0] == nil, connection.owners[1] == nil else { return }
    fleet.trace(link.first.name, "is no longer linked with", link.second.name)
    join(link, after: DeviceLink.retryTime)
  }
}
