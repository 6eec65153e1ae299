// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// A descriptor belongs to its message, and those that wait are bounded (R7.1); an end is proven (R7.3).
@Suite struct TransferTests {
  private func scene() throws -> Continued {
    try Continued { world, editor, id in
      world.tell(editor) { _, now in editor.change(id) { $0.setSupportsContinuationStreams(true) } }
    }
  }

  private func message(_ scene: Continued, _ id: Identifier) -> Message {
    let continuation = Message.Continuation(
      id: scene.world.identifier(), origin: scene.editor.engine.identity.id, activity: scene.activity)
    return .stream(id, continuation, from: scene.world.identifier(), channel: 0, attachment: nil)
  }

  @Test func `a stream without a descriptor is refused at the hub, and takes no other's (R7.1)`() throws {
    let scene = try scene()
    let thief = try RawPeer(app: "thief", in: scene.world)
    let id = scene.world.identifier()
    try thief.say(message(scene, id))
    #expect(thief.streamAnswers[id]??.status == .malformed)
    try thief.sayLosingDescriptor(message(scene, id))
    #expect(thief.streamAnswers[id]??.status == .limitExceeded)
    // The hub refuses it, not the library of the origin, which would say the same of itself.
    #expect(thief.streamAnswers[id]??.message.contains("carries the hub") ?? false)
    #expect(scene.editor.streamsThatCame.isEmpty)
    #expect(scene.world.hub?.leak == nil)
  }

  @Test func `a link without a descriptor is refused`() throws {
    let scene = try scene()
    let app = try RawPeer(app: "app", in: scene.world)
    try app.say(.openLink(7))
    #expect(app.linksDown[7]?.status == .malformed)
    try app.sayLosingDescriptor(.openLink(8))
    #expect(app.linksDown[8]?.status == .limitExceeded)
  }

  @Test func `a hub has no descriptors to send (R7.2)`() throws {
    let world = World(hasHub: true)
    let away = try RawPeer(hubIn: world)
    try away.say(.ping(1), with: FleetDescriptor())
    #expect(away.goodbye?.status == .malformed)
  }

  @Test func `an origin that does not answer holds so many descriptors, and of one requester so many (R7.1)`() throws {
    let scene = try scene()
    scene.editor.process.stall()
    let origin = try #require(scene.world.peer(of: scene.editor)?.appSession)
    for number in 1...5 {
      let requester = try RawPeer(app: "requester \(number)", in: scene.world)
      for _ in 0..<70 { try requester.say(message(scene, scene.world.identifier()), with: requester.makeStream()) }
      let room = number < 5 ? 64 : 0
      #expect(requester.streamAnswers.values.count { $0?.status == .remoteApplicationTimedOut } == 70 - room)
      #expect(origin.unanswered.count == min(number, 4) * 64)
    }
    scene.world.resume(scene.editor)
    #expect(origin.unanswered.isEmpty)
    #expect(scene.world.hub?.leak == nil)
  }

  @Test func `1,000 streams of an origin that is stopped wait where they cost nothing, and all come (R7.1)`() throws {
    let scene = try scene()
    scene.editor.process.stall()
    let origin = try #require(scene.world.peer(of: scene.editor)?.appSession)
    for _ in 0..<1_000 {
      scene.world.tell(scene.viewer) {
        $0.askStream(scene.world.identifier(), scene.from, otherEnd: scene.viewer.makeStream(), timeout: nil, $1)
      }
    }
    #expect(origin.unanswered.count == AppStreams.unansweredLimit)
    scene.world.wait(1_000)
    #expect(scene.viewer.streamAnswers.isEmpty)
    scene.world.resume(scene.editor)
    scene.world.wait(1_000)
    #expect(scene.viewer.streamAnswers.count == 1_000 && scene.viewer.streamAnswers.allSatisfy { $0.error == nil })
    #expect(scene.editor.streamsThatCame == scene.viewer.streamAnswers.map { $0.id })
  }

  @Test func `who waits for one that does not answer has the next asked when time is up (R7.1)`() throws {
    let scene = try scene()
    scene.editor.process.stall()
    let origin = try #require(scene.world.peer(of: scene.editor)?.appSession)
    for _ in 0..<40 {
      scene.world.tell(scene.viewer) {
        $0.askStream(
          scene.world.identifier(), scene.from, otherEnd: scene.viewer.makeStream(),
          timeout: origin.unanswered.count < 32 ? 100 : 5_000, $1)
      }
    }
    #expect(origin.unanswered.count == 32)
    scene.world.wait(200)
    #expect(origin.unanswered.count == 40)
    #expect(scene.viewer.streamAnswers.count == 32)
  }

  @Test(arguments: [(10, 10, StreamStatus.ended), (10, 11, .broken), (11, 10, .broken), (0, 1, .broken)])
  func `bytes that were lost beyond the next hub break the stream, whatever is said of its end (R7.3)`(
    written: Int, total: UInt64, word: StreamStatus
  ) throws {
    let world = World(hasHub: true)
    let viewer = world.open("viewer")
    let away = try RawPeer(hubIn: world, as: Identifier(high: 1, low: 1))
    try away.resume()
    try away.say(.proceed(session: nil, received: 0))
    let (id, origin) = (world.identifier(), world.identifier())
    let description = OfferDescription(
      id: world.identifier(), type: "com.example.note", title: "Draft", payloadVersion: 0, sizeHint: 0,
      expirationDate: nil, supportsContinuationStreams: true)
    let offer = Offer(
      description: description, origin: origin, appName: "Editor", bundleIdentifier: "com.example.editor",
      deviceName: "away", rank: 0, activatedAt: 0)
    let home = Identifier(high: 1, low: 1)
    let source = OfferOrigin(team: "TEAM", activation: 1, version: OffersVersion(hub: home, number: 1))
    try away.say(
      .route(to: home, Route([home], sequence: 1), isSought: false),
      .offer(offer, OfferTiming(age: 0, remaining: nil), source))
    let from = ContinuedFrom(continuation: world.identifier(), offer: offer, isStale: false)
    world.tell(viewer) { $0.askStream(id, from, otherEnd: viewer.makeStream(), timeout: nil, $1) }
    let continuation = Message.Continuation(id: from.continuation, origin: origin, activity: description.id)
    try away.write([UInt8](repeating: 1, count: written), total: total) {
      .streamAnswer(id, continuation, channel: $0, nil)
    }
    try away.say(.streamStatus(id, continuation, to: viewer.engine.identity.id, .ended))
    #expect(viewer.streamAnswers.map { $0.error } == [nil])
    world.tell(viewer) { $0.askHowEnded(id, $1) }
    #expect(viewer.streamEnds == [word])
  }
}
