// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Apps and hubs that send false messages, or too many: no other app notices.
@Suite struct HostilePeerTests {
  /// A hub, an editor that offers "Draft", and a viewer; their callbacks so far are dropped.
  struct Fixture {
    let world = World(hasHub: true)
    let editor: TestApp
    let viewer: TestApp
    let activity: Identifier

    init(size: Int = 0) throws {
      editor = world.open("editor")
      viewer = world.open("viewer")
      activity = try world.offer("Draft", by: editor)
      if size > 0 {
        let text = String(repeating: "a", count: size)
        try editor.change(activity) {
          try $0.setUserInfo(try Value.dictionary([(.string("text"), .string(text))]), limit: Limits.value)
        }
      }
      world.wait(2_000)
      _ = editor.takeEvents()
      _ = viewer.takeEvents()
    }

    /// An unused identifier of an attempt.
    var attempt: Message.Continuation {
      Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: activity)
    }

    /// - Returns: the editor's callbacks about it.
    func say(_ message: Message, by peer: RawPeer) throws -> [String] {
      try peer.say(message)
      return editor.takeEvents()
    }
  }

  // MARK: Nothing is restored that was not sent

  @Test func `restored, of what nobody has asked for: the origin hears nothing of it (R3.6)`() throws {
    let scene = try Fixture()
    let peer = try RawPeer(app: "liar", in: scene.world)
    #expect(try scene.say(.outcome(scene.attempt, .restored, nil, receiver: nil), by: peer) == [])
    #expect(try scene.say(.outcome(scene.attempt, .unknown, nil, receiver: nil), by: peer) == [])
    // It may decline what it sees, without asking for it first.
    let declined = Message.outcome(scene.attempt, .declined, SegueError(.declined, "no"), receiver: nil)
    #expect(try scene.say(declined, by: peer) == ["ended declined"])
    #expect(try scene.say(declined, by: peer) == [], "it has ended")
  }

  @Test func `who may not see the offer ends no attempt (R3.6, R6.2)`() throws {
    let scene = try Fixture()
    let peer = try RawPeer(app: "stranger", team: "OTHER", in: scene.world)
    for outcome in [Outcome.restored, .declined, .failed, .unknown] {
      #expect(try scene.say(.outcome(scene.attempt, outcome, nil, receiver: nil), by: peer) == [], "\(outcome)")
    }
  }

  @Test func `restored before the origin has saved is failed (R3.6)`() throws {
    let scene = try Fixture()
    scene.editor.answersSaves = false
    scene.editor.change(scene.activity) { $0.markNeedsSave(true) }
    let peer = try RawPeer(app: "liar", in: scene.world)
    let attempt = scene.attempt
    _ = try scene.say(.fetch(attempt, milliseconds: 10_000, receiver: nil), by: peer)
    #expect(try scene.say(.outcome(attempt, .restored, nil, receiver: nil), by: peer) == ["ended failed"])
    scene.world.wait(60_000)
    #expect(scene.editor.takeEvents().isEmpty)
  }

  @Test func `restored of a part is failed, of the whole it is restored (R3.6)`() throws {
    let scene = try Fixture(size: 2 * FramedConnection.window)
    let peer = try RawPeer(app: "liar", in: scene.world)
    let attempt = scene.attempt
    _ = try scene.say(.fetch(attempt, milliseconds: 10_000, receiver: nil), by: peer)
    #expect(peer.byteCount == FramedConnection.window)
    #expect(try scene.say(.outcome(attempt, .restored, nil, receiver: nil), by: peer) == ["ended failed"])
    _ = try scene.world.continue(in: scene.viewer)
    #expect(scene.editor.takeEvents().suffix(2) == ["was_continued", "ended restored"])
  }

  @Test func `what a hub says of another receiver is not believed (R3.6)`() throws {
    let hub = try RawHub(for: try Continued())
    let offered = Identifier(high: 1, low: 1)
    hub.app.add(try Activity(type: "com.example.note"), as: offered)
    hub.tell { $0.becomeCurrent(offered, $1) }
    _ = hub.app.takeEvents()
    func receiver(_ number: UInt64) -> Receiver {
      Receiver(
        id: Identifier(high: 2, low: number), deviceName: "away", appName: "requester",
        bundleIdentifier: "com.example.a")
    }
    let attempt = Message.Continuation(
      id: Identifier(high: 3, low: 1), origin: hub.app.engine.identity.id, activity: offered)
    try hub.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver(1)))
    try hub.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver(2)))
    try hub.say(.outcome(attempt, .restored, nil, receiver: receiver(2)))
    #expect(hub.app.takeEvents() == ["will_save"])
    try hub.say(.outcome(attempt, .restored, nil, receiver: receiver(1)))
    #expect(hub.app.takeEvents() == ["was_continued", "ended restored"])
  }

  @Test func `attempts that are made up displace none that was (R3.6)`() throws {
    let scene = try Fixture()
    let peer = try RawPeer(app: "peer", in: scene.world)
    let attempt = scene.attempt
    _ = try scene.say(.fetch(attempt, milliseconds: 10_000, receiver: nil), by: peer)
    #expect(
      try scene.say(.outcome(attempt, .failed, nil, receiver: nil), by: peer) == ["ended failed"])
    for _ in 0...RecentIdentifiers.capacity {
      _ = try scene.say(.outcome(scene.attempt, .declined, nil, receiver: nil), by: peer)
    }
    #expect(try scene.say(.outcome(attempt, .failed, nil, receiver: nil), by: peer) == [])
  }

  // MARK: An app is who it says it is

  @Test func `nobody becomes another app by its identifier`() throws {
    let scene = try Fixture()
    let id = scene.editor.engine.identity.id
    let thief = try RawPeer(app: "thief", as: id, in: scene.world)
    #expect(thief.isConnected && scene.editor.takeEvents().isEmpty && scene.editor.engine.isReady)
    _ = try scene.world.continue(in: scene.viewer)
    #expect(scene.editor.takeEvents().last == "ended restored")
  }

  @Test func `by its secret it is the same app, which has connected again`() throws {
    let scene = try Fixture()
    let again = try RawPeer(app: "editor", as: scene.editor.engine.identity.secret, in: scene.world)
    #expect(again.heard.contains { if case .ready = $0 { true } else { false } })
    #expect(scene.editor.takeEvents() == ["searching", "ready"], "it has connected again, too")
    #expect(!again.isConnected && scene.world.hub?.appCount == 2)
  }
}
