// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// A network of hubs learns of offers (R1.11, R2.8). The messages that one hub believes: RoutesTests of the engine.
@Suite struct RoutesTests {
  /// Devices that are all linked with each other: an editor on the first one, which offers, and a viewer on each other.
  private func fullMesh(
    _ count: Int
  ) throws -> (devices: LinkedDevices, editor: ObservedApp, viewers: [ObservedApp]) {
    let devices = try LinkedDevices(count)
    try devices.linkAll()
    let editor = try devices.open("editor", on: 0)
    let viewers = try (1..<count).map { try devices.open("viewer", on: $0) }
    devices.wait()
    try devices.offer(1, by: editor)
    devices.wait()
    return (devices, editor, viewers)
  }

  @Test func `a change is told once to each hub of a full mesh, and what went leaves nothing (R1.11, R2.8)`() throws {
    let count = 12
    let (devices, editor, viewers) = try fullMesh(count)
    let kept = try (0..<count).map { try #require(devices.hub($0)).parts.remoteHubs.bytes.count }
    for number in 2..<7 {
      let before = devices.readCount
      try devices.offer(number, by: editor)
      devices.wait()
      for viewer in viewers { #expect(devices.titles(viewer) == ["T\(number)"]) }
      // The offer, and what belongs to it. If each hub passed it on, there would be ten times as many.
      #expect(devices.readCount - before <= 4 * (count - 1))
      editor.invalidate(editor.activityCount - 1)
      devices.wait()
      for viewer in viewers { #expect(devices.titles(viewer).isEmpty) }
      for device in 1..<count {
        #expect(try #require(devices.hub(device)).parts.remoteHubs.bytes.count < kept[device])
      }
    }
    #expect(devices.fleet.violation == nil)
  }

  @Test func `a device of a full mesh that is gone is looked for nowhere (R1.11)`() throws {
    let count = 9
    let (devices, _, viewers) = try fullMesh(count)
    for device in 1..<count { try devices.unlink(0, device) }
    devices.wait(4 * LinkedDevices.delay)
    for viewer in viewers { #expect(devices.titles(viewer).isEmpty) }
    for device in 1..<count { #expect(devices.hub(device)?.parts.remoteHubs.isEmpty == true) }
    #expect(devices.fleet.violation == nil)
  }

  @Test func `offers stay while another route is taken, and what changes meanwhile is told (R2.8)`() throws {
    // A ring: there are two routes to the third device.
    let devices = try LinkedDevices(5)
    try devices.linkRow()
    try devices.link(0, 4)
    let editor = try devices.open("editor", on: 0)
    let other = try devices.open("other", on: 0)
    let viewer = try devices.open("viewer", on: 2)
    devices.wait()
    try devices.offer(1, by: editor)
    try devices.offer(2, by: other)
    devices.wait()
    #expect(devices.events(viewer) == [.appeared, .appeared])
    try devices.unlink(0, 1)
    other.invalidate(0)
    devices.wait()
    #expect(devices.titles(viewer) == ["T1"] && devices.events(viewer) == [.gone])
    try devices.link(0, 1)
    devices.wait()
    try devices.unlink(3, 4)
    try devices.offer(3, by: other)
    devices.wait()
    #expect(devices.titles(viewer) == ["T3", "T1"] && devices.events(viewer) == [.appeared])
    #expect(devices.fleet.violation == nil)
  }
}
