// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet

/// The election of hubs on a device of a fleet, when something is wrong with its folder or with a process.
@Suite struct ElectionTests {
  private let fleet = Fleet(seed: 1)
  private let device: FleetDevice
  private let opened = OpenedApps()

  /// Keeps each app until its test ends: the fleet does not, and an optimised test lets go of it earlier.
  private final class OpenedApps { var apps: [ScriptedApp] = [] }

  init() throws { device = try fleet.addDevice("phone") }

  private func open(_ name: String) throws -> ScriptedApp {
    let identity = AppIdentity(
      secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.\(name)", name: name, team: "TEAM",
      types: ["com.example.note"], isChooser: false)
    let app = try ScriptedApp(identity, on: device)
    opened.apps.append(app)
    return app
  }

  /// Opens apps one after the other: the first one carries the hub.
  private func openAll(_ count: Int) throws -> [ScriptedApp] {
    try (0..<count).map { number in
      defer { fleet.advance(100) }
      return try open("app\(number)")
    }
  }

  private func offer(_ app: ScriptedApp) throws {
    app.becomeCurrent(fleet.drawIdentifier(), try ScriptedApp.activity("com.example.note", 1, size: 10))
  }

  private func generations(_ apps: [ScriptedApp]) -> [UInt64?] { apps.map { $0.process.hubGeneration } }

  @Test func `workloads have all that can go wrong with a hub`() throws {
    var missing: Set<String> = [
      "finds the backlog full", "loses its folder", "has its folder emptied", "but not its child", "is refused a hub",
      "is stopped while it opens", "learns late",
    ]
    for seed in 0..<200 where !missing.isEmpty {
      let fleet = Fleet(seed: UInt64(seed))
      try Workload.play(in: fleet, devices: 3, apps: 8, events: 100)
      let lines = fleet.log.lines
      missing = missing.filter { !lines.contains($0) }
    }
    #expect(missing.isEmpty)
  }

  @Test func `a process that is stopped before it listens is waited for, and then passed over (section 9)`() throws {
    device.resources.openingStops = 1
    let first = try open("first")
    fleet.advance(10)
    #expect(first.process.isStalled && device.hub == nil)
    device.resources.openingStops = 0
    let other = try open("other")
    fleet.advance(400)
    let isPassedOver = first.process.isStalled
    #expect(!isPassedOver || device.hub == nil)
    fleet.advance(4_000)
    #expect(!first.process.isStalled && device.hubs.count == 1)
    #expect(first.process.isAtHub && other.process.isAtHub)
    #expect(fleet.violation == nil)
  }

  @Test func `a child that keeps lock and socket of a dead hub is left behind (section 9)`() throws {
    let apps = try openAll(3)
    try offer(apps[1])
    apps[0].process.kill(leavingChildFor: 60_000)
    fleet.advance(500)
    #expect(generations([apps[1], apps[2]]) == [1, 1], "it listens, so it is asked")
    fleet.advance(1_000)
    #expect(generations([apps[1], apps[2]]) == [2, 2] && apps[2].offers.count == 1)
    fleet.advance(100_000)
    #expect(generations([apps[1], apps[2]]) == [2, 2] && fleet.violation == nil)
  }

  @Test func `the heart of a stopped hub does not beat, and that of a busy one does (section 9)`() throws {
    let apps = try openAll(3)
    apps[0].process.stall()
    fleet.advance(1_000)
    try offer(apps[1])
    fleet.advance(1_100)
    #expect(generations([apps[1], apps[2]]) == [2, 2])
    apps[0].process.resume()
    fleet.advance(200)
    #expect(generations(apps) == [2, 2, 2] && device.hubs.count == 1 && fleet.violation == nil)
  }

  @Test(arguments: [true, false])
  func `a folder that was removed, or emptied, has one hub for all again (section 9)`(_ isKept: Bool) throws {
    let apps = try openAll(3)
    try offer(apps[1])
    device.removeFolder(isKept: isKept)
    fleet.advance(90)
    #expect(device.hub == nil && device.hubs.count == 1, "the old one goes on for a moment")
    fleet.advance(500)
    #expect(device.hubs.count == 1 && apps.allSatisfy { $0.process.isAtHub } && apps[2].offers.count == 1)
    #expect(fleet.violation == nil)
  }

  @Test func `where no hub can be made it is tried again, more and more rarely (section 9)`() throws {
    device.admitsHubs = false
    let app = try open("app")
    fleet.advance(20_000)
    #expect(app.process.driver?.problem?.status == .system && device.hub == nil)
    let tries = fleet.log.lines.split(separator: "\n").count { $0.contains("is refused a hub") }
    #expect(tries == 5, "after 0, 1, 3, 7 and 15 s")
    device.admitsHubs = true
    fleet.advance(16_000)
    #expect(app.process.isAtHub && fleet.violation == nil)
  }

  @Test func `a full backlog is waited for, and opens no other generation while the hub lives (section 9)`() throws {
    let apps = try openAll(1)
    device.resources.backlogLimit = 0
    let other = try open("other")
    // The hub serves its own app meanwhile.
    for _ in 0..<20 {
      try offer(apps[0])
      fleet.advance(100)
    }
    #expect(other.process.hubGeneration == nil && generations(apps) == [1])
    device.resources.backlogLimit = FleetFolder.usualBacklog
    fleet.advance(100)
    #expect(other.process.hubGeneration == 1 && other.offers.count == 1 && fleet.violation == nil)
  }

  @Test func `who learns late of a hub comes there in the end, and its own hub steps down (section 9)`() throws {
    let apps = try openAll(2)
    apps[0].process.learnsLate = true
    apps[0].process.stall()
    try offer(apps[1])
    fleet.advance(3_000)
    #expect(generations([apps[1]]) == [2])
    apps[0].process.resume()
    fleet.advance(FleetProcess.lookTime + 500)
    #expect(generations(apps) == [2, 2] && device.hubs.count == 1 && fleet.violation == nil)
  }

  @Test func `when the last app has closed the numbers begin anew (section 9)`() throws {
    let apps = try openAll(2)
    for app in apps {
      app.close()
      fleet.advance(100)
    }
    let next = try openAll(1)
    #expect(generations(next) == [1])
  }
}
