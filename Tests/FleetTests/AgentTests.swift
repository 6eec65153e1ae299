// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// The agent of a device in a fleet: it takes over, leaves, dies, is stopped, and what is checked meanwhile
/// (docs/agent.md).
@Suite struct AgentTests {
  private let fleet = Fleet(seed: 1)
  private let device: FleetDevice
  private let opened = OpenedApps()

  /// Keeps each app until its test ends.
  private final class OpenedApps { var apps: [ScriptedApp] = [] }

  init() throws { device = try fleet.addDevice("phone") }

  private func open(_ count: Int) throws -> [ScriptedApp] {
    for number in 0..<count {
      let identity = AppIdentity(
        secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.app\(number)", name: "app\(number)",
        team: "TEAM", types: ["com.example.note"], isChooser: false)
      opened.apps.append(try ScriptedApp(identity, on: device))
      fleet.advance(100)
    }
    opened.apps[0].becomeCurrent(
      fleet.drawIdentifier(), try ScriptedApp.activity("com.example.note", 1, size: 10))
    fleet.advance(500)
    return opened.apps
  }

  private func startAgent() throws -> FleetProcess {
    device.startAgent()
    fleet.advance(1_100)
    let agent = try #require(device.agent)
    #expect(agent.hub === device.hub && agent.hub != nil)
    return agent
  }

  private var areTogether: Bool {
    device.hubs.count == 1
      && opened.apps.allSatisfy { $0.process.isAtHub && ($0.offers.count == 1) == ($0 !== opened.apps[0]) }
  }

  @Test func `it takes over, and hands back when it leaves or dies, within a second (R2.8)`() throws {
    let apps = try open(4)
    let first = try startAgent()
    #expect(areTogether && apps[1].process.engine?.hubAgent != nil)
    first.leave()
    fleet.advance(1_000)
    #expect(areTogether && device.agent == nil && apps[1].process.engine?.hubAgent == nil)
    try startAgent().kill()
    fleet.advance(1_000)
    #expect(areTogether && apps.contains { $0.process.hub != nil })
    #expect(fleet.violation == nil)
  }

  @Test func `its upgrade is one leaving and another coming`() throws {
    _ = try open(4)
    try startAgent().leave()
    let second = try startAgent()
    #expect(areTogether && second.isAlive && fleet.violation == nil)
  }

  @Test func `when it was stopped it is passed over, and takes its place again`() throws {
    let apps = try open(3)
    let agent = try startAgent()
    agent.stall()
    fleet.advance(1_000)
    // It is asked for something.
    apps[0].setForeground(true)
    fleet.advance(3_000)
    #expect(device.hub?.process !== agent && apps.allSatisfy { $0.process.isAtHub })
    agent.resume()
    fleet.advance(1_000)
    #expect(device.hub?.process === agent && areTogether && fleet.violation == nil)
  }

  @Test func `an agent that has lost its folder ends`() throws {
    let apps = try open(2)
    let agent = try startAgent()
    device.removeFolder(isKept: false)
    fleet.advance(2_000)
    #expect(!agent.isAlive && device.agent == nil && apps.allSatisfy { $0.process.isAtHub } && fleet.violation == nil)
  }

  @Test func `a process that supersedes an agent that answers is found out`() throws {
    let apps = try open(2)
    _ = try startAgent()
    fleet.advance(5_000)
    // No election does this.
    apps[0].process.disconnect()
    apps[0].process.seek(.seek(minimum: try #require(device.hub).generation + 1, after: 0))
    #expect(fleet.violation?.contains("it supersedes an agent that answers") == true)
  }

  @Test func `an app that has no hub a second after its agent left is found out`() throws {
    let apps = try open(2)
    let agent = try startAgent()
    fleet.advance(5_000)
    apps[0].process.disconnect()
    apps[1].process.disconnect()
    agent.kill()
    fleet.advance(1_000)
    #expect(fleet.violation?.contains("it has no hub 1000 ms after an agent moved it") == true)
  }

  @Test func `workloads have agents that come, leave, die and are stopped`() throws {
    var missing: Set<String> = ["starts", "closes", "is killed", "is stopped", "goes on"]
    for seed in 0..<200 where !missing.isEmpty {
      let fleet = Fleet(seed: UInt64(seed))
      try Workload.play(in: fleet, devices: 3, apps: 8, events: 100)
      let lines = fleet.log.lines.split(separator: "\n").filter { $0.contains("/agent ") }
      missing = missing.filter { what in !lines.contains { $0.contains(what) } }
    }
    #expect(missing.isEmpty)
  }
}
