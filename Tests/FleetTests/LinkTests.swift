// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueFleet

/// Devices whose hubs are linked.
@Suite struct LinkTests {
  @Test func `an activity is offered and continued on a linked device (R2.1, R3.6)`() throws {
    let devices = try LinkedDevices(2)
    let editor = try devices.open("editor", on: 0)
    let viewer = try devices.open("viewer", on: 1)
    devices.wait()
    try devices.offer(1, by: editor)
    try devices.link(0, 1)
    devices.wait()
    #expect(devices.titles(viewer) == ["T1"])
    #expect(viewer.offers.map { $0.deviceName } == ["device 1"])
    let attempt = try devices.continue(in: viewer)
    devices.wait()
    #expect(attempt.callbacks == [.willContinue, .continued(isStale: false)] && attempt.number == 1)
    #expect(attempt.receipt?.outcome == .restored && attempt.receipt?.receiver.deviceName == "device 2")
    #expect(devices.fleet.violation == nil)
  }

  @Test func `an activity that a linked device gets is not said to be offered to no one (R6.5)`() throws {
    let devices = try LinkedDevices(2)
    let editor = devices.carriers[0]
    let viewer = devices.carriers[1]
    editor.becomeCurrent(devices.fleet.drawIdentifier(), try ScriptedApp.activity("com.example.carrier", 1, size: 10))
    editor.explain(0)
    devices.wait()
    #expect(editor.reasons?.map { $0.reason } == ["no other app"])
    try devices.link(0, 1)
    devices.wait()
    #expect(devices.titles(viewer) == ["T1"])
    editor.explain(0)
    devices.wait()
    #expect(editor.reasons?.isEmpty == true)
  }

  @Test func `offers pass a chain of hubs, and so do continuations, declines and receipts (R3.7)`() throws {
    let devices = try LinkedDevices(4)
    try devices.linkRow()
    let (_, viewer) = try devices.openEditorAndViewer()
    viewer.answers.declines = true
    let declined = try devices.continue(in: viewer)
    devices.wait()
    #expect(declined.receipt?.outcome == .declined && declined.receipt?.reason == "not now")
    viewer.answers.declines = false
    let restored = try devices.continue(in: viewer)
    devices.wait()
    #expect(restored.receipt?.outcome == .restored)
    #expect(devices.fleet.violation == nil)
  }

