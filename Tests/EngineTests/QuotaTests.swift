// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// One app takes all that it can get, and never gives it back: the others do not notice (section 9).
@Suite struct QuotaTests {
  private typealias Fixture = HostilePeerTests.Fixture

  /// An hour, as long as a continuation may take.
  private static let long: Int64 = 3_600_000

  private func takeAll(_ scene: Fixture, peers: Int, each: Int) throws -> [RawPeer] {
    let greedy = try (0..<peers).map { try RawPeer(app: "greedy\($0)", in: scene.world) }
    for peer in greedy {
      for _ in 0..<each {
        _ = try scene.say(.fetch(scene.attempt, milliseconds: Self.long, receiver: nil), by: peer)
      }
    }
    return greedy
  }

  @Test(arguments: [0, 2 * FramedConnection.window])
  func `continuations that are fetched and never answered leave room for others (section 9)`(size: Int) throws {
    let scene = try Fixture(size: size)
    let greedy = try takeAll(scene, peers: 20, each: 2 * OutgoingContinuations.receiverLimit)
    #expect(greedy.allSatisfy { $0.heard.contains { if case .refused = $0 { true } else { false } } })
    scene.world.wait(OutgoingContinuations.stallTime)
    _ = try scene.world.continue(in: scene.viewer)
    #expect(scene.viewer.takeEvents() == ["will_continue", "continue"])
    #expect(scene.editor.takeEvents().suffix(2) == ["was_continued", "ended restored"])
  }

  @Test func `what is taken slowly is not ended for what comes (section 9)`() throws {
    let scene = try Fixture(size: 2 * FramedConnection.window)
    let each = OutgoingContinuations.receiverLimit
    _ = try takeAll(scene, peers: OutgoingContinuations.sendingLimit / each, each: each)
    // All of them have just been sent something.
    _ = try scene.world.continue(in: scene.viewer)
    #expect(scene.viewer.takeEvents() == ["will_continue", "did_fail limitExceeded"])
    #expect(scene.editor.receipts.count == 1)
  }

  @Test func `documents that went out are kept up to a limit (section 9)`() throws {
    let scene = try Fixture()
    let text = [UInt8](repeating: 7, count: 3 * 1024 * 1024)
    let greedy = try (0..<16).map { try RawPeer(app: "greedy\($0)", in: scene.world) }
    for (number, peer) in greedy.enumerated() {
      try scene.editor.change(scene.activity) {
        let userInfo = try Value.dictionary([
          (.string("number"), .integer(Int64(number))), (.string("data"), .data(text)),
        ])
        try $0.setUserInfo(userInfo, limit: Limits.value)
      }
      peer.grantsAll = true
      _ = try scene.say(.fetch(scene.attempt, milliseconds: Self.long, receiver: nil), by: peer)
      for _ in 0..<16 { _ = try scene.say(.ping(0), by: peer) }
    }
    let kept = scene.editor.engine.heldBytes
    let limit = OutgoingContinuations.sentBytesLimit
    #expect(kept > limit / 2 && kept <= limit + text.count)
  }

  @Test func `ways that are made up displace none of another app (R7.5)`() throws {
    let scene = try Continued()
    scene.editor.answersRequests = false
    func ask() { scene.world.tell(scene.viewer) { _ = $0.request([1], scene.from, timeout: Self.long, $1) } }
    ask()
    let liar = try RawPeer(app: "liar", in: scene.world)
    for number in 0..<UInt64(2 * ContinuationTable.hubLimit) {
      let madeUp = Message.Continuation(
        id: scene.world.identifier(), origin: scene.from.offer.origin, activity: scene.activity)
      let from = scene.world.identifier()
      try liar.say(
        .request(
          number, madeUp, from: from, milliseconds: 1, channel: FramedConnection.Channel(2 * number + 1), size: 0))
    }
    ask()
    for (number, bytes) in scene.editor.asked { scene.world.tell(scene.editor) { $0.respond(to: number, bytes, $1) } }
    #expect(scene.viewer.answers.map { $0.bytes } == [[1], [1]])
  }

