import SegueDriver
import SegueEngine
import SegueModel

/// The place of a device's hubs, as a process of the fleet sees it.
final class FleetDirectory: HubDirectory {
  /// Outlives it.
  private unowned(unsafe) let process: FleetProcess
  private unowned(unsafe) let device: FleetDevice
  private unowned(unsafe) let fleet: Fleet
  /// As it was opened; another may be at its path by now.
  private(set) var folder: FleetFolder
  /// Uptime for which the timer is set, as far as that is in the queue.
  private var timer: Int64?
  /// What the latest hub of this process has in the folder.
  private var place: FleetFolder.Place?

  init(_ process: FleetProcess, on device: FleetDevice) {
    self.process = process
    self.device = device
    fleet = device.fleet
    folder = device.openFolder()
  }

  var path: String { device.name }
  var isInPlace: Bool { device.folder === folder }
  var highestGeneration: UInt64 { folder.highest(for: process)?.generation ?? 0 }
  var lastGeneration: UInt64 { .max }

  func heartbeatAge(_ generation: UInt64) -> Int64? {
    folder.place(generation)?.beatAt.map { fleet.clock.uptime - $0 }
  }

  func connect(to generation: UInt64) throws(SegueError) -> HubContact {
    guard let hub = folder.place(generation)?.hub else { return .nobody }
    guard hub.backlogCount < device.backlogLimit else {
      fleet.trace(process.name, "finds the backlog full")
      return .backlogFull
    }
    return .connected(ConnectionEnd(device.connect(process, to: hub), 0, in: fleet))
  }

  func becomeHub(_ generation: UInt64, offersFrontmostOnly: Bool) throws(SegueError) -> (any ElectedHub)? {
    guard device.admitsHubs else {
      fleet.trace(process.name, "is refused a hub")
      throw SegueError(.system, "\(device.name): no hub can be made there")
    }
    guard !folder.isLocked(generation) else { return nil }
    let hub = device.makeHub(generation, in: process, offersFrontmostOnly: offersFrontmostOnly)
    place = folder.lock(for: hub)
    process.hub = hub
    if fleet.random.chance(device.openingStops) {
      // What it does from here on nobody sees before it goes on.
      fleet.trace(process.name, "is stopped while it opens", text: "\(generation)")
      process.stall(for: fleet.random.within(1, 3_000))
    } else {
      listen()
    }
    return hub
  }

  /// The hub that this process has locked a generation for listens, unless it does.
  func listen() {
    guard let place, !place.isListed, let hub = place.hub else { return }
    place.beatAt = fleet.clock.uptime
    folder.list(place)
    device.started(hub)
    device.changed(folder)
  }

  /// A child of a process that is gone keeps what its hub had.
  /// - Returns: nil: there is nothing to keep.
  func keep(_ generation: UInt64) -> FleetHub? {
    let hub = device.makeHub(generation, in: process, offersFrontmostOnly: false)
    place = folder.keep(generation, hub)
    return place.map { _ in hub }
  }

  func isNamed(_ hub: FleetHub) -> Bool { place.map { $0.hub === hub && folder.holds($0) } ?? false }

  /// The hub of this process has served somebody.
  func beat(_ hub: FleetHub) { own(hub)?.beatAt = fleet.clock.uptime }

  /// The hub of this process has ended.
  func released(_ hub: FleetHub) {
    folder.release(hub)
    if place?.hub === hub { place = nil }
  }

  /// Nil: the hub is about to step down, and nobody comes to it any more.
  private func own(_ hub: FleetHub) -> FleetFolder.Place? { place?.hub === hub ? place : nil }

  /// The hub of this process ended in order, and nobody needs to learn from its dead socket that it did.
  func removeFiles(upTo generation: UInt64) {
    folder.remove(upTo: generation)
    device.changed(folder)
  }

  func removeLastGeneration() throws(SegueError) {
    folder.remove(upTo: lastGeneration)
    device.changed(folder)
  }

  func reopen() throws(SegueError) { folder = device.openFolder() }

  /// The fleet tells of it anyway.
  func watch() throws(SegueError) {}

  func lookSoon() {
    if process.learnsLate { fleet.push(.folderChanged(process), at: fleet.clock.uptime + 100) }
  }

  func setTimer(_ uptime: Int64?) {
    guard let uptime, timer.map({ uptime < $0 }) ?? true else { return }
    timer = uptime
    fleet.push(.election(process, uptime), at: max(uptime, fleet.clock.uptime))
  }

  /// False: the timer was set anew meanwhile.
  func takeTimer(_ at: Int64) -> Bool {
    guard timer == at else { return false }
    timer = nil
    return true
  }

  func log(_ severity: Severity, _ message: DiagnosticText) {}
}

extension FleetHub: ElectedHub {
  var isNamed: Bool { process.directory.isNamed(self) }
}