  @Test func `a withdrawal overtakes what other hubs still pass on (R1.11)`() throws {
    let devices = try LinkedDevices(6)
    try devices.linkAll()
    let editor = try devices.open("editor", on: 0)
    let viewers = try (1..<6).map { try devices.open("viewer", on: $0) }
    devices.wait()
    try devices.offer(1, by: editor)
    devices.wait()
    for viewer in viewers { #expect(devices.titles(viewer) == ["T1"]) }
    editor.invalidate(0)
    devices.wait(3 * LinkedDevices.delay)
    for viewer in viewers {
      #expect(devices.titles(viewer).isEmpty)
      #expect(devices.events(viewer) == [.appeared, .gone])
    }
    #expect(devices.fleet.violation == nil)
  }

  @Test func `an offer that arrives after its withdrawal is not believed (R1.11)`() throws {
    let devices = try LinkedDevices(3)
    try devices.linkAll()
    let editor = try devices.open("editor", on: 0)
    let viewer = try devices.open("viewer", on: 2)
    devices.wait()
    try devices.offer(1, by: editor)
    devices.wait(LinkedDevices.delay / 2)
    // Messages that the second device passes on to the third take long.
    try devices.fleet.network.setDelay(5_000, 5_000)
    devices.wait(LinkedDevices.delay)
    try devices.fleet.network.setDelay(LinkedDevices.delay, LinkedDevices.delay)
    #expect(devices.titles(viewer) == ["T1"])
    editor.invalidate(0)
    devices.wait(4 * LinkedDevices.delay)
    #expect(devices.titles(viewer).isEmpty)
    devices.wait(6_000)
    #expect(devices.events(viewer) == [.appeared, .gone])
    #expect(devices.fleet.violation == nil)
  }

  @Test func `a loop of hubs does no harm, and the longer way is taken over when the shorter one breaks`() throws {
    let devices = try LinkedDevices(3)
    try devices.linkAll()
    let (editor, viewer) = try devices.openEditorAndViewer(on: 1)
    #expect(devices.events(viewer) == [.appeared])
    try devices.unlink(0, 1)
    // Until both hubs have noticed.
    devices.wait(LinkedDevices.delay + 5)
    #expect(devices.titles(viewer) == ["T1"] && devices.events(viewer).isEmpty)
    let attempt = try devices.continue(in: viewer)
    devices.wait()
    #expect(attempt.receipt?.outcome == .restored)
    editor.resignCurrent(0)
    devices.wait()
    #expect(devices.titles(viewer).isEmpty)
    #expect(devices.fleet.violation == nil)
  }

  @Test func `offers of a device that is cut off vanish at once, of one that falls silent within 30 s`() throws {
    let devices = try LinkedDevices(3)
    try devices.linkRow()
    let (_, viewer) = try devices.openEditorAndViewer()
    #expect(devices.titles(viewer) == ["T1"])
    try devices.silence(0, 1)
    devices.wait(28_500)
    #expect(devices.titles(viewer) == ["T1"])
    devices.wait(2_500)
    #expect(devices.titles(viewer).isEmpty)
    devices.fleet.heal()
    devices.wait(2_000)
    #expect(devices.titles(viewer) == ["T1"])
    try devices.unlink(0, 1)
    devices.wait(3 * LinkedDevices.delay)
    #expect(devices.titles(viewer).isEmpty)
    #expect(devices.fleet.violation == nil)
  }

  @Test func `a link that is cut again and again resumes where it was, without loss or repetition (R7.4)`() throws {
    for seed in 0..<UInt64(25) {
      var random = SeededRandom(seed: seed)
      let devices = try LinkedDevices(2, seed: seed)
      try devices.link(0, 1)
      let editor = try devices.open("editor", on: 0)
      let viewer = try devices.open("viewer", on: 1)
      devices.wait()
      try devices.offer(1, by: editor)
      try editor.change(0) { (activity) throws(SegueError) in
        try ScriptedApp.write(2, size: 216_000, to: &activity)
      }
      devices.wait()
      let attempt = try devices.continue(in: viewer)
      for _ in 0..<4 {
        devices.wait(random.within(1, 200))
        devices.cut(0, 1)
        devices.wait(random.within(250, 500))
      }
      devices.wait(5_000)
      #expect(attempt.callbacks == [.willContinue, .continued(isStale: false)], "seed \(seed)")
      #expect(attempt.number == 2 && attempt.receipt?.outcome == .restored, "seed \(seed)")
      #expect(devices.titles(viewer) == ["T2"], "seed \(seed)")
      #expect(devices.fleet.violation == nil)
    }
  }

  @Test func `a continuation whose way breaks for good fails, and its origin does not guess (R3.2, R3.6)`() throws {
    let devices = try LinkedDevices(2)
    try devices.link(0, 1)
    let (editor, viewer) = try devices.openEditorAndViewer()
    editor.answers.saves = false
    let attempt = try devices.continue(in: viewer)
    devices.wait(100)
    try devices.unlink(0, 1)
    devices.wait(21_000)
    #expect(attempt.callbacks == [.willContinue, .failed(.remoteApplicationTimedOut)])
    #expect(attempt.receipt?.outcome == .failed)
    #expect(devices.fleet.violation == nil)
  }

  @Test func `the team is asked for on other devices too (R6.2), and a chooser sees all (R2.6)`() throws {
    let devices = try LinkedDevices(2)
    try devices.link(0, 1)
    let editor = try devices.open("editor", on: 0)
    let foreign = try devices.open("foreign", on: 1, team: "OTHER")
    let chooser = try devices.open("chooser", on: 1, types: [], team: "OTHER", isChooser: true)
    devices.wait()
    try devices.offer(1, by: editor)
    devices.wait()
    #expect(devices.titles(foreign).isEmpty)
    #expect(devices.titles(chooser) == ["T1"])
    #expect(devices.fleet.violation == nil)
  }

  @Test func `a change is published everywhere, and alone does not change the rank (R2.8)`() throws {
    let devices = try LinkedDevices(3)
    try devices.linkRow()
    let (editor, viewer) = try devices.openEditorAndViewer()
    let ranks = viewer.offers.map { $0.rank }
    try editor.change(0) { (activity) throws(SegueError) in try ScriptedApp.write(2, to: &activity) }
    devices.wait()
    #expect(devices.titles(viewer) == ["T2"])
    #expect(viewer.offers.map { $0.rank } == ranks)
    #expect(devices.fleet.violation == nil)
  }
}