  @Test func `a way is forgotten only if no answer may come by it (R7.5)`() {
    let (requester, origin) = (Peer(number: 1, helloBy: 0), Peer(number: 2, helloBy: 0))
    let limit = ContinuationTable.appLimit
    let table = ContinuationTable()
    func id(_ number: Int) -> Identifier { Identifier(high: 1, low: UInt64(bitPattern: Int64(number))) }
    func connect(_ number: Int, at now: Int64) -> ContinuationRoute? {
      let continuation = Message.Continuation(id: id(number), origin: id(-1), activity: id(-2))
      return table.connect(continuation, Identifier(high: 2, low: 2), from: requester, to: origin, now)
    }
    func ask(_ number: Int, at now: Int64) -> Bool {
      let route = connect(number, at: now)
      route?.expectAnswer(until: 100)
      return route != nil
    }
    for number in 0..<limit { #expect(ask(number, at: 0)) }
    #expect(!ask(limit, at: 99))
    table[id(7)]?.answered()
    #expect(ask(limit, at: 99))
    #expect(table[id(7)] == nil && table[id(0)] != nil)
    if let route = table[id(0)] { table.begin(route, until: 1_000) }
    #expect(ask(limit + 1, at: 100))
    #expect(table[id(0)] != nil && table[id(1)] == nil, "an attempt is under way by the oldest")
    table.endExpired(1_000)
    #expect(ask(limit + 2, at: 100))
    #expect(table[id(0)] == nil && table.isConsistent)
    while let route = requester.routes.last { table.leave(route, requester) }
    #expect(origin.routes.last === nil && table[id(limit)] == nil)
    withExtendedLifetime((requester, origin)) {}
  }

  @Test func `what a young hub holds for one app leaves room for others (R3.14)`() throws {
    let scene = try Fixture()
    scene.world.killHub()
    scene.editor.process.stall()
    scene.world.startHub()
    let greedy = try RawPeer(app: "greedy", in: scene.world)
    for _ in 0..<200 {
      try greedy.say(
        .fetch(scene.attempt, milliseconds: Self.long, receiver: nil),
        .outcome(scene.attempt, .failed, nil, receiver: nil))
    }
    _ = scene.viewer.takeEvents()
    _ = try scene.world.continue(in: scene.viewer)
    scene.world.resume(scene.editor)
    #expect(scene.viewer.takeEvents().filter { $0.contains("contin") } == ["will_continue", "continue"])
    #expect(scene.editor.takeEvents().contains("ended restored"))
  }

  @Test func `an outcome that a young hub holds is not displaced by those of others (R3.14)`() throws {
    let scene = try Fixture()
    scene.viewer.answersContinue = false
    let continuation = try scene.world.continue(in: scene.viewer)
    scene.world.killHub()
    scene.editor.process.stall()
    scene.world.startHub()
    let greedy = try RawPeer(app: "greedy", in: scene.world)
    for _ in 0..<200 { try greedy.say(.outcome(scene.attempt, .failed, nil, receiver: nil)) }
    scene.world.tell(scene.viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    scene.world.resume(scene.editor)
    #expect(scene.editor.takeEvents().contains("was_continued"))
  }

  @Test func `who continues often takes nobody else's right to ask for more (R7.1)`() {
    func grant(_ number: Int, of app: UInt64) -> ActivityGrant {
      ActivityGrant(
        continuation: Identifier(high: app, low: UInt64(number)), activity: Identifier(high: 0, low: 0),
        app: Identifier(high: 0, low: app), principal: Identifier(high: 1, low: app), revision: 0)
    }
    let grants = ActivityGrants()
    grants.insert(grant(0, of: 1))
    for number in 0..<2 * ActivityGrants.capacity { grants.insert(grant(number, of: 2)) }
    for app in 3..<UInt64(2 * ActivityGrants.capacity / ActivityGrants.appLimit) {
      for number in 0..<ActivityGrants.appLimit { grants.insert(grant(number, of: app)) }
    }
    #expect(grants.app(grant(0, of: 1).continuation) != nil)
    #expect(grants.app(grant(2 * ActivityGrants.capacity - 1, of: 2).continuation) != nil, "its last is among them")
  }

  @Test func `a process that has too many connections is told so (section 9)`() throws {
    let scene = try Fixture()
    let most = DeviceResources().descriptorLimit(at: scene.world.now.uptime) / 4
    let peers = try (0...most).map { _ in try RawPeer(app: "crowd", of: scene.world.crowd, in: scene.world) }
    #expect(peers[most].goodbye?.status == .limitExceeded && !peers[most].isConnected)
    #expect(peers[..<most].allSatisfy { $0.isConnected })
  }
}
