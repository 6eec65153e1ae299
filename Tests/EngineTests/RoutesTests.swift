// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// The linked hubs by which a hub hears of the offers of others, and the messages that it believes (R1.11). Networks of
/// hubs: RoutesTests of the fleet.
@Suite struct RoutesTests {
  private func titles(_ app: TestApp) -> [String] { app.engine.offers.all.map { $0.description.title ?? "" } }

  private func gone(_ id: Identifier, of hub: Identifier, _ number: UInt64) -> Message {
    .gone(id, OffersVersion(hub: hub, number: number))
  }

  /// A device with an app that sees what is offered.
  private func scene() -> (World, viewer: TestApp) {
    let world = World(hasHub: true)
    return (world, world.open("viewer"))
  }

  private func say(_ messages: Message..., by peer: RawPeer, in world: World) throws {
    for message in messages { try peer.say(message) }
  }

  @Test func `what others have made of a route that is lost is none, although nothing else is known (R1.11)`() throws {
    let (world, _) = scene()
    let (near, nearID) = try world.linkHub()
    let (far, farID) = try world.linkHub()
    let (home, other) = (world.identifier(), world.identifier())
    let longer = Message.route(to: home, Route([farID, other, home], sequence: 1), isSought: false)
    try say(.route(to: home, Route([nearID, home], sequence: 1), isSought: false), by: near, in: world)
    try say(.route(to: home, nil, isSought: false), by: near, in: world)
    #expect(world.hub?.parts.remoteHubs[home] == nil)
    try say(longer, by: far, in: world)
    #expect(world.hub?.parts.remoteHubs[home]?.route == nil)
    // A newer one is a route, and so is the one that there was.
    try say(.route(to: home, Route([farID, other, home], sequence: 2), isSought: false), by: far, in: world)
    #expect(world.hub?.parts.remoteHubs[home]?.route != nil)
    try say(.route(to: home, nil, isSought: false), by: far, in: world)
    try say(.route(to: home, Route([nearID, home], sequence: 2), isSought: false), by: near, in: world)
    #expect(world.hub?.parts.remoteHubs[home]?.route != nil)
    // It is not remembered for ever.
    try say(.route(to: home, nil, isSought: false), by: near, in: world)
    world.wait(HubOffers.staleVersionTimeout + 1)
    let (late, lateID) = try world.linkHub()
    try say(.route(to: home, Route([lateID, other, home], sequence: 2), isSought: false), by: late, in: world)
    #expect(world.hub?.parts.remoteHubs[home]?.route != nil)
  }

  @Test func `nobody speaks for the offers of a hub that is linked, or that is heard by another (R1.11)`() throws {
    let (world, viewer) = scene()
    let (origin, home) = try world.linkHub()
    let (liar, lying) = try world.linkHub()
    let id = world.identifier()
    try say(.offered(id, "Draft", of: home, 1), by: origin, in: world)
    try say(
      .route(to: home, Route([lying, home], sequence: 1), isSought: false), .list(home, 1), gone(id, of: home, .max),
      .offered(id, "Lie", of: home, .max), .listed(OffersVersion(hub: home, number: .max)),
      by: liar, in: world)
    #expect(titles(viewer) == ["Draft"])
    try say(.offered(id, "Again", of: home, 2), by: origin, in: world)
    #expect(titles(viewer) == ["Again"])
    #expect(liar.lists.isEmpty, "it is followed to a hub that is linked")
    // An activity that another device offers is not taken over either.
    try say(.offered(id, "Lie", of: lying, 1), by: liar, in: world)
    #expect(titles(viewer) == ["Again"])
    try say(gone(id, of: home, 3), by: origin, in: world)
    #expect(titles(viewer) == ["Lie"], "it has an activity of that name after all")
  }

