// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueFleet

@Suite struct EndOfFleetTests {
  /// A link and its connection hold each other.
  @Test func `a fleet that goes takes the connections between its devices with it`() throws {
    weak var connection: Connection?
    try {
      let fleet = Fleet(seed: 7)
      try Workload.play(in: fleet, devices: 3, apps: 6, events: 50)
      let pairs = fleet.devices.flatMap { one in fleet.devices.filter { $0 !== one }.map { (one, $0) } }
      let connections = pairs.compactMap { one, other in one.link(to: other)?.connection }
      connection = connections.first
      #expect(connection != nil)
    }()
    // Not inside the expectation, which would show what is left, and with it what is gone.
    let isGone = connection == nil
    #expect(isGone)
  }

  /// The hub of an agent, its files and the agent hold each other.
  @Test(arguments: [false, true])
  func `a fleet that goes takes its agents and their devices with it`(isKilled: Bool) throws {
    weak var device: FleetDevice?
    weak var agent: FleetAgent?
    weak var engine: HubEngine?
    try {
      let fleet = Fleet(seed: 7)
      let one = try fleet.addDevice("device")
      try one.startFleetAgent { FleetAgent(on: $0) }
      fleet.advance(5_000)
      (device, agent, engine) = (one, one.fleetAgent, one.fleetAgent?.hub?.engine)
      #expect(engine != nil)
      if isKilled { try one.endFleetAgent(isKilled: true) }
    }()
    let areGone = (device == nil, agent == nil, engine == nil)
    #expect(areGone == (true, true, true))
  }

  @Test func `steps at one time that do not end are reported, and the fleet goes on without them (R11.1)`() throws {
    let fleet = Fleet(seed: 7)
    fleet.bound.limit = 1_000
    let identity = AppIdentity(
      secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.restless", name: "restless", team: "TEAM",
      types: ["com.example.note"], isChooser: false)
    let app = try RestlessApp(identity, on: try fleet.addDevice("device"))
    fleet.advance(1_000)
    #expect(fleet.violation?.contains("does not end") ?? false)
    #expect(fleet.clock.elapsed == 1_000)
    app.close()
  }
}

/// An app that always has another callback.
private final class RestlessApp: ScriptedApp {
  override var hasMoreCallbacks: Bool { true }
}
