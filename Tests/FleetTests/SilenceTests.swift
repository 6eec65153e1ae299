// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet

/// The fate of bytes in flight when a partition begins.
@Suite struct SilenceTests {
  let fleet = Fleet(seed: 1)
  let phone: FleetDevice
  let laptop: FleetDevice
  let origin: ScriptedApp
  let viewer: ScriptedApp

  init() throws {
    phone = try fleet.addDevice("phone")
    laptop = try fleet.addDevice("laptop")
    var apps: [ScriptedApp] = []
    for device in [phone, laptop] {
      let identity = AppIdentity(
        secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.notes", name: "notes", team: "TEAM",
        types: ["com.example.note"], isChooser: false)
      apps.append(try ScriptedApp(identity, on: device))
    }
    (origin, viewer) = (apps[0], apps[1])
    fleet.advance(1_000)
  }

  private func offer() throws {
    origin.becomeCurrent(fleet.drawIdentifier(), try ScriptedApp.activity("com.example.note", 1, size: 10))
  }

  @Test func `what came while a hub was stopped is there when it goes on, whoever is silent by then`() throws {
    viewer.process.stall()
    try offer()
    fleet.advance(1_000)
    try fleet.partition(phone, from: laptop)
    viewer.process.resume()
    fleet.advance(10)
    #expect(viewer.offers.count == 1)
    #expect(fleet.violation == nil)
  }

  @Test func `what was on its way from a device that lost its power does not come after a silence`() throws {
    try fleet.network.setDelay(500, 500)
    try offer()
    fleet.advance(100)
    phone.crash()
    try fleet.partition(phone, from: laptop)
    fleet.advance(1_000)
    fleet.heal()
    fleet.advance(2_000)
    #expect(viewer.offers.isEmpty)
    #expect(fleet.violation == nil)
  }
}
