// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Requests (R7.5): each ends once, by its deadline, with the whole of an answer or with an error that says why.
@Suite struct RequestTests {
  private func scene(
    _ editorLimits: Limits = Limits(), _ viewerLimits: Limits = Limits(), answering: Bool = true
  ) throws -> Continued {
    let scene = try Continued(editorLimits: editorLimits, viewerLimits: viewerLimits)
    scene.editor.answersRequests = answering
    return scene
  }

  private func ask(_ scene: Continued, _ bytes: [UInt8], timeout: Int64? = nil) -> UInt64 {
    var number: UInt64 = 0
    scene.world.tell(scene.viewer) { number = $0.request(bytes, scene.from, timeout: timeout, $1) }
    return number
  }

  private func error(_ scene: Continued) -> Status? {
    #expect(scene.viewer.answers.count <= 1)
    return scene.viewer.answers.first?.error?.status
  }

  private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

  @Test(arguments: [0, 1, 1024, 65_536, 65_537, 1_048_576])
  func `what is asked arrives whole, and so does the answer (R7.5)`(size: Int) throws {
    let scene = try scene()
    let number = ask(scene, Self.bytes(size))
    #expect(scene.editor.asked.map { $0.bytes } == [Self.bytes(size)])
    #expect(scene.viewer.answers.count == 1)
    #expect(scene.viewer.answers.first?.number == number && scene.viewer.answers.first?.error == nil)
    #expect(scene.viewer.answers.first?.bytes == Self.bytes(size).reversed())
  }

  @Test func `many are under way at a time, and are answered in any order (R7.5)`() throws {
    let scene = try scene(answering: false)
    let numbers = (0..<100).map { ask(scene, [UInt8($0)]) }
    for (number, bytes) in scene.editor.asked.reversed() {
      scene.world.tell(scene.editor) { $0.respond(to: number, bytes + [7], $1) }
    }
    #expect(scene.viewer.answers.map { $0.number } == numbers.reversed())
    #expect(scene.viewer.answers.map { $0.bytes } == (0..<100).reversed().map { [$0, 7] })
  }

  @Test func `there are 128 of one app, and then an error, and others have room (R7.5)`() throws {
    let scene = try scene(answering: false)
    for _ in 0..<128 { _ = ask(scene, []) }
    #expect(scene.viewer.answers.isEmpty)
    _ = ask(scene, [])
    #expect(error(scene) == .limitExceeded)
    let other = scene.world.open("other")
    _ = try scene.world.continue(in: other)
    let from = try #require(other.continued.first?.from)
    scene.world.tell(other) { _ = $0.request([7], from, timeout: nil, $1) }
    #expect(scene.editor.asked.last?.bytes == [7])
  }

  @Test func `without an answer it ends at its deadline, and a late answer is of no effect (R7.5)`() throws {
    let scene = try scene(answering: false)
    _ = ask(scene, [1], timeout: 3_000)
    scene.world.wait(2_990)
    #expect(scene.viewer.answers.isEmpty)
    #expect(scene.viewer.engine.heldBytes == 0, "what went is not kept")
    scene.world.wait(10)
    #expect(error(scene) == .remoteApplicationTimedOut)
    scene.world.tell(scene.editor) { [number = scene.editor.asked[0].number] in $0.respond(to: number, [2], $1) }
    #expect(error(scene) == .remoteApplicationTimedOut)
  }

  @Test func `what the host has to answer counts until it has, however short the deadlines (R7.5)`() throws {
    let scene = try scene(answering: false)
    for _ in 0..<128 { _ = ask(scene, [], timeout: 1) }
    scene.world.wait(10)
    _ = ask(scene, [])
    #expect(scene.viewer.answers.last?.error?.status == .limitExceeded)
    for (number, _) in scene.editor.asked { scene.world.tell(scene.editor) { $0.respond(to: number, [], $1) } }
    scene.editor.answersRequests = true
    _ = ask(scene, [9])
    #expect(scene.viewer.answers.last?.bytes == [9])
  }

  @Test func `cancelled it ends at once, and its answer is dropped (R7.5)`() throws {
    let scene = try scene(answering: false)
    let number = ask(scene, [1])
    scene.world.tell(scene.viewer) { engine, _ in engine.cancelRequest(number) }
    #expect(error(scene) == .userCancelled)
    scene.world.tell(scene.editor) { [number = scene.editor.asked[0].number] in $0.respond(to: number, [2], $1) }
    scene.world.tell(scene.viewer) { engine, _ in engine.cancelRequest(number) }
    #expect(error(scene) == .userCancelled)
  }

