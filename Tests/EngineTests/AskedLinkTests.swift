// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// Links between devices that an app has asked for.
@Suite struct AskedLinkTests {
  @Test func `the other hub says why it ends a link, or ends it before it has said anything`() throws {
    let world = World(hasHub: true)
    let app = world.open("app")
    func openLink(saysWho: Bool) throws -> RawPeer {
      try RawPeer(hubIn: world, for: try world.openLink(app), saysWho: saysWho)
    }
    _ = app.takeEvents()
    try openLink(saysWho: true).say(.goodbye(SegueError(.limitExceeded, "no more")))
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
    #expect(app.takeEvents().isEmpty)
  }

  @Test func `a link is asked for once there is a hub, and each once; the hub may refuse`() throws {
    let world = World()
    let app = world.open("app")
    let links = (0..<2).map { _ in DeviceLink(world.device, world.away) }
    func ask(_ link: DeviceLink?) -> UInt64 {
      world.tell(app) { $0.link(FleetDescriptor(link.map { .link($0) } ?? .nothing), $1) }
    }
    let number = ask(nil)
    world.startHub()
    #expect(app.takeEvents() == ["ready", "link ended malformed"])
    let others = links.map { ask($0) }
    #expect(others[0] != others[1] && !others.contains(number))
    #expect(links.map { $0.takeRequests().0?.number } == others)
    world.killHub()
    #expect(app.takeEvents() == ["searching", "link ended connectionUnavailable", "link ended connectionUnavailable"])
    world.startHub()
    #expect(links.allSatisfy { $0.takeRequests().0 == nil }, "nor what the last hub was asked for")
    #expect(app.takeEvents() == ["ready"])
  }

  @Test func `an app ends one of its links, once, and keeps the others (section 10)`() throws {
    let world = World(hasHub: true)
    let app = world.open("app")
    let numbers = (0..<2).map { _ in
      world.tell(app) { $0.link(FleetDescriptor(.link(DeviceLink(world.device, world.away))), $1) }
    }
    _ = app.takeEvents()
    for _ in 0..<2 { world.tell(app) { $0.endLink(numbers[1], $1) } }
    #expect(app.takeEvents() == ["link ended userCancelled"])
    world.tell(app) { $0.endLink(numbers[0], $1) }
    #expect(app.takeEvents() == ["link ended userCancelled"])
  }
}
