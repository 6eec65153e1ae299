import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// By which linked hub a hub hears of the offers of others, and whom it believes (R1.11).
@Suite struct RoutesTests {
  private func titles(_ app: TestApp) -> [String] { app.engine.offers.all.map { $0.description.title ?? "" } }

  private func offer(_ id: Identifier, _ title: String, in world: World) -> Offer {
    Offer(
      description: OfferDescription(
        id: id, type: "com.example.note", title: title, payloadVersion: 0, sizeHint: 0, expirationDate: nil,
        supportsContinuationStreams: false), origin: Identifier(high: 7, low: 7), appName: "editor",
      bundleIdentifier: "com.example.editor", deviceName: "away", rank: 1, activatedAt: 0)
  }

  private func offered(_ id: Identifier, _ title: String, of hub: Identifier, _ number: UInt64, in world: World)
    -> Message
  {
    let origin = OfferOrigin(team: "TEAM", activation: 1, version: OffersVersion(hub: hub, number: number))
    return .offer(offer(id, title, in: world), OfferTiming(age: 0, remaining: nil), origin)
  }

  private func gone(_ id: Identifier, of hub: Identifier, _ number: UInt64) -> Message {
    .gone(id, OffersVersion(hub: hub, number: number))
  }

  /// A device with an app that sees what is offered.
  private func scene() -> (World, viewer: TestApp) {
    let world = World()
    world.startHub()
    return (world, world.open("viewer"))
  }

  private func linked(_ world: World) throws -> (RawPeer, Identifier) {
    let id = world.identifier()
    let peer = try RawPeer(hubIn: world, as: id)
    try peer.resume()
    try peer.say(.route(to: id, Route([id], sequence: 1), isSought: false))
    world.settle()
    return (peer, id)
  }

  private func say(_ messages: Message..., by peer: RawPeer, in world: World) throws {
    for message in messages { try peer.say(message) }
    world.settle()
  }

