// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// The quotas of linked hubs. Departed ones leave nothing behind; what passed through them continues through others.
@Suite struct LinkedHubTests {
  private static let text = String(repeating: "a", count: Limits.identifier)
  private static let title = String(repeating: "t", count: Limits.title)

  /// The first channel that a linked hub opens if it has the higher identifier.
  private static let firstChannel: FramedConnection.Channel = 2

  /// A large offer.
  private func offered(
    _ id: Identifier, _ title: String = title, by origin: Identifier = Identifier(high: 7, low: 7), of hub: Identifier,
    _ number: UInt64 = 1, type: String = "com.example.note"
  ) -> Message {
    .offered(id, title, by: origin, of: hub, number, type: type, names: Self.text)
  }

  private func world() throws -> (World, HubEngine) {
    let world = World(hasHub: true)
    return (world, try #require(world.hub))
  }

  private func receiver(_ number: UInt64) -> Receiver {
    Receiver(
      id: Identifier(high: 2, low: number), deviceName: "away", appName: "requester", bundleIdentifier: "com.example.a")
  }

  // MARK: Bounds

  @Test func `a link may have 8 MiB kept, all links 32 MiB, and when they go nothing stays (A4)`() throws {
    let (world, hub) = try world()
    var links: [(peer: RawPeer, id: Identifier, first: Identifier)] = []
    for _ in 0..<5 {
      let (peer, id) = try world.linkHub()
      let before = hub.parts.remoteHubs.bytes.count
      links.append((peer, id, world.identifier()))
      try peer.say(offered(links.last!.first, of: id))
      for _ in 0..<64 {
        try peer.say((0..<50).map { _ in offered(world.identifier(), of: id, type: "com.example.other") })
      }
      let kept = hub.parts.remoteHubs.bytes.count - before
      let limit = min(HubOffers.linkedBytesLimit, HubOffers.allLinkedBytesLimit - before)
      #expect(kept <= limit && kept > limit - 4_096, "it takes all that it may, and no more")
      #expect(peer.isConnected, "what is more is not taken, and that is all")
    }
    // An offer that is there may change, in the room that it has.
    let (first, last) = (links[0], links[4])
    let viewer = world.open("viewer", types: ["com.example.note"])
    try first.peer.say(offered(first.first, "Draft", of: first.id, 2))
    #expect(viewer.takeEvents().contains("appeared Draft") || viewer.engine.offers[first.first] != nil)
    // An offer that goes leaves room for others.
    let more = world.identifier()
    try last.peer.say(offered(more, of: last.id, 2))
    #expect(viewer.engine.offers[more] == nil)
    try first.peer.say(.gone(first.first, OffersVersion(hub: first.id, number: 3)))
    try last.peer.say(offered(more, of: last.id, 3))
    #expect(viewer.engine.offers[more] != nil)
    for link in links { link.peer.disconnect() }
    #expect(hub.parts.remoteHubs.bytes.count == 0 && viewer.engine.offers.all.isEmpty)
    #expect(hub.leak == nil)
  }

  @Test func `a list that is asked for again before it was read is told once more, not each time (A4)`() throws {
    let (world, _) = try world()
    let (relay, relaying) = try world.linkHub()
    let home = world.identifier()
    try relay.say(.route(to: home, Route([relaying, home], sequence: 1), isSought: false))
    try relay.say(.list(home, try #require(relay.lists[home])))
    let count = 100
    for _ in 0..<count { try relay.say(offered(world.identifier(), of: home)) }
    let (requester, _) = try world.linkHub()
    try requester.say((1...1_000).map { .follow(home, list: $0) })
    let heard = requester.heard.drop { if case .list(home, 1_000) = $0 { false } else { true } }
    #expect(requester.heard.count { if case .list = $0 { true } else { false } } == 2)
    #expect(heard.count { if case .offer = $0 { true } else { false } } == count)
    #expect(heard.count { if case .listed = $0 { true } else { false } } == 1)
  }

  @Test func `frames that are no messages fill no memory, either: who does not read is given up`() throws {
    let (world, hub) = try world()
    let (away, _) = try world.linkHub()
    try fill(away, in: world)
    #expect(away.isConnected)
    // Each is answered by a frame that gives the channel up.
    for number in 0..<1_000 as Range<UInt32> {
      try away.say(
        .state(
          world.identifier(), to: receiver(1).id, channel: 2 * number + Self.firstChannel, size: 1, isStale: false,
          why: "")
      )
    }
    #expect(hub.brokenInvariant == nil)
    #expect(!away.isConnected)
  }

  /// Has it hear so much that only little more may wait for it: it never says that something came.
  private func fill(_ peer: RawPeer, in world: World) throws {
    let editor = try RawPeer(app: "loud", in: world)
    let id = world.identifier()
    var activation: UInt64 = 0
    while peer.heldBytes < HubConnections.backlogLimit - 2_500 {
      activation += 1
      try editor.say(
        .publish(
          OfferDescription(id, Self.title, supportsStreams: true), OfferTiming(age: 0, remaining: nil),
          activation: activation))
    }
  }

  // MARK: Those that have gone

  @Test func `a hub that is given up while what was held for it goes through takes nothing with it (R3.14)`() throws {
    let (world, hub) = try world()
    let (full, id) = try world.linkHub()
    let (other, _) = try world.linkHub()
    let (origin, activity) = (world.identifier(), world.identifier())
    func attempt() -> Message.Continuation {
      Message.Continuation(id: world.identifier(), origin: Identifier(ofSecret: origin), activity: activity)
    }
    for number in 0..<400 as Range<UInt64> {
      try full.say(.fetch(attempt(), milliseconds: 10_000, receiver: receiver(number)))
    }
    try other.say(.fetch(attempt(), milliseconds: 10_000, receiver: receiver(1_000)))
    try fill(full, in: world)
    full.disconnect()
    let editor = try RawPeer(app: "editor", as: origin, in: world)
    try editor.say(
      .publish(
        OfferDescription(activity, "Draft", supportsStreams: true), OfferTiming(age: 0, remaining: nil), activation: 1))
    let fetched = editor.heard.compactMap {
      if case .fetch(_, _, let receiver?, _, _, _) = $0 { receiver.id } else { nil }
    }
    #expect(fetched.count == HubContinuations.limitOfOrigin + 1 && fetched.last == receiver(1_000).id)
    let again = try RawPeer(hubIn: world, as: id)
    #expect(again.sessions.isEmpty, "it is given up")
    again.disconnect()
    #expect(hub.brokenInvariant == nil)
  }

  @Test func `an outcome that a young hub holds goes through if its link is cut, not if its app is gone (R3.14)`()
    throws
  {
    let (world, _) = try world()
    let (away, _) = try world.linkHub()
    let app = try RawPeer(app: "viewer", in: world)
    let (origin, activity) = (world.identifier(), world.identifier())
    for (number, peer) in [away, app].enumerated() {
      let attempt = Message.Continuation(
        id: Identifier(high: 9, low: UInt64(number)), origin: Identifier(ofSecret: origin), activity: activity)
      try peer.say(.outcome(attempt, .declined, nil, receiver: receiver(1)))
      peer.disconnect()
    }
    let editor = try RawPeer(app: "editor", as: origin, in: world)
    let outcomes = editor.heard.compactMap {
      if case .outcome(let attempt, _, _, _) = $0 { attempt.id } else { nil }
    }
    #expect(outcomes == [Identifier(high: 9, low: 0)])
  }

  @Test func `a stream that was asked of an app that goes is refused, and leaves nothing (R7.1)`() throws {
    let (world, hub) = try world()
    // Its identifier is the lower one: it decides.
    let away = try RawPeer(hubIn: world, as: Identifier(high: 1, low: 1))
    try away.resume()
    try away.say(.proceed(session: nil, received: 0))
    let origin = world.identifier()
    let editor = try RawPeer(app: "editor", as: origin, in: world)
    let attempt = Message.Continuation(
      id: world.identifier(), origin: Identifier(ofSecret: origin), activity: world.identifier())
    let id = world.identifier()
    try away.write([], total: 0) { .stream(id, attempt, from: receiver(1).id, channel: $0, attachment: nil) }
    #expect(editor.heard.contains { if case .stream(id, _, _, _, _) = $0 { true } else { false } })
    editor.disconnect()
    #expect(away.heard.contains { if case .peerLost(attempt.id) = $0 { true } else { false } })
    #expect(hub.parts.transfers.tally.total == 0 && hub.leak == nil)
  }

  @Test func `a stream whose requester goes before it is answered leaves nothing (R7.1)`() throws {
    let (world, hub) = try world()
    let (away, home) = try world.linkHub()
    let (origin, activity) = (world.identifier(), world.identifier())
    try away.say(offered(activity, by: origin, of: home))
    let app = try RawPeer(app: "viewer", in: world)
    let attempt = Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
    let id = world.identifier()
    let (near, far) = app.process.makeSockets()
    try app.say(.stream(id, attempt, from: origin, channel: 0, attachment: nil), with: FleetDescriptor(far))
    #expect(away.heard.contains { if case .stream(id, _, _, _, _) = $0 { true } else { false } })
    app.disconnect()
    near.close()
    try away.say(.streamAnswer(id, attempt, channel: Self.firstChannel, nil))
    #expect(hub.parts.transfers.tally.total == 0 && hub.leak == nil)
  }

  @Test func `who has heard of a hub that is gone hears of it again when it asks again (R1.11)`() throws {
    let (world, hub) = try world()
    let (relay, relaying) = try world.linkHub()
    let (requester, _) = try world.linkHub()
    let home = world.identifier()
    func announce() throws {
      try relay.say(.route(to: home, Route([relaying, home], sequence: 1), isSought: false))
      try relay.say(
        .list(home, try #require(relay.lists[home])), offered(world.identifier(), of: home),
        .listed(OffersVersion(hub: home, number: 1)))
    }
    func offersHeard() -> Int { requester.heard.count { if case .offer = $0 { true } else { false } } }
    try announce()
    try requester.say(.follow(home, list: 1))
    #expect(offersHeard() == 1)
    try relay.say(.route(to: home, nil, isSought: false))
    #expect(hub.leak == nil)
    try announce()
    #expect(offersHeard() == 1, "it has to ask for what is told by another route")
    try requester.say(.follow(home, list: 2))
    #expect(offersHeard() == 2)
  }

  // MARK: Those that were restarted

  @Test func `an outcome that comes by the next hub of a device is told once, and noted (R3.6)`() throws {
    let scene = try HostilePeerTests.Fixture()
    let (before, _) = try scene.world.linkHub()
    let attempt = scene.attempt
    _ = try scene.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver(1)), by: before)
    before.disconnect()
    let (after, _) = try scene.world.linkHub()
    func restored() throws -> [String] {
      try scene.say(.outcome(attempt, .restored, nil, receiver: receiver(1)), by: after)
    }
    #expect(try restored() == ["was_continued", "ended restored"])
    #expect(after.heard.contains { if case .outcomeAck(attempt.id, _) = $0 { true } else { false } })
    #expect(try restored().isEmpty)
    scene.world.wait(HubLinks.resumeTime + 1_000)
    #expect(scene.editor.takeEvents().isEmpty)
    #expect(scene.world.hub?.leak == nil)
  }

  @Test func `another receiver does not take a continuation over, whose link is cut (R3.6)`() throws {
    let scene = try HostilePeerTests.Fixture()
    let (before, _) = try scene.world.linkHub()
    let attempt = scene.attempt
    _ = try scene.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver(1)), by: before)
    before.disconnect()
    let (after, _) = try scene.world.linkHub()
    #expect(try scene.say(.outcome(attempt, .restored, nil, receiver: receiver(2)), by: after).isEmpty)
  }

  @Test func `an outcome finds the next hub of the origin's device (R3.6)`() throws {
    let (world, _) = try world()
    let (before, home) = try world.linkHub()
    let (origin, activity) = (world.identifier(), world.identifier())
    try before.say(offered(activity, by: origin, of: home))
    let app = try RawPeer(app: "viewer", in: world)
    let attempt = Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
    try app.say(.fetch(attempt, milliseconds: 10_000, receiver: nil))
    #expect(before.heard.contains { if case .fetch = $0 { true } else { false } })
    before.disconnect()
    let (after, next) = try world.linkHub()
    try after.say(offered(activity, by: origin, of: next))
    try app.say(.outcome(attempt, .restored, nil, receiver: nil))
    #expect(after.heard.contains { if case .outcome = $0 { true } else { false } })
    try after.say(.outcomeAck(attempt.id, to: receiver(1).id))
    #expect(app.heard.contains { if case .outcomeAck(attempt.id, _) = $0 { true } else { false } })
  }
}