  @Test func `refused, the reason is heard (R7.5)`() throws {
    let scene = try scene(answering: false)
    _ = ask(scene, [1])
    scene.world.tell(scene.editor) { [number = scene.editor.asked[0].number] engine, _ in
      engine.refuseRequest(number, SegueError(.declined, "no such page"))
    }
    #expect(scene.viewer.answers.first?.error == SegueError(.declined, "no such page"))
  }

  @Test func `a request is no larger than the origin takes, an answer no larger than the receiver (R7.5)`() throws {
    var small = Limits()
    small.request = 2_000
    let tooLarge = try scene(small, Limits())
    _ = ask(tooLarge, Self.bytes(2_001))
    #expect(error(tooLarge) == .limitExceeded && tooLarge.editor.asked.isEmpty)
    let answer = try scene(Limits(), small, answering: false)
    _ = ask(answer, [1])
    answer.world.tell(answer.editor) { [number = answer.editor.asked[0].number] in
      $0.respond(to: number, Self.bytes(2_001), $1)
    }
    #expect(error(answer) == .limitExceeded)
    _ = ask(answer, Self.bytes(2_000))
    answer.world.tell(answer.editor) { [number = answer.editor.asked[1].number] in
      $0.respond(to: number, Self.bytes(2_000), $1)
    }
    #expect(answer.viewer.answers.last?.bytes == Self.bytes(2_000))
  }

  @Test func `only who continued the activity may ask, and only who answers is asked (R7.1, R7.5)`() throws {
    let scene = try scene()
    scene.editor.takesRequests = false
    _ = ask(scene, [1])
    #expect(error(scene) == .invalidState)
    let stranger = scene.world.open("stranger")
    let from = ContinuedFrom(continuation: scene.world.identifier(), offer: scene.from.offer, isStale: false)
    for stolen in [from, scene.from] {
      scene.world.tell(stranger) { _ = $0.request([1], stolen, timeout: nil, $1) }
    }
    #expect(stranger.answers.map { $0.error?.status } == [.handoffFailed, .handoffFailed])
    #expect(scene.editor.asked.isEmpty)
  }

  @Test func `another app that knows the name of a continuation neither asks nor answers in it (R7.5)`() throws {
    let scene = try scene(answering: false)
    let number = ask(scene, [1])
    let continuation = Message.Continuation(
      id: scene.from.continuation, origin: scene.from.offer.origin, activity: scene.from.offer.description.id)
    let viewer = scene.viewer.engine.identity.id
    let liar = try RawPeer(app: "liar", in: scene.world)
    try liar.say(
      .request(number, continuation, from: viewer, milliseconds: 9_000, channel: 1, size: 0),
      .response(number, continuation, to: viewer, channel: 0, size: 0, SegueError(.handoffFailed, "a lie")))
    #expect(scene.viewer.answers.isEmpty && scene.editor.asked.count == 1)
    scene.world.tell(scene.editor) { $0.respond(to: scene.editor.asked[0].number, [2], $1) }
    #expect(scene.viewer.answers.map { $0.bytes } == [[2]])
  }

  @Test func `the activity is invalidated, an app closes or dies, or the hub does: the error says which (R7.5)`() throws
  {
    for (end, status) in [
      ({ $0.world.tell($0.editor) { [id = $0.activity] in $0.invalidate(id, $1) } }, Status.handoffFailed),
      ({ $0.world.close($0.editor) }, .connectionUnavailable), ({ $0.world.kill($0.editor) }, .connectionUnavailable),
      ({ $0.world.killHub() }, .connectionUnavailable), ({ $0.world.close($0.viewer) }, .cancelled),
    ] as [((Continued) -> Void, Status)] {
      let scene = try scene(answering: false)
      _ = ask(scene, Self.bytes(1_000))
      #expect(scene.editor.asked.count == 1)
      end(scene)
      #expect(error(scene) == status)
    }
  }

  @Test func `who asks an origin that has gone is told so at once (R7.5)`() throws {
    for isClosed in [true, false] {
      let scene = try scene()
      if isClosed { scene.world.close(scene.editor) } else { scene.world.kill(scene.editor) }
      scene.world.wait(60_000)
      _ = ask(scene, Self.bytes(1_000))
      #expect(error(scene) == .connectionUnavailable)
    }
  }

