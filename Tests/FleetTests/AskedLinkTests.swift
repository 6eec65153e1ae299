// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet

/// Links between devices that an app has asked for.
@Suite struct AskedLinkTests {
  /// Two devices, an app of the first, and what it was told of the link that it has asked for.
  private func events(_ end: (LinkedDevices, ObservedApp) throws -> Void) throws -> [String] {
    let devices = try LinkedDevices(2)
    let app = try devices.open("app", on: 0)
    devices.wait()
    try devices.link(1, by: app)
    devices.wait()
    try end(devices, app)
    devices.wait()
    #expect(devices.fleet.violation == nil)
    return app.linkEvents
  }

  @Test func `who asked for a link learns that it is established, and once that it has ended`() throws {
    let linked = "linked with device 2"
    #expect(try events { _, _ in } == [linked])
    #expect(try events { devices, _ in devices.cut(0, 1) } == [linked, "ended connectionUnavailable"])
    let silent = try events { devices, _ in
      try devices.silence(0, 1)
      devices.wait(31_000)
    }
    #expect(silent == [linked, "ended remoteApplicationTimedOut"])
    let hubDied = try events { devices, _ in devices.carriers[0].process.kill() }
    #expect(hubDied == [linked, "ended connectionUnavailable"])
    #expect(try events { _, app in app.close() } == [linked, "ended cancelled"])
  }

  @Test func `a link that resumes over another connection belongs to who asked for that (R7.4)`() throws {
    let devices = try LinkedDevices(2)
    let one = try devices.open("one", on: 0)
    let two = try devices.open("two", on: 0)
    devices.wait()
    try devices.link(1, by: one)
    devices.wait()
    devices.cut(0, 1)
    try devices.link(1, by: two)
    devices.wait()
    one.close()
    devices.wait()
    #expect(one.linkEvents == ["linked with device 2", "ended connectionUnavailable"])
    #expect(two.linkEvents == ["linked with device 2"])
    let link = try #require(two.process.device.link(to: devices.carriers[1].process.device))
    let connection = link.connection
    two.close()
    devices.wait()
    #expect(link.connection !== connection, "the link ends with its app")
    #expect(devices.fleet.violation == nil)
  }

  @Test func `what was cut resumes although the app that had asked for the link has closed (R7.4)`() throws {
    let devices = try LinkedDevices(2)
    let one = try devices.open("one", on: 0)
    let two = try devices.open("two", on: 0)
    let viewer = try devices.open("viewer", on: 1)
    devices.wait()
    try devices.link(1, by: one)
    two.answers.saves = false
    try devices.offer(1, by: two)
    devices.wait()
    let attempt = try devices.continue(in: viewer)
    devices.wait(100)
    devices.cut(0, 1)
    // Until the hubs have noticed: before that, the link would end with its app.
    devices.wait(2 * LinkedDevices.delay)
    one.close()
    try devices.link(1, by: two)
    devices.wait(500)
    two.answers.saves = true
    two.answer()
    devices.wait()
    #expect(attempt.callbacks == [.willContinue, .continued(isStale: false)])
    #expect(devices.fleet.violation == nil)
  }

  @Test func `an app ends its link, and leaves no session to resume`() throws {
    let devices = try LinkedDevices(2)
    let app = try devices.open("app", on: 0)
    let editor = try devices.open("editor", on: 0)
    let viewer = try devices.open("viewer", on: 1)
    devices.wait()
    let number = try devices.link(1, by: app)
    devices.wait()
    try devices.offer(1, by: editor)
    devices.wait()
    try #require(app.process.device.link(to: viewer.process.device)).isWanted = false
    app.perform { $0.endLink(number &+ 1, $1) }
    devices.wait()
    #expect(devices.titles(viewer) == ["T1"])
    for _ in 0..<2 { app.perform { $0.endLink(number, $1) } }
    devices.wait()
    #expect(app.linkEvents == ["linked with device 2", "ended userCancelled"])
    #expect(devices.events(viewer) == [.appeared, .gone])
    // A session without a connection would wait for 60 s to be resumed.
    devices.wait(30_000)
    #expect(devices.fleet.isIdle)
    #expect(devices.fleet.violation == nil)
  }

  @Test func `the link of an app that dies is closed`() throws {
    let devices = try LinkedDevices(2)
    let app = try devices.open("app", on: 0)
    let editor = try devices.open("editor", on: 0)
    let viewer = try devices.open("viewer", on: 1)
    devices.wait()
    try devices.link(1, by: app)
    devices.wait()
    try devices.offer(1, by: editor)
    devices.wait()
    app.process.kill()
    devices.wait(3 * LinkedDevices.delay)
    // The fleet links the two again, as the link is still wanted.
    #expect(devices.events(viewer) == [.appeared, .gone])
    #expect(devices.fleet.violation == nil)
  }
}
