// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet

/// When an unlimited wait ends: pings between linked devices repeat for ever, and everything else comes to an end.
@Suite struct IdleTests {
  let devices: LinkedDevices
  let editor: ScriptedApp
  let viewer: ScriptedApp

  init() throws {
    devices = try LinkedDevices(2)
    editor = try devices.open("editor", on: 0)
    viewer = try devices.open("viewer", on: 1)
    try devices.link(0, 1)
    devices.wait()
    try devices.offer(1, by: editor)
    devices.wait()
  }

  /// Steps until nothing can happen; nil if that takes more than an hour.
  private func rest() -> Int64? {
    let (fleet, start) = (devices.fleet, devices.fleet.clock.uptime)
    while !fleet.isIdle, fleet.step(until: start + 3_600_000) {}
    return fleet.isIdle ? fleet.clock.uptime - start : nil
  }

  @Test func `pings of linked hubs are nothing that happens (R11.1)`() throws {
    let time = try #require(rest())
    #expect(time < 20_000)
    devices.wait(60_000)
    #expect(rest() != nil)
    #expect(devices.titles(viewer) == ["T1"])
    #expect(devices.fleet.violation == nil)
  }

  @Test func `the silence of another hub is waited for, and then the end of its session (R11.1)`() throws {
    #expect(rest() != nil)
    try devices.silence(0, 1)
    #expect(!devices.fleet.isIdle)
    let time = try #require(rest())
    #expect(devices.titles(viewer).isEmpty)
    // Silence of 30 s, and 60 s in which the session may be resumed.
    #expect((80_000..<100_000).contains(time), "\(time)")
  }

  @Test func `so is that of a hub that is stopped, and of a device without power (R11.1)`() throws {
    #expect(rest() != nil)
    devices.carriers[0].process.stall()
    #expect(!devices.fleet.isIdle)
    #expect(rest() != nil)
    #expect(devices.titles(viewer).isEmpty)
    devices.carriers[0].process.resume()
    #expect(!devices.fleet.isIdle)
    devices.wait()
    #expect(devices.titles(viewer) == ["T1"])
    editor.process.device.crash()
    #expect(!devices.fleet.isIdle)
    #expect(rest() != nil)
    #expect(devices.titles(viewer).isEmpty)
  }

  @Test func `a continuation that is not answered, and a process that goes on, are waited for (R11.1)`() throws {
    #expect(rest() != nil)
    editor.process.stall()
    let attempt = try devices.continue(in: viewer)
    #expect(rest() != nil)
    #expect(attempt.callbacks.last != .willContinue)
    editor.process.resume()
    #expect(rest() != nil)
    carrierStalls()
  }

  private func carrierStalls() {
    devices.carriers[1].process.stall(for: 500_000)
    #expect(!devices.fleet.isIdle)
    #expect(rest().map { $0 >= 500_000 } ?? false)
  }
}
