import SegueEngine
import SegueModel
import SegueWire
import Testing

/// Links between devices that an app has asked for.
@Suite struct AskedLinkTests {
  @Test func `the other hub says why it ends a link, or ends it before it has said anything`() throws {
    let world = World()
    world.startHub()
    let app = world.open("app")
    func openLink(saysWho: Bool) throws -> RawPeer {
      try RawPeer(hubIn: world, for: try world.openLink(app), saysWho: saysWho)
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