  @Test(arguments: [(5, 5), (5, 3), (3, 5), (0, 0)])
  func `an answer is as long as it was announced, or none (R7.5)`(announced: Int, sent: Int) throws {
    let scene = try scene()
    let hub = try RawHub(for: scene)
    let number = hub.tell { $0.request([], scene.from, timeout: nil, $1) }
    try hub.say(Self.bytes(sent)) { channel in response(to: number, of: scene, on: channel, size: announced) }
    #expect(hub.app.answers.count == 1)
    #expect(hub.app.answers.first?.error?.status == (announced == sent ? nil : .handoffFailed))
    #expect(hub.app.answers.first?.bytes == (announced == sent ? Self.bytes(sent) : []))
  }

  private func response(to number: UInt64, of scene: Continued, on channel: FramedConnection.Channel, size: Int)
    -> Message
  {
    let continuation = Message.Continuation(
      id: scene.from.continuation, origin: scene.from.offer.origin, activity: scene.activity)
    return .response(
      number, continuation, to: scene.viewer.engine.identity.id, channel: channel, size: UInt64(size), nil)
  }

  @Test func `an answer that comes before all of the request went is the answer, and no more (R7.5)`() throws {
    let scene = try scene()
    let hub = try RawHub(for: scene)
    // It is not read: the window is full.
    let number = hub.tell { $0.request(Self.bytes(2 * FramedConnection.window), scene.from, timeout: nil, $1) }
    try hub.say([1, 2, 3]) { response(to: number, of: scene, on: $0, size: 3) }
    #expect(hub.app.answers.map { $0.bytes } == [[1, 2, 3]])
  }

  @Test func `requests and answers that nobody reads leave channels for continuations (R7.5)`() throws {
    let scene = try scene()
    let hub = try RawHub(for: scene)
    hub.app.answersRequests = false
    let offered = scene.world.identifier()
    hub.app.add(try Activity(type: "com.example.note"), as: offered)
    hub.tell { $0.becomeCurrent(offered, $1) }
    let requesters = (0..<4).map { _ in
      Receiver(
        id: scene.world.identifier(), deviceName: "here", appName: "requester",
        bundleIdentifier: "com.example.requester")
    }
    func fetch(by requester: Receiver) throws -> Message.Continuation {
      let continuation = Message.Continuation(
        id: scene.world.identifier(), origin: hub.app.engine.identity.id, activity: offered)
      try hub.say(.fetch(continuation, milliseconds: 10_000, receiver: requester))
      return continuation
    }
    let continuations = try requesters.map { try fetch(by: $0) }
    let large = Self.bytes(FramedConnection.window + 1)
    let room =
      FramedConnection.channelLimit - OutgoingContinuations.sendingLimit - (hub.app.engine.link?.openCount ?? 0)
    let answers = room - AppRequests.limit + 1
    for number in 1...UInt64(answers) {
      let turn = Int(number) % requesters.count
      try hub.say([1]) {
        .request(
          number, continuations[turn], from: requesters[turn].id, milliseconds: 10_000, channel: $0, size: 1)
      }
    }
    #expect(hub.app.asked.count == answers)
    for (number, _) in hub.app.asked { hub.tell { $0.respond(to: number, large, $1) } }
    for _ in 1..<AppRequests.limit { _ = hub.tell { $0.request(large, scene.from, timeout: nil, $1) } }
    #expect(hub.app.answers.isEmpty)
    _ = hub.tell { $0.request(large, scene.from, timeout: nil, $1) }
    #expect(hub.app.answers.map { $0.error?.status } == [.limitExceeded])
    let openCount = hub.app.engine.link?.openCount
    _ = try fetch(by: requesters[0])
    #expect(hub.app.engine.link?.openCount == openCount.map { $0 + 1 })
  }

  @Test func `asked without a hub, it goes to the next one (R7.5)`() throws {
    let scene = try scene()
    scene.world.killHub()
    _ = ask(scene, [1, 2])
    #expect(scene.viewer.answers.isEmpty)
    scene.world.startHub()
    // The origin may register after the receiver: then the hub does not know it.
    #expect(scene.viewer.answers.first?.bytes == [2, 1] || error(scene) == .connectionUnavailable)
    #expect(scene.viewer.answers.count == 1)
  }

  @Test func `a request waits until its origin has registered with the next hub (R7.5)`() throws {
    let scene = try scene()
    scene.world.killHub()
    _ = ask(scene, [1, 2])
    scene.editor.process.stall()
    scene.world.startHub()
    #expect(scene.viewer.engine.isReady && scene.viewer.answers.isEmpty && scene.editor.asked.isEmpty)
    scene.world.wait(500)
    scene.world.resume(scene.editor)
    #expect(scene.viewer.answers.map { $0.bytes } == [[2, 1]] && error(scene) == nil)
  }
}
