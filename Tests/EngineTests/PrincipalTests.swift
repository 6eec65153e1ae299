// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// One process is as many apps as it likes, and takes with each of them all that an app may have: the others do not
/// notice (section 9).
@Suite struct PrincipalTests {
  private typealias Fixture = HostilePeerTests.Fixture

  private static let greedy = Principal.process(World.crowdNumber)
  /// An hour, as long as a continuation may take.
  private static let long: Int64 = 3_600_000

  private func apps(_ count: Int, in world: World) throws -> [RawPeer] {
    try (0..<count).map { number in
      let app = try RawPeer(app: "greedy \(number)", of: world.crowd, in: world)
      app.grantsAll = true
      return app
    }
  }

  /// Links that apps of the greedy process maintain; at the other ends are apps that are made up.
  private func links(_ count: Int, in world: World) throws -> [RawPeer] {
    let apps = try apps(min(count, 4), in: world)
    return try (0..<count).map { index in
      let app = try #require(apps[index % apps.count].number)
      return try RawPeer(hubIn: world, for: LinkRequest(app: app, number: UInt64(index)))
    }
  }

  private func madeUp(_ world: World) -> Receiver {
    Receiver(id: world.identifier(), deviceName: "away", appName: "greedy", bundleIdentifier: "com.example.greedy")
  }

  private func refusals(_ peers: [RawPeer]) -> Int {
    peers.reduce(0) { $0 + $1.heard.count { if case .refused = $0 { true } else { false } } }
  }

  private func continues(_ scene: Fixture) throws {
    _ = try scene.world.continue(in: scene.viewer)
    #expect(scene.viewer.takeEvents() == ["will_continue", "continue"])
    #expect(scene.editor.takeEvents().suffix(2) == ["was_continued", "ended restored"])
  }

  /// Continues the editor's activity, so that the receiver may ask for more.
  private func continued(_ scene: Continued, by peer: RawPeer, as receiver: Receiver? = nil) throws
    -> Message.Continuation
  {
    let continuation = Message.Continuation(
      id: scene.world.identifier(), origin: scene.from.offer.origin, activity: scene.activity)
    try peer.say(.fetch(continuation, milliseconds: Self.long, receiver: receiver))
    try peer.say(.outcome(continuation, .restored, nil, receiver: receiver))
    return continuation
  }

  /// Asks the editor something, of which no byte comes.
  private func ask(
    _ count: Int, size: UInt64 = 1, from first: FramedConnection.Channel = 1, _ continuation: Message.Continuation,
    by peer: RawPeer,
    as receiver: Receiver? = nil, in world: World
  ) throws {
    for number in 0..<UInt32(count) {
      try peer.say(
        .request(
          UInt64(number), continuation, from: receiver?.id ?? world.identifier(), milliseconds: Self.long,
          channel: first + 2 * number, size: size))
    }
  }

  private func asks(_ scene: Continued) {
    let before = scene.viewer.answers.count
    scene.world.tell(scene.viewer) { _ = $0.request([1, 2], scene.from, timeout: Self.long, $1) }
    #expect(scene.viewer.answers.dropFirst(before).map { $0.bytes } == [[2, 1]])
  }

  // MARK: Continuations

  @Test func `a process with many apps has as many continuations under way as one app (section 9)`() throws {
    let scene = try Fixture()
    let greedy = try apps(128, in: scene.world)
    for app in greedy {
      for _ in 0..<OutgoingContinuations.receiverLimit {
        _ = try scene.say(.fetch(scene.attempt, milliseconds: Self.long, receiver: nil), by: app)
      }
    }
    let limit = HubContinuations.limit
    #expect(refusals(greedy) == 128 * OutgoingContinuations.receiverLimit - limit)
    #expect(scene.world.hub?.parts.continuations.attempts(of: Self.greedy) == limit)
    try continues(scene)
    for app in greedy { app.disconnect() }
    #expect(scene.world.hub?.parts.continuations.attempts(of: Self.greedy) == 0)
  }

