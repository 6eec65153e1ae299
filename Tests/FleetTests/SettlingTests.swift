// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueFleet

/// The list of an app that opens while the hub moves.
@Suite struct SettlingTests {
  /// A device on which the app that carries the hub is stopped or killed, and another has an offer.
  private final class Device {
    let fleet: Fleet
    let device: FleetDevice
    let carrier: ScriptedApp
    let editor: ScriptedApp
    /// An app outlives its process.
    private var opened: [ScriptedApp] = []

    init(seed: UInt64) throws {
      fleet = Fleet(seed: seed)
      device = try fleet.addDevice("laptop")
      carrier = try Self.open("carrier", device)
      fleet.advance(1_000)
      editor = try Self.open("editor", device)
      editor.becomeCurrent(fleet.drawIdentifier(), try ScriptedApp.activity("com.example.note", 1, size: 10))
      fleet.advance(1_000)
    }

    private static func open(_ name: String, _ device: FleetDevice) throws -> ScriptedApp {
      let identity = AppIdentity(
        secret: device.fleet.drawIdentifier(), bundleIdentifier: "com.example.\(name)", name: name, team: "TEAM",
        types: ["com.example.note"], isChooser: true)
      return try ScriptedApp(identity, on: device)
    }

    func open() throws -> ScriptedApp {
      let app = try Self.open("list", device)
      opened.append(app)
      return app
    }

    /// Opens an app, and runs until it is ready; nil if that does not come.
    /// - Returns: the number of offers that it then sees.
    func count(atMost milliseconds: Int64) throws -> Int? {
      let app = try open()
      let end = fleet.clock.uptime + milliseconds
      while !(app.process.engine?.isReady ?? false) { guard fleet.step(until: end) else { return nil } }
      return app.offers.count
    }
  }

  @Test(arguments: 1...20) func `an app is ready when the apps of a stopped hub have registered (R2.7)`(seed: UInt64)
    throws
  {
    let device = try Device(seed: seed)
    device.carrier.process.stall()
    #expect(try device.count(atMost: 2_000) == 1)
    #expect(device.fleet.violation == nil)
  }

  @Test(arguments: 1...20) func `an app is ready when the apps of a hub that was killed have registered (R2.7)`(
    seed: UInt64
  ) throws {
    let device = try Device(seed: seed)
    device.carrier.process.kill()
    #expect(try device.count(atMost: 1_000) == 1)
    #expect(device.fleet.violation == nil)
  }

  @Test func `a fleet runs until such an app is ready (R11.1)`() throws {
    let device = try Device(seed: 1)
    device.carrier.process.kill()
    let app = try device.open()
    try device.fleet.run()
    #expect(app.process.engine?.isReady == true)
  }

  @Test func `an app that was ready, or whose hub is the first or an old one, does not wait (R2.7)`() throws {
    let device = try Device(seed: 1)
    #expect(try device.count(atMost: 100) == 1)
    device.carrier.process.kill()
    device.fleet.advance(100)
    #expect(device.editor.process.engine?.isReady == true)
    device.fleet.advance(1_000)
    #expect(try device.count(atMost: 100) == 1)
  }
}