  @Test func `a made-up number keeps the truth away for 30 s at most (R1.11)`() throws {
    let (world, viewer) = scene()
    let (liar, lying) = try world.linkHub()
    let home = world.identifier()
    let (id, other) = (world.identifier(), world.identifier())
    try say(.route(to: home, Route([lying, home], sequence: 1), isSought: false), by: liar, in: world)
    let list = try #require(liar.lists[home])
    try say(.list(home, list), .offered(id, "Lie", of: home, .max), by: liar, in: world)
    let (relay, relaying) = try world.linkHub()
    try say(.route(to: home, Route([relaying, home], sequence: 1), isSought: false), by: relay, in: world)
    #expect(relay.lists.isEmpty, "one way is as good as the other")
    try say(.route(to: home, nil, isSought: false), by: liar, in: world)
    #expect(liar.lists.isEmpty && titles(viewer) == ["Lie"])
    func truth() throws {
      try say(
        .list(home, try #require(relay.lists[home])), .offered(other, "Draft", of: home, 5),
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
    let (relay, relaying) = try world.linkHub()
    let home = world.identifier()
    try say(.route(to: home, Route([relaying, home], sequence: 3), isSought: false), by: relay, in: world)
    try say(
      .list(home, try #require(relay.lists[home])), .offered(world.identifier(), "Draft", of: home, 1),
      by: relay, in: world)
    // A route that is longer now may lead back to this hub, or to nothing.
    try say(
      .route(to: home, Route([relaying, world.identifier(), home], sequence: 3), isSought: false), by: relay, in: world)
    #expect(relay.sought[home] == nil)
    world.wait(HubOffers.seekingTime)
    #expect(relay.sought[home] == 4 && titles(viewer) == ["Draft"])
    try say(
      .route(to: home, Route([relaying, world.identifier(), home], sequence: 4), isSought: false), by: relay, in: world)
    world.wait(HubOffers.offerGraceTime)
    #expect(titles(viewer) == ["Draft"], "it stays while it is told anew")
    // This hub raises its own by one, however much is asked for, and not all the time.
    let hub = try #require(world.hub)
    let before = hub.parts.remoteHubs.ownRoute.sequence
    for _ in 0..<9 { try say(.seek(hub.parts.connections.identity.id, sequence: .max), by: relay, in: world) }
    #expect(hub.parts.remoteHubs.ownRoute.sequence == before + 1)
    world.wait(HubOffers.seekingTime)
    try say(.seek(hub.parts.connections.identity.id, sequence: before + 1), by: relay, in: world)
    #expect(hub.parts.remoteHubs.ownRoute.sequence == before + 1, "it has that")
  }

  @Test func `a route that comes late is asked for anew at once (R1.11)`() throws {
    let (world, _) = scene()
    let (near, nearID) = try world.linkHub()
    let (far, farID) = try world.linkHub()
    let home = world.identifier()
    let longer = Message.route(to: home, Route([farID, world.identifier(), home], sequence: 1), isSought: false)
    try say(.route(to: home, Route([nearID, home], sequence: 1), isSought: false), by: near, in: world)
    try say(longer, by: far, in: world)
    try say(.route(to: home, nil, isSought: false), by: near, in: world)
    // The pauses between two questions grow while nobody answers.
    for _ in 0..<20 { world.wait(1_000) }
    far.forgetSought(home)
    world.wait(1_000)
    #expect(far.sought[home] == nil)
    // The neighbour has found a route, which this hub cannot tell from the lost one.
    try say(longer, by: far, in: world)
    world.wait(HubOffers.seekingTime)
    #expect(far.sought[home] == 2)
  }

  @Test func `an answer of before the route was lost is not that of after (R1.11)`() throws {
    let (world, viewer) = scene()
    let (relay, relaying) = try world.linkHub()
    let home = world.identifier()
    let (old, new) = (world.identifier(), world.identifier())
    let route = Message.route(to: home, Route([relaying, home], sequence: 1), isSought: false)
    try say(route, by: relay, in: world)
    let first = try #require(relay.lists[home])
    // The linked hub begins anew; its answer to the first question is under way.
    try say(.route(to: home, nil, isSought: false), route, by: relay, in: world)
    let second = try #require(relay.lists[home])
    #expect(first != second)
    try say(
      .list(home, first), .offered(old, "Old", of: home, 1), .listed(OffersVersion(hub: home, number: 1)),
      .list(home, second), .offered(new, "New", of: home, 3), .listed(OffersVersion(hub: home, number: 3)),
      by: relay, in: world)
    #expect(titles(viewer) == ["New"])
  }

  @Test func `what was said before a list begins is not believed, and what is not in it is gone (R1.11)`() throws {
    let (world, viewer) = scene()
    let (relay, relaying) = try world.linkHub()
    let home = world.identifier()
    let (one, two) = (world.identifier(), world.identifier())
    try say(
      .route(to: home, Route([relaying, home], sequence: 1), isSought: false),
      .offered(one, "Early", of: home, 1), by: relay, in: world)
    #expect(titles(viewer).isEmpty)
    try say(
      .list(home, try #require(relay.lists[home]) &+ 1), .offered(one, "Other", of: home, 1), by: relay,
      in: world)
    #expect(titles(viewer).isEmpty, "it answers what was not asked")
    try say(
      .list(home, try #require(relay.lists[home])), .offered(one, "One", of: home, 1),
      .offered(two, "Two", of: home, 1), .listed(OffersVersion(hub: home, number: 1)), by: relay, in: world)
    #expect(Set(titles(viewer)) == ["One", "Two"])
    let (better, nearer) = try world.linkHub()
    try say(.route(to: home, Route([nearer, home], sequence: 1), isSought: false), by: better, in: world)
    try say(
      .route(to: home, Route([relaying, world.identifier(), home], sequence: 1), isSought: false), by: relay, in: world)
    #expect(relay.lists.isEmpty && Set(titles(viewer)) == ["One", "Two"])
    try say(
      .list(home, try #require(better.lists[home])), .offered(two, "Two", of: home, 2),
      .listed(OffersVersion(hub: home, number: 2)), by: better, in: world)
    #expect(titles(viewer) == ["Two"])
    try say(.refresh, by: better, in: world)
    #expect(titles(viewer) == ["Two"], "it may come another way")
    world.wait(HubOffers.offerGraceTime)
    #expect(titles(viewer).isEmpty, "a longer one may be what is left of that which is lost")
  }
}