  @Test func `the links of a process have a share of an origin's continuations (section 9)`() throws {
    let scene = try Fixture()
    let links = try links(5, in: scene.world)
    for link in links {
      for _ in 0..<300 {
        try link.say(.fetch(scene.attempt, milliseconds: Self.long, receiver: madeUp(scene.world)))
      }
    }
    let origin = try #require(scene.world.peer(of: scene.editor))
    #expect(origin.routes.attempts(of: Self.greedy.ofLinks) <= HubContinuations.limitOfOrigin)
    _ = scene.editor.takeEvents()
    try continues(scene)
  }

  @Test func `what a young hub holds for a process leaves room for others (R3.14)`() throws {
    let scene = try Fixture()
    scene.world.killHub()
    scene.editor.process.stall()
    scene.world.startHub()
    for app in try apps(4, in: scene.world) {
      for _ in 0..<HubContinuations.limit {
        try app.say(.fetch(scene.attempt, milliseconds: Self.long, receiver: nil))
      }
    }
    #expect(scene.world.hub?.parts.continuations.heldCount == HubContinuations.limit)
  }

  @Test func `documents that a process takes slowly leave room for others (section 9)`() throws {
    let scene = try Fixture(size: 2 * FramedConnection.window)
    let share = OutgoingContinuations.sendingLimit / Principal.share
    // The hub admits fewer of one process: so these are many receivers behind one link.
    let link = try #require(try links(1, in: scene.world).first)
    for _ in 0..<OutgoingContinuations.sendingLimit {
      try link.say(.fetch(scene.attempt, milliseconds: Self.long, receiver: madeUp(scene.world)))
    }
    #expect(refusals([link]) == OutgoingContinuations.sendingLimit - share)
    _ = scene.editor.takeEvents()
    try continues(scene)
  }

  @Test func `what the apps of a process began at former hubs is charged to it, too (R3.14)`() throws {
    let scene = try Fixture()
    let share = OutgoingContinuations.limit / Principal.share
    var refusals = 0
    for _ in 0...share / HubContinuations.limit {
      for app in try apps(HubContinuations.limit / OutgoingContinuations.receiverLimit, in: scene.world) {
        for _ in 0..<OutgoingContinuations.receiverLimit {
          _ = try scene.say(.fetch(scene.attempt, milliseconds: Self.long, receiver: nil), by: app)
        }
        refusals += self.refusals([app])
      }
      // The origin waits for their outcomes: the next hub knows nothing of them.
      scene.world.killHub()
      scene.world.startHub()
    }
    #expect(refusals == HubContinuations.limit)
    (_, _) = (scene.viewer.takeEvents(), scene.editor.takeEvents())
    try continues(scene)
  }

