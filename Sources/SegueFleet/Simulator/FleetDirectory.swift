// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The runtime folder of a device, as one of its processes in the fleet sees it.
final class FleetDirectory: HubDirectory {
  /// The process owns this object.
  private unowned(unsafe) let process: FleetProcess
  /// The folder that the process has opened; another may be at its path by now.
  private(set) var folder: FleetFolder
  private var timer = QueuedDeadline()
  /// The entry of the latest hub of this process.
  private var place: FleetFolder.Place?

  init(_ process: FleetProcess) {
    self.process = process
    folder = process.device.openFolder()
  }

  private var device: FleetDevice { process.device }
  private var fleet: Fleet { process.fleet }

  var path: String { device.name }
  var isInPlace: Bool { device.folder === folder }
  var highestGeneration: UInt64 { folder.highest(for: process)?.generation ?? 0 }
  var lastGeneration: UInt64 { .max }
  func socketNumber(of generation: UInt64) -> UInt64? { folder.place(generation)?.number }

  func heartbeatAge(_ generation: UInt64) -> Int64? {
    folder.place(generation)?.beatAt.map { fleet.clock.uptime - $0 }
  }

  func holder(of generation: UInt64) -> DiagnosticText {
    DiagnosticText(of: folder.place(generation)?.hub?.process.name ?? "a process that has ended")
  }

  func connect(to generation: UInt64) throws(SegueError) -> HubContact {
    guard let hub = folder.place(generation)?.hub else { return .nobody }
    guard hub.backlogCount < device.resources.backlogLimit else {
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
    fleet.checker.checkPlace(of: process, in: folder, generation)
    let hub = device.makeHub(generation, in: process, offersFrontmostOnly: offersFrontmostOnly)
    place = folder.lock(for: hub)
    process.hub = hub
    process.becameHub(hub)
    if fleet.random.chance(device.resources.openingStops) {
      // Other processes see no socket until this one continues.
      fleet.trace(process.name, "is stopped while it opens", text: "\(generation)")
      process.stall(for: fleet.random.within(1, 3_000))
    } else {
      listen()
    }
    return hub
  }

  /// Lists the socket of the hub for which this process has locked a generation. Idempotent.
  func listen() {
    guard let place, !place.isListed, let hub = place.hub else { return }
    place.beatAt = fleet.clock.uptime
    folder.list(place)
    hub.listedAt = fleet.clock.uptime
    device.started(hub)
    device.changed(folder)
  }

  /// Takes over the lock and the socket of a dead process's hub, for its child.
  /// - Returns: nil if the hub has neither.
  func keep(_ generation: UInt64) -> FleetHub? {
    let hub = device.makeHub(generation, in: process, offersFrontmostOnly: false)
    place = folder.keep(generation, hub)
    return place.map { _ in hub }
  }

  func isNamed(_ hub: FleetHub) -> Bool { place.map { $0.hub === hub && folder.holds($0) } ?? false }

  /// Sets the heartbeat of this process's hub.
  func beat(_ hub: FleetHub) { own(hub)?.beatAt = fleet.clock.uptime }

  /// Releases the lock of this process's hub, which has ended.
  func released(_ hub: FleetHub) {
    folder.release(hub)
    if place?.hub === hub { place = nil }
  }

  /// The entry of a hub; nil if it is about to step down.
  private func own(_ hub: FleetHub) -> FleetFolder.Place? { place?.hub === hub ? place : nil }

  /// Removes the files of this process's hub, which has ended in order, and of older ones.
  func removeFiles(upTo generation: UInt64) {
    folder.remove(upTo: generation)
    device.changed(folder)
  }

  func removeLastGeneration() throws(SegueError) {
    folder.remove(upTo: lastGeneration)
    device.changed(folder)
  }

  func reopen() throws(SegueError) {
    if process.isAgent {
      // As in the product, where it may write in no other folder.
      process.wake(in: 0)
      throw SegueError(.system, "\(device.name): the folder was removed, and the agent ends")
    }
    folder = device.openFolder()
  }

  /// Does nothing: the fleet always notifies.
  func watch() throws(SegueError) {}

  func lookSoon() {
    if process.learnsLate { fleet.push(.folderChanged(process), at: fleet.clock.uptime + 100) }
  }

  func setTimer(_ uptime: Int64?) {
    if let next = timer.add(uptime) { fleet.push(.election(process, next), at: max(next, fleet.clock.uptime)) }
  }

  /// - Returns: false if the timer was reset meanwhile.
  func takeTimer(_ at: Int64) -> Bool {
    guard timer.isDue(at) else { return false }
    timer.remove()
    return true
  }

  func log(_ severity: Severity, _ message: DiagnosticText) {}
}

extension FleetHub: ElectedHub {
  var isNamed: Bool { process.directory.isNamed(self) }
}