  @Test func `a change is told once to each hub of a full mesh, and what went leaves nothing (R1.11, R2.8)`() throws {
    let count = 12
    let devices = LinkedWorlds(count)
    devices.linkAll()
    let editor = devices.worlds[0].open("editor")
    let viewers = (1..<count).map { devices.worlds[$0].open("viewer") }
    _ = try devices.worlds[0].offer("First", by: editor)
    devices.wait(1_000)
    let kept = devices.worlds.map { $0.hub?.remoteHubs.bytes.count }
    for number in 0..<5 {
      let before = devices.sentCount
      let id = try devices.worlds[0].offer("\(number)", by: editor)
      devices.wait(1_000)
      for viewer in viewers { #expect(titles(viewer) == ["\(number)"]) }
      // The former goes, and this one comes.
      #expect(devices.sentCount - before <= 2 * (count - 1))
      #expect(devices.worlds.allSatisfy { $0.hub?.brokenInvariant == nil })
      devices.worlds[0].tell(editor) { $0.invalidate(id, $1) }
      editor.invalidate(id)
      devices.wait(1_000)
      for viewer in viewers { #expect(titles(viewer).isEmpty) }
      for (index, world) in devices.worlds.enumerated() where index > 0 {
        #expect(world.hub?.remoteHubs.bytes.count ?? 0 < kept[index] ?? 0)
      }
    }
  }

  @Test func `a device of a full mesh that is gone is looked for nowhere (R1.11)`() throws {
    let count = 9
    let devices = LinkedWorlds(count)
    devices.linkAll()
    let editor = devices.worlds[0].open("editor")
    let viewers = (1..<count).map { devices.worlds[$0].open("viewer") }
    _ = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    for index in 1..<count { devices.cut(0, index) }
    devices.wait(3 * devices.delay)
    for viewer in viewers { #expect(titles(viewer).isEmpty) }
    for world in devices.worlds.dropFirst() { #expect(world.hub?.remoteHubs.isEmpty == true) }
  }

  @Test func `what others have made of a route that is lost is none, although nothing else is known (R1.11)`() throws {
    let (world, _) = scene()
    let (near, nearID) = try linked(world)
    let (far, farID) = try linked(world)
    let (home, other) = (world.identifier(), world.identifier())
    let longer = Message.route(to: home, Route([farID, other, home], sequence: 1), isSought: false)
    try say(.route(to: home, Route([nearID, home], sequence: 1), isSought: false), by: near, in: world)
    try say(.route(to: home, nil, isSought: false), by: near, in: world)
    #expect(world.hub?.remoteHubs[home] == nil)
    try say(longer, by: far, in: world)
    #expect(world.hub?.remoteHubs[home]?.way == nil)
    // A newer one is a route, and so is the one that there was.
    try say(.route(to: home, Route([farID, other, home], sequence: 2), isSought: false), by: far, in: world)
    #expect(world.hub?.remoteHubs[home]?.way != nil)
    try say(.route(to: home, nil, isSought: false), by: far, in: world)
    try say(.route(to: home, Route([nearID, home], sequence: 2), isSought: false), by: near, in: world)
    #expect(world.hub?.remoteHubs[home]?.way != nil)
    // It is not remembered for ever.
    try say(.route(to: home, nil, isSought: false), by: near, in: world)
    world.wait(HubEngine.disbeliefTime + 1)
    let (late, lateID) = try linked(world)
    try say(.route(to: home, Route([lateID, other, home], sequence: 2), isSought: false), by: late, in: world)
    #expect(world.hub?.remoteHubs[home]?.way != nil)
  }

  @Test func `offers stay while another route is taken, and what changes meanwhile is told (R2.8)`() throws {
    // A ring: to the third there are two ways.
    let devices = LinkedWorlds(5)
    for index in 0..<5 { devices.link(index, (index + 1) % 5) }
    let editor = devices.worlds[0].open("editor")
    let other = devices.worlds[0].open("other")
    let viewer = devices.worlds[2].open("viewer")
    _ = try devices.worlds[0].offer("Draft", by: editor)
    let going = try devices.worlds[0].offer("Going", by: other)
    devices.wait(1_000)
    _ = viewer.takeEvents()
    devices.cut(0, 1)
    devices.worlds[0].tell(other) { $0.invalidate(going, $1) }
    other.invalidate(going)
    devices.wait(1_000)
    #expect(titles(viewer) == ["Draft"])
    #expect(viewer.takeEvents() == ["gone Going"])
    devices.link(0, 1)
    devices.wait(1_000)
    devices.cut(3, 4)
    _ = try devices.worlds[0].offer("New", by: other)
    devices.wait(1_000)
    #expect(viewer.takeEvents() == ["appeared New"])
  }

  @Test func `nobody speaks for the offers of a hub that is linked, or that is heard by another (R1.11)`() throws {
    let (world, viewer) = scene()
    let (origin, home) = try linked(world)
    let (liar, lying) = try linked(world)
    let id = world.identifier()
    try say(offered(id, "Draft", of: home, 1, in: world), by: origin, in: world)
    try say(
      .route(to: home, Route([lying, home], sequence: 1), isSought: false), .list(home, 1), gone(id, of: home, .max),
      offered(id, "Lie", of: home, .max, in: world), .listed(OffersVersion(hub: home, number: .max)),
      by: liar, in: world)
    #expect(titles(viewer) == ["Draft"])
    try say(offered(id, "Again", of: home, 2, in: world), by: origin, in: world)
    #expect(titles(viewer) == ["Again"])
    #expect(liar.lists.isEmpty, "it is followed to a hub that is linked")
    // An activity that another device offers is not taken over either.
    try say(offered(id, "Lie", of: lying, 1, in: world), by: liar, in: world)
    #expect(titles(viewer) == ["Again"])
    try say(gone(id, of: home, 3), by: origin, in: world)
    #expect(titles(viewer) == ["Lie"], "it has an activity of that name after all")
  }

  @Test func `a made-up number keeps the truth away for 30 s at most (R1.11)`() throws {
    let (world, viewer) = scene()
    let (liar, lying) = try linked(world)
    let home = world.identifier()
    let (id, other) = (world.identifier(), world.identifier())
    try say(.route(to: home, Route([lying, home], sequence: 1), isSought: false), by: liar, in: world)
    let list = try #require(liar.lists[home])
    try say(.list(home, list), offered(id, "Lie", of: home, .max, in: world), by: liar, in: world)
    let (relay, relaying) = try linked(world)
    try say(.route(to: home, Route([relaying, home], sequence: 1), isSought: false), by: relay, in: world)
    #expect(relay.lists.isEmpty, "one way is as good as the other")
    try say(.route(to: home, nil, isSought: false), by: liar, in: world)
    #expect(liar.lists.isEmpty && titles(viewer) == ["Lie"])
    func truth() throws {
      try say(
        .list(home, try #require(relay.lists[home])), offered(other, "Draft", of: home, 5, in: world),
        .listed(OffersVersion(hub: home, number: 5)), by: relay, in: world)
    }
    try truth()
    #expect(titles(viewer) == ["Lie"], "it might be older than what is known")
    let before = relay.lists[home]
    for _ in 0..<3 {
      world.wait(10_000)
      try say(.ping(1), by: relay, in: world)
    }
    #expect(relay.lists[home] != before)
    try truth()
    #expect(titles(viewer) == ["Draft"])
  }

  @Test func `who has lost a route asks for a newer one, and the hub that is sought tells of it (R1.11)`() throws {
    let (world, viewer) = scene()
    let (relay, relaying) = try linked(world)
    let home = world.identifier()
    try say(.route(to: home, Route([relaying, home], sequence: 3), isSought: false), by: relay, in: world)
    try say(
      .list(home, try #require(relay.lists[home])), offered(world.identifier(), "Draft", of: home, 1, in: world),
      by: relay, in: world)
    // What is longer now may lead back to this hub, or to nothing.
    try say(
      .route(to: home, Route([relaying, world.identifier(), home], sequence: 3), isSought: false), by: relay, in: world)
    #expect(relay.sought[home] == nil)
    world.wait(HubEngine.seekingTime)
    #expect(relay.sought[home] == 4 && titles(viewer) == ["Draft"])
    try say(
      .route(to: home, Route([relaying, world.identifier(), home], sequence: 4), isSought: false), by: relay, in: world)
    world.wait(HubEngine.stayingTime)
    #expect(titles(viewer) == ["Draft"], "it stays while it is told anew")
    // This hub raises its own by one, however much is asked for, and not all the time.
    let hub = try #require(world.hub)
    let before = hub.ownRoute.sequence
    for _ in 0..<9 { try say(.seek(hub.identity.id, sequence: .max), by: relay, in: world) }
    #expect(hub.ownRoute.sequence == before + 1)
    world.wait(HubEngine.seekingTime)
    try say(.seek(hub.identity.id, sequence: before + 1), by: relay, in: world)
    #expect(hub.ownRoute.sequence == before + 1, "it has that")
  }

  @Test func `what was said before a list begins is not believed, and what is not in it is gone (R1.11)`() throws {
    let (world, viewer) = scene()
    let (relay, relaying) = try linked(world)
    let home = world.identifier()
    let (one, two) = (world.identifier(), world.identifier())
    try say(
      .route(to: home, Route([relaying, home], sequence: 1), isSought: false),
      offered(one, "Early", of: home, 1, in: world), by: relay, in: world)
    #expect(titles(viewer).isEmpty)
    try say(
      .list(home, try #require(relay.lists[home]) &+ 1), offered(one, "Other", of: home, 1, in: world), by: relay,
      in: world)
    #expect(titles(viewer).isEmpty, "it answers what was not asked")
    try say(
      .list(home, try #require(relay.lists[home])), offered(one, "One", of: home, 1, in: world),
      offered(two, "Two", of: home, 1, in: world), .listed(OffersVersion(hub: home, number: 1)), by: relay, in: world)
    #expect(Set(titles(viewer)) == ["One", "Two"])
    let (better, nearer) = try linked(world)
    try say(.route(to: home, Route([nearer, home], sequence: 1), isSought: false), by: better, in: world)
    try say(
      .route(to: home, Route([relaying, world.identifier(), home], sequence: 1), isSought: false), by: relay, in: world)
    #expect(relay.lists.isEmpty && Set(titles(viewer)) == ["One", "Two"])
    try say(
      .list(home, try #require(better.lists[home])), offered(two, "Two", of: home, 2, in: world),
      .listed(OffersVersion(hub: home, number: 2)), by: better, in: world)
    #expect(titles(viewer) == ["Two"])
    try say(.refresh, by: better, in: world)
    #expect(titles(viewer) == ["Two"], "it may come another way")
    world.wait(HubEngine.stayingTime)
    #expect(titles(viewer).isEmpty, "a longer one may be what is left of that which is lost")
  }
}