  @Test func `principals have names of their own, the same at each hub`() {
    #expect(Principal.process(1) == Self.greedy && Self.greedy.ofLinks == Principal.process(1).ofLinks)
    #expect(
      Set([Self.greedy.id, Self.greedy.ofLinks.id, Principal.process(2).id, Principal.connection(1).id]).count == 4)
  }

  // MARK: Requests

  @Test func `idle requests of a process with many apps leave room for others (R7.5)`() throws {
    let scene = try Continued()
    for app in try apps(4, in: scene.world) {
      try ask(AppRequests.limit, try continued(scene, by: app), by: app, in: scene.world)
    }
    let origin = try #require(scene.world.peer(of: scene.editor))
    #expect(origin.openCount(for: Self.greedy) == HubTransfers.channelLimit)
    asks(scene)
  }

  @Test func `idle requests through the links of a process leave room for others (R7.5)`() throws {
    let scene = try Continued()
    for link in try links(4, in: scene.world) {
      let receiver = madeUp(scene.world)
      let continuation = try continued(scene, by: link, as: receiver)
      // A hub whose identifier is the higher one opens the even channels.
      try ask(AppRequests.limit, from: 2, continuation, by: link, as: receiver, in: scene.world)
    }
    asks(scene)
  }

  @Test func `the bytes that a process announces with many apps leave room for others (R7.5)`() throws {
    let scene = try Continued()
    let largest = UInt64(Limits().request)
    for app in try apps(8, in: scene.world) {
      try ask(16, size: largest, try continued(scene, by: app), by: app, in: scene.world)
    }
    asks(scene)
  }

  @Test func `of those that stand still in the share of a process the oldest gives way to a new one (R7.5)`() throws {
    let scene = try Continued()
    let all = try apps(2, in: scene.world)
    try ask(16, size: UInt64(Limits().request), try continued(scene, by: all[0]), by: all[0], in: scene.world)
    let continuation = try continued(scene, by: all[1])
    func askMore() throws {
      try all[1].open {
        .request(1, continuation, from: continuation.id, milliseconds: Self.long, channel: $0, size: 1)
      }
    }
    try askMore()
    #expect(responses(all[1]).map { $0?.status } == [.limitExceeded])
    scene.world.wait(OutgoingContinuations.stallTime)
    try askMore()
    // The reset of the channel comes first, of which the raw peer knows nothing.
    #expect(responses(all[1]).count == 1 && scene.editor.engine.heldBytes == 0)
    #expect(scene.world.hub?.parts.transfers.tally[Self.greedy] == 16)
  }

  private func responses(_ peer: RawPeer) -> [SegueError?] {
    peer.heard.compactMap { if case .response(_, _, _, _, _, let error) = $0 { .some(error) } else { nil } }
  }

  @Test func `idle requests of a process over a link leave channels of the link for others (R7.5)`() throws {
    let world = World(hasHub: true)
    let (id, origin, activity) = (world.identifier(), world.identifier(), world.identifier())
    let link = try RawPeer(hubIn: world, as: id)
    try link.resume()
    let offer = Offer(
      description: OfferDescription(
        id: activity, type: "com.example.note", title: "Draft", payloadVersion: 0, sizeHint: 0, expirationDate: nil,
        supportsContinuationStreams: false),
      origin: origin, appName: "editor", bundleIdentifier: "com.example.editor", deviceName: "away", rank: 1,
      activatedAt: 0)
    try link.say(
      .route(to: id, Route([id], sequence: 1), isSought: false),
      .offer(
        offer, OfferTiming(age: 0, remaining: nil),
        OfferOrigin(team: "TEAM", activation: 1, version: OffersVersion(hub: id, number: 1))))
    func request(_ number: UInt32, by app: RawPeer) throws {
      let continuation = Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
      try app.say(
        .request(
          UInt64(number), continuation, from: origin, milliseconds: Self.long, channel: 2 * number + 1, size: 1))
    }
    for app in try apps(4, in: world) { for number in 0..<UInt32(AppRequests.limit) { try request(number, by: app) } }
    func heard() -> Int { link.heard.count { if case .request = $0 { true } else { false } } }
    #expect(heard() == HubTransfers.channelLimit)
    try request(0, by: try RawPeer(app: "honest", in: world))
    #expect(heard() == HubTransfers.channelLimit + 1)
  }

  // MARK: Quotas at a hub

  @Test func `a process has so many transfers at a hub, to all others together (section 9)`() throws {
    let scene = try Continued()
    let hub = try #require(scene.world.hub)
    let (from, count) = (Peer(number: 900, of: Self.greedy, helloBy: 0), HubTransfers.channelLimit)
    let others = (0...HubTransfers.transferLimit / count).map { Peer(number: 901 + UInt64($0), helloBy: 0) }
    // Relays do not retain their peers.
    defer { withExtendedLifetime((scene, from, others)) {} }
    var channel: FramedConnection.Channel = 1
    func relay(to other: Peer) -> Bool {
      channel += 2
      return hub.parts.transfers.relay(from: from, channel, to: other, of: Self.greedy) != nil
    }
    for other in others.dropLast() { for _ in 0..<count { #expect(relay(to: other)) } }
    #expect(
      hub.parts.transfers.tally[Self.greedy] == HubTransfers.transferLimit && !relay(to: others[others.count - 1]))
    hub.parts.transfers.receivedReset(of: channel - 2, from: from)
    #expect(relay(to: others[others.count - 1]))
    hub.parts.continuations.remove(from)
    #expect(hub.parts.transfers.tally.total == 0)
  }

  @Test func `streams that an origin does not answer hold the descriptors of a process once (R7.1)`() throws {
    let scene = try Continued()
    scene.editor.process.stall()
    let origin = try #require(scene.world.peer(of: scene.editor)?.appSession)
    for app in try apps(5, in: scene.world) {
      for _ in 0..<UnansweredStreams.limitOfRequester {
        let continuation = Message.Continuation(
          id: scene.world.identifier(), origin: scene.from.offer.origin, activity: scene.activity)
        let from = scene.world.identifier()
        try app.say(
          .stream(scene.world.identifier(), continuation, from: from, channel: 0, attachment: nil),
          with: app.makeStream())
      }
    }
    #expect(origin.unanswered.count == UnansweredStreams.limitOfRequester)
  }

  @Test func `the apps of a process share its links, and what they hold while they are cut (R7.4)`() throws {
    let world = World(hasHub: true)
    let links = try links(HubConnections.linkLimit + 1, in: world)
    #expect(links.last?.isConnected == false && links.dropLast().allSatisfy { $0.isConnected })
    for link in links { link.disconnect() }
    for _ in 0..<4 { for link in try self.links(HubConnections.linkLimit, in: world) { link.disconnect() } }
    let kept = world.hub?.parts.peers.hubs.count { $0.principal == Self.greedy.ofLinks }
    #expect(kept == HubConnections.cutLinksOfAccount / HubConnections.cutLinkLeast)
  }

  // MARK: Quotas at an origin

  @Test func `a process that continues as many apps takes nobody else's right to ask for more (R7.1)`() {
    func grant(_ number: Int, by app: Int, of principal: Principal) -> ActivityGrant {
      ActivityGrant(
        continuation: Identifier(high: UInt64(app), low: UInt64(number)), activity: Identifier(high: 0, low: 0),
        app: Identifier(high: 0, low: UInt64(app)), principal: principal.id, revision: 0)
    }
    let grants = ActivityGrants()
    for number in 0..<3 { grants.insert(grant(number, by: 1, of: .process(2))) }
    for app in 2..<2 * ActivityGrants.capacity { grants.insert(grant(0, by: app, of: Self.greedy)) }
    for number in 0..<3 { #expect(grants.app(Identifier(high: 1, low: UInt64(number))) != nil) }
  }

  @Test func `streams and attachments of a process are charged to it, whichever app asks (R7.1, R7.6)`() throws {
    let scene = try Continued { world, editor, id in
      world.tell(editor) { _, now in editor.change(id) { $0.setSupportsContinuationStreams(true) } }
    }
    for app in try apps(2, in: scene.world) {
      let continuation = try continued(scene, by: app)
      let from = scene.world.identifier()
      try app.say(
        .stream(
          scene.world.identifier(), continuation, from: from, channel: 0,
          attachment: Message.AttachmentPart(name: "a", offset: 0)), with: app.makeStream())
    }
    #expect(scene.editor.principalsAsking == [Self.greedy.id, Self.greedy.id])
  }

  @Test func `what a hub answers, or compares with what it knows, is work of who says it (section 9)`() throws {
    let world = World(hasHub: true)
    let (app, hub) = (try RawPeer(app: "app", in: world), try #require(world.hub))
    func work(for message: Message) throws -> UInt64 {
      let before = hub.work
      try app.say(message)
      return hub.work - before
    }
    let ping = try work(for: .ping(1))
    #expect(try ping == work(for: .pong(1)) + 1)
    #expect(try work(for: .failure(type: "a.b", SegueError(.handoffFailed, "no"), age: 0)) > 10 * ping)
  }
}
