// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// Requests to an origin on another device (R7.5).
@Suite struct RemoteRequestTests {
  /// An editor on the first device, and a viewer on the last that has continued what it offers.
  private struct Continued {
    let devices: LinkedDevices
    let editor: ObservedApp
    let viewer: ObservedApp
    let from: ContinuedFrom

    init(_ count: Int) throws {
      devices = try LinkedDevices(count)
      try devices.linkRow()
      (editor, viewer) = try devices.openEditorAndViewer()
      _ = try devices.continue(in: viewer)
      devices.wait()
      from = try #require(viewer.lastContinued)
    }

    func ended(_ number: UInt64) -> Asked? {
      devices.history.asked(number, by: viewer).flatMap { $0.hasEnded ? $0 : nil }
    }
  }

  @Test(arguments: [2, 3])
  func `across linked devices it is answered, or ends at its deadline if a link falls silent (R7.5)`(
    count: Int
  ) throws {
    let all = try Continued(count)
    // The checker compares the answer with what was asked.
    let answered = all.viewer.request([UInt8](repeating: 9, count: 300_000), all.from)
    all.devices.wait(2_000)
    let end = try #require(all.ended(answered))
    #expect(end.error == nil)
    all.editor.answers.continues = false
    let late = all.viewer.request([1], all.from, timeout: 5_000)
    all.devices.wait(500)
    try all.devices.silence(0, 1)
    all.devices.wait(4_400)
    #expect(all.ended(late) == nil)
    all.devices.wait(200)
    #expect(all.ended(late)?.error == .remoteApplicationTimedOut)
    #expect(all.devices.fleet.violation == nil)
  }

  @Test func `a hub that was not there before finds the way to an origin that it sees (R7.5)`() throws {
    let all = try Continued(2)
    let hub = try #require(all.viewer.process.device.hub)
    hub.process.kill()
    all.devices.wait(2_000)
    #expect(all.viewer.process.device.hub !== hub)
    let number = all.viewer.request([1, 2], all.from)
    all.devices.wait()
    let end = try #require(all.ended(number))
    #expect(end.error == nil)
    #expect(all.devices.fleet.violation == nil)
  }

  @Test func `what is cancelled on its way is of no weight at the origin (R7.5)`() throws {
    let all = try Continued(2)
    let engine = try #require(all.editor.engine)
    let number = all.viewer.request([UInt8](repeating: 9, count: 400_000), all.from)
    for _ in 0..<40 where engine.heldBytes == 0 { all.devices.wait(1) }
    #expect(engine.heldBytes > 0 && all.ended(number) == nil)
    all.viewer.perform { engine, _ in engine.cancelRequest(number) }
    all.devices.wait(60)
    #expect(engine.heldBytes == 0 && all.ended(number)?.error == .userCancelled)
    #expect(all.devices.fleet.violation == nil)
  }

  @Test func `the origin on a linked device dies: the receiver learns it at once (R7.5)`() throws {
    let all = try Continued(2)
    all.editor.answers.continues = false
    let number = all.viewer.request([1], all.from)
    all.devices.wait(500)
    all.editor.process.kill()
    all.devices.wait(100)
    #expect(all.ended(number)?.error == .connectionUnavailable)
    #expect(all.devices.fleet.violation == nil)
  }
}
