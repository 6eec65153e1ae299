import SegueEngine
import SegueModel
import SegueWire
import Testing

/// Links between devices that an app has asked for.
@Suite struct AskedLinkTests {
  /// Two devices, an app of the first, and its callbacks about the link that it requested.
  private func told(_ end: (LinkedWorlds, TestApp) throws -> Void) rethrows -> [String] {
    let devices = LinkedWorlds(2)
    let app = devices.worlds[0].open("app")
    devices.link(0, 1, by: app)
    devices.wait(1_000)
    try end(devices, app)
    devices.wait(1_000)
    return app.takeEvents().filter { $0.contains("link") }
  }

  @Test func `who asked for a link hears that it is there, and once that it has ended, whatever ended it`() {
    let linked = "linked with device 2"
    #expect(told { _, _ in } == [linked])
    #expect(told { devices, _ in devices.cut(0, 1) } == [linked, "link ended connectionUnavailable"])
    let silent = told { devices, _ in
      devices.silence(0, 1)
      devices.wait(31_000)
    }
    #expect(silent == [linked, "link ended remoteApplicationTimedOut"])
    #expect(told { devices, _ in devices.link(0, 1) } == [linked], "the other is turned away")
    #expect(told { devices, _ in devices.worlds[0].killHub() } == [linked, "link ended connectionUnavailable"])
    #expect(told { devices, app in devices.worlds[0].close(app) } == [linked, "link ended cancelled"])
  }

  @Test func `a link that goes on over another connection belongs to who asked for that (R7.4)`() {
    let devices = LinkedWorlds(2)
    let one = devices.worlds[0].open("one")
    let two = devices.worlds[0].open("two")
    devices.link(0, 1, by: one)
    devices.wait(1_000)
    devices.cut(0, 1)
    devices.link(0, 1, by: two)
    devices.wait(1_000)
    devices.worlds[0].close(one)
    #expect(one.takeEvents() == ["ready", "linked with device 2", "link ended connectionUnavailable"])
    #expect(two.takeEvents() == ["ready", "linked with device 2"])
    devices.worlds[0].close(two)
    devices.wait(1_000)
    #expect(devices.worlds[0].links.isEmpty, "its link goes with it")
  }

  @Test func `what was cut goes on although the app that had asked for the link has closed (R7.4)`() throws {
    let devices = LinkedWorlds(2)
    let one = devices.worlds[0].open("one")
    let two = devices.worlds[0].open("two")
    let viewer = devices.worlds[1].open("viewer")
    devices.link(0, 1, by: one)
    two.answersSaves = false
    _ = try devices.worlds[0].offer("Draft", by: two)
    devices.wait(1_000)
    _ = viewer.takeEvents()
    _ = try devices.worlds[1].continue(in: viewer)
    devices.wait(100)
    devices.cut(0, 1)
    devices.worlds[0].close(one)
    devices.link(0, 1, by: two)
    devices.wait(100)
    devices.worlds[0].tell(two) { [save = two.pendingSaves[0]] in $0.saved(save, $1) }
    devices.wait(1_000)
    #expect(viewer.takeEvents().filter { !$0.hasSuffix("Draft") } == ["will_continue", "continue"])
  }

  @Test func `the link of an app that dies is closed, and nobody is told any more`() throws {
    let devices = LinkedWorlds(2)
    let app = devices.worlds[0].open("app")
    devices.link(0, 1, by: app)
    devices.wait(1_000)
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[1].open("viewer")
    _ = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    devices.worlds[0].kill(app)
    devices.wait(1_000)
    #expect(viewer.takeEvents() == ["ready", "appeared Draft", "gone Draft"])
  }

  @Test func `the other hub says why it ends a link, or ends it before it has said anything`() throws {
    let world = World()
    world.startHub()
    let app = world.open("app")
    func openLink(saysWho: Bool) throws -> RawPeer {
      world.tell(app) { _ = $0.link(PassedDescriptor(), $1) }
      let attachment = try #require(world.hub?.takeAttachments().first)
      return try RawPeer(hubIn: world, for: attachment, saysWho: saysWho)
    }
    _ = app.takeEvents()
    try openLink(saysWho: true).say(.goodbye(SegueError(.limitExceeded, "no more")))
    world.settle()
    #expect(app.takeEvents() == ["linked with away", "link ended limitExceeded"])
    try openLink(saysWho: false).disconnect()
    #expect(app.takeEvents() == ["link ended connectionUnavailable"])
    let mute = try openLink(saysWho: false)
    world.wait(4_900)
    #expect(mute.isConnected)
    world.wait(200)
    #expect(!mute.isConnected)
    #expect(app.takeEvents() == ["link ended remoteApplicationTimedOut"])
    // Nor is it notified of links that it did not request.
    _ = try RawPeer(hubIn: world)
    world.settle()
    #expect(app.takeEvents().isEmpty)
  }

  @Test func `a link is asked for once there is a hub, and each once; the hub may refuse`() throws {
    let world = World()
    let app = world.open("app")
    var number: UInt64 = 0
    world.tell(app) { number = $0.link(PassedDescriptor(), $1) }
    world.startHub()
    let hub = try #require(world.hub)
    let attachments = hub.takeAttachments()
    #expect(attachments.count == 1)
    #expect(hub.takeAttachments().isEmpty)
    hub.refuse(attachments[0], SegueError(.malformed, "no descriptor came with it"))
    world.settle()
    #expect(app.takeEvents() == ["ready", "link ended malformed"])
    var others: [UInt64] = []
    world.tell(app) { others = [$0.link(PassedDescriptor(), $1), $0.link(PassedDescriptor(), $1)] }
    #expect(others[0] != others[1] && !others.contains(number))
    world.killHub()
    #expect(app.takeEvents() == ["searching", "link ended connectionUnavailable", "link ended connectionUnavailable"])
    world.startHub()
    #expect(world.hub?.takeAttachments().isEmpty ?? false, "nor what the last hub was asked for")
    #expect(app.takeEvents() == ["ready"])
  }
}
