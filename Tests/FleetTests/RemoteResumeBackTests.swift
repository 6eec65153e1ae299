// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// The state of an activity comes back from an app on another device (R3.10).
@Suite struct RemoteResumeBackTests {
  /// An editor on the first device, and a viewer on the last that has continued what it offers, and written into it.
  private struct Continued {
    let devices: LinkedDevices
    let editor: ObservedApp
    let viewer: ObservedApp

    init(_ count: Int, seed: UInt64 = 1) throws {
      devices = try LinkedDevices(count, seed: seed)
      try devices.linkRow()
      (editor, viewer) = try devices.openEditorAndViewer()
      _ = try devices.continue(in: viewer)
      devices.wait()
      try viewer.editKept(0, 7, isReported: false)
    }

    var title: String? { editor.current?.title }

    /// - Returns: the name under which it began.
    @discardableResult func resumeBack() -> Identifier {
      let id = devices.fleet.drawIdentifier()
      #expect(editor.resumeBack(0, id)?.status == nil)
      return id
    }

    var failure: Status? { editor.failures.last?.status }
  }

  @Test(arguments: [2, 3, 4])
  func `across links it comes back as it is there now (R3.10)`(count: Int) throws {
    let all = try Continued(count)
    all.resumeBack()
    all.devices.wait()
    #expect(all.title == "T7")
    // The other device sees it, too.
    #expect(all.devices.titles(all.viewer) == ["T7"])
    #expect(all.devices.fleet.violation == nil)
  }

  @Test func `a cut link delays it, and nothing more (R3.10, R7.4)`() throws {
    let all = try Continued(3)
    all.resumeBack()
    for _ in 0..<6 {
      all.devices.wait(15)
      all.devices.cut(0, 1)
      all.devices.cut(1, 2)
    }
    all.devices.wait(5_000)
    #expect(all.title == "T7")
    #expect(all.devices.fleet.violation == nil)
  }

  @Test func `that app dies, or its device is out of reach (R3.10)`() throws {
    let dead = try Continued(2)
    dead.viewer.process.kill()
    dead.devices.wait()
    dead.resumeBack()
    dead.devices.wait()
    #expect(dead.failure == .connectionUnavailable && dead.title == "T1")
    let unlinked = try Continued(2)
    try unlinked.devices.unlink(0, 1)
    unlinked.devices.wait()
    unlinked.resumeBack()
    // The link could come back.
    unlinked.devices.wait(20_100)
    #expect(unlinked.failure == .remoteApplicationTimedOut && unlinked.title == "T1")
    let silent = try Continued(2)
    try silent.devices.silence(0, 1)
    silent.resumeBack()
    silent.devices.wait(20_100)
    #expect(silent.failure == .remoteApplicationTimedOut && silent.title == "T1")
    for all in [dead, unlinked, silent] { #expect(all.devices.fleet.violation == nil) }
  }

  @Test(arguments: [0, 1])
  func `other hubs find an app that offers something itself (R3.10)`(device: Int) throws {
    let all = try Continued(2)
    try all.devices.offer(9, by: all.viewer)
    all.devices.wait()
    all.devices.carriers[device].process.kill()
    all.devices.wait(5_000)
    all.resumeBack()
    all.devices.wait()
    #expect(all.title == "T7")
    #expect(all.devices.fleet.violation == nil)
  }

  @Test func `the hub of the origin dies: it comes back, or the error says why not (R3.10, R3.14)`() throws {
    for pause in [Int64(1), 30, 60, 100] {
      let all = try Continued(2)
      let hub = try #require(all.editor.process.device.hub)
      let id = all.resumeBack()
      all.devices.wait(pause)
      hub.process.kill()
      all.devices.wait(25_000)
      #expect(all.devices.history.cameBack(id) == 7 || all.failure == .connectionUnavailable)
      #expect(all.devices.fleet.violation == nil)
    }
  }
}
