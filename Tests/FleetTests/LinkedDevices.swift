// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueFleet

/// Devices of a fleet, by number, for tests that say what happens: links only on demand, one delay for all of them, and
/// a hub on each device from the start.
final class LinkedDevices {
  /// Milliseconds that bytes take between two devices.
  static let delay: Int64 = 20
  /// Milliseconds in which devices link, and changes reach all apps.
  static let time: Int64 = 1_000

  let fleet: Fleet
  let history = HistoryChecker()
  private let devices: [FleetDevice]
  /// The first app of each device, which carries its hub.
  private(set) var carriers: [ObservedApp] = []
  /// An app outlives its process.
  private var apps: [ScriptedApp] = []

  init(_ count: Int, seed: UInt64 = 1) throws {
    fleet = Fleet(seed: seed)
    fleet.linksAll = false
    try fleet.network.setDelay(Self.delay, Self.delay)
    var devices: [FleetDevice] = []
    for number in 1...count { devices.append(try fleet.addDevice("device \(number)")) }
    self.devices = devices
    // The apps that tests open can come and go, and the hubs stay.
    for index in 0..<count {
      carriers.append(try open("carrier", on: index, types: ["com.example.carrier"], team: "CARRIER"))
    }
    fleet.advance(Self.time)
  }

  // MARK: Links

  /// Links a device with the next one, and so on to the last.
  func linkRow() throws { for index in 1..<devices.count { try link(index - 1, index) } }

  func linkAll() throws {
    for index in devices.indices { for other in 0..<index { try link(other, index) } }
  }

  func link(_ one: Int, _ other: Int) throws { try fleet.setLinked(devices[one], devices[other], true) }

  /// An app asks for the link of its device with another one.
  /// - Returns: its number.
  @discardableResult func link(_ other: Int, by app: ScriptedApp) throws -> UInt64 {
    let device = app.process.device
    // The fleet has to know the two, and leaves the link to the app.
    if device.link(to: devices[other]) == nil {
      try fleet.setLinked(device, devices[other], true)
      try fleet.setLinked(device, devices[other], false)
    }
    return app.ask(device.link(to: devices[other]))
  }

  /// The link ends, as both devices notice, and no other follows.
  func unlink(_ one: Int, _ other: Int) throws { try fleet.setLinked(devices[one], devices[other], false) }

  /// The connection of a link breaks, with some of the bytes under way; another follows.
  func cut(_ one: Int, _ other: Int) { devices[one].link(to: devices[other])?.cut(fleet) }

  /// Nothing passes between two devices, without notice, until the fleet heals.
  func silence(_ one: Int, _ other: Int) throws { try fleet.partition(devices[one], from: devices[other]) }

  /// The number of reads from connections between devices.
  var readCount: Int {
    devices.flatMap { device in device.links.filter { $0.first === device } }
      .reduce(0) { sum, link in sum + (0...1).reduce(0) { $0 + (link.connection?.readCount($1) ?? 0) } }
  }

  func hub(_ device: Int) -> HubEngine? { devices[device].hub?.engine }

  func wait(_ milliseconds: Int64 = LinkedDevices.time) { fleet.advance(milliseconds) }

  // MARK: Apps

  func open(
    _ name: String, on device: Int, types: [String] = ["com.example.note"], team: String = "TEAM",
    isChooser: Bool = false
  ) throws -> ObservedApp {
    let identity = AppIdentity(
      secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.\(name)", name: name, team: team, types: types,
      isChooser: isChooser)
    let app = try ObservedApp(identity, on: devices[device], offersFrontmostOnly: false, history)
    apps.append(app)
    return app
  }

  /// Opens an editor on the first device, which offers "T1", and a viewer on the last one, or on another.
  func openEditorAndViewer(on device: Int? = nil) throws -> (editor: ObservedApp, viewer: ObservedApp) {
    let editor = try open("editor", on: 0)
    let viewer = try open("viewer", on: device ?? devices.count - 1)
    wait()
    try offer(1, by: editor)
    wait()
    return (editor, viewer)
  }

  /// Makes a new activity current, whose title is the number: "T7".
  @discardableResult func offer(_ number: Int, by app: ScriptedApp) throws -> Identifier {
    let id = fleet.drawIdentifier()
    app.becomeCurrent(id, try ScriptedApp.activity("com.example.note", number, size: 10))
    return id
  }

  /// Continues the frontmost offer that an app sees.
  func `continue`(in app: ScriptedApp) throws -> Attempt {
    let id = fleet.drawIdentifier()
    app.continue(try #require(app.offers.first), id)
    return try #require(history[id])
  }

  func titles(_ app: ScriptedApp) -> [String] { app.offers.map { $0.description.title ?? "" } }

  /// The events of offers at an app since the last call.
  func events(_ app: ScriptedApp) -> [Delivery.OfferEvent] { history.takeEvents(of: app).map { $0.event } }
}
