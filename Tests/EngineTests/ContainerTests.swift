// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Files in containers, from app to app (R5.3).
@Suite struct ContainerTests {
  private let world = World()
  private let editor: TestApp
  private let file = "file:///home/anna/docs/a.txt"

  init() throws {
    world.startHub()
    editor = world.open("editor")
    editor.containers = try Self.docs("/home/anna/docs")
  }

  private static func docs(_ folder: String) throws -> Containers {
    var containers = Containers()
    try containers.add(Container(identifier: "docs", folder: folder, realFolder: nil))
    return containers
  }

  private func offerFile(_ urls: [String]? = nil) throws -> Identifier {
    let id = try world.offer("Draft", by: editor)
    let entries = try (urls ?? [file]).map { (key: try Value.url($0), value: try Value.url($0)) }
    try editor.change(id) { try $0.setUserInfo(.dictionary(entries), limit: Limits.value) }
    return id
  }

  private func url(_ activity: Activity?) -> String? { activity?.userInfo?.entries?.first?.value.url }

  @Test func `R5.3: each app has the URL of its own folder, whichever it has when it continues`() throws {
    let id = try offerFile()
    let viewer = world.open("viewer")
    viewer.containers = try Self.docs("/srv")
    _ = try world.continue(in: viewer)
    #expect(url(viewer.continued.last?.activity) == "file:///srv/a.txt")
    viewer.containers = try Self.docs("/mnt")
    _ = try world.continue(in: viewer)
    #expect(url(viewer.continued.last?.activity) == "file:///mnt/a.txt")
    #expect(url(editor.activity(id)) == file && !viewer.logs.contains { $0.contains("container") })
  }

  @Test func `R5.3: the log names a container that the receiver lacks`() throws {
    // An origin that does not say where its folders are.
    let (origin, viewer) = (try RawPeer(app: "origin", in: world), world.open("viewer"))
    let activity = world.identifier()
    try origin.say(.publish(OfferDescription(activity, "Draft"), OfferTiming(age: 0, remaining: nil), activation: 1))
    let id = try world.continue(in: viewer)
    var state = try Activity(type: "com.example.note")
    try state.setTitle("Draft")
    try state.setUserInfo(.dictionary([(key: .url(file), value: .url(file))]), limit: Limits.value)
    let document = try ActivityDocument.encode(state, Self.docs("/home/anna/docs"))
    let receiver = viewer.engine.identity.id
    try origin.write(document, total: UInt64(document.count)) { channel in
      .state(id, to: receiver, channel: channel, size: UInt64(document.count), isStale: false, why: "")
    }
    #expect(url(viewer.continued.last?.activity) == "segue-container:docs/a.txt")
    #expect(viewer.logs.contains { $0.contains("\"docs\"") })
  }

  @Test func `R13.4: a receiver on this device that lacks the container has the URL of the origin`() throws {
    let id = try offerFile()
    let viewer = world.open("viewer")
    _ = try world.continue(in: viewer)
    #expect(url(viewer.continued.last?.activity) == file && !viewer.logs.contains { $0.contains("\"docs\"") })
    // It has checked nothing: open_document is not called for it.
    try editor.change(id) {
      let entry = (key: Value.string("NSUserActivityDocumentURLKey"), value: try Value.url(file))
      try $0.setUserInfo(.dictionary([entry]), limit: Limits.value)
    }
    _ = try world.continue(in: viewer)
    #expect(viewer.continued.count == 2 && viewer.continued.last?.from.documentURL == nil)
    #expect(url(viewer.continued.last?.activity) == file)
  }

  @Test func `R13.4: where the origin's folders are goes over no link, and comes over none`() throws {
    let id = try offerFile()
    let (hub, _) = try world.linkHub()
    let away = Receiver(id: world.identifier(), deviceName: "away", appName: "viewer", bundleIdentifier: "viewer")
    let there = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: id)
    // Whatever the other hub says.
    try hub.say(.fetch(there, milliseconds: 10_000, receiver: away, isNear: true))
    #expect(hub.heard.contains { if case .state(there.id, _, _, _, _, _) = $0 { true } else { false } })
    #expect(!hub.heard.contains { if case .originFolders = $0 { true } else { false } })
    // Nor does an app hear of those that the other hub names.
    let (other, otherID) = try world.linkHub()
    let (origin, activity) = (world.identifier(), world.identifier())
    try other.say(.offered(activity, "Away", by: origin, of: otherID, 1))
    let secret = world.identifier()
    let viewer = try RawPeer(app: "viewer", as: secret, in: world)
    let attempt = Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
    try viewer.say(.fetch(attempt, milliseconds: 10_000, receiver: nil))
    #expect(other.heard.contains { if case .fetch(_, _, _, _, _, false) = $0 { true } else { false } })
    let lie = Array("segue-container:docs\tfile:///etc\n".utf8)
    try other.say(.originFolders(attempt.id, to: Identifier(ofSecret: secret), lie))
    #expect(!viewer.heard.contains { if case .originFolders = $0 { true } else { false } })
  }

  @Test func `R13.4: an origin is told by its hub whether the receiver is on this device`() throws {
    let secret = world.identifier()
    let origin = try RawPeer(app: "origin", as: secret, in: world)
    let activity = world.identifier()
    let timing = OfferTiming(age: 0, remaining: nil)
    try origin.say(.publish(OfferDescription(activity, "Draft"), timing, activation: 1))
    let (hub, _) = try world.linkHub()
    let away = Receiver(id: world.identifier(), deviceName: "away", appName: "viewer", bundleIdentifier: "viewer")
    let from = Identifier(ofSecret: secret)
    try hub.say(
      .fetch(
        Message.Continuation(id: world.identifier(), origin: from, activity: activity), milliseconds: 10_000,
        receiver: away, isNear: true))
    let near = try RawPeer(app: "viewer", in: world)
    try near.say(
      .fetch(
        Message.Continuation(id: world.identifier(), origin: from, activity: activity), milliseconds: 10_000,
        receiver: nil))
    let told = origin.heard.compactMap { if case .fetch(_, _, _, _, _, let isNear) = $0 { isNear } else { nil } }
    #expect(told == [false, true])
  }

  @Test(arguments: [false, true])
  func `R13.4: an origin says where its folders are if the receiver is on this device`(isNear: Bool) throws {
    let hub = try RawHub()
    hub.app.containers = try Self.docs("/home/anna/docs")
    let id = try hub.world.offer("Draft", by: hub.app)
    try hub.app.change(id) {
      try $0.setUserInfo(.dictionary([(key: .string("u"), value: .url(file))]), limit: Limits.value)
    }
    let away = Receiver(id: world.identifier(), deviceName: "away", appName: "viewer", bundleIdentifier: "viewer")
    let attempt = Message.Continuation(id: world.identifier(), origin: hub.app.engine.identity.id, activity: id)
    try hub.say(.fetch(attempt, milliseconds: 10_000, receiver: away, isNear: isNear))
    let heard = try hub.heard()
    #expect(heard.contains { if case .state(attempt.id, _, _, _, _, _) = $0 { true } else { false } })
    #expect(heard.contains { if case .originFolders = $0 { true } else { false } } == isNear)
  }

  @Test func `R13.4: no app but the origin says where folders of a continuation are`() throws {
    let id = try offerFile()
    let secret = world.identifier()
    let (stranger, viewer) = (
      try RawPeer(app: "stranger", in: world), try RawPeer(app: "viewer", as: secret, in: world)
    )
    editor.answersSaves = false
    let attempt = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: id)
    try viewer.say(.fetch(attempt, milliseconds: 10_000, receiver: nil))
    let lie = Array("segue-container:docs\tfile:///etc\n".utf8)
    try stranger.say(.originFolders(attempt.id, to: Identifier(ofSecret: secret), lie))
    #expect(!viewer.heard.contains { if case .originFolders = $0 { true } else { false } })
  }

  @Test func `R13.4: an app that does not have the continuation says nothing of folders`() throws {
    _ = try offerFile()
    let (stranger, viewer) = (try RawPeer(app: "stranger", in: world), world.open("viewer"))
    editor.answersSaves = false
    let id = try world.continue(in: viewer)
    let lie = Array("segue-container:docs\tfile:///etc\n".utf8)
    try stranger.say(.originFolders(id, to: viewer.engine.identity.id, lie))
    #expect(viewer.continued.isEmpty)
    editor.answersSaves = true
    world.tell(editor) { $0.saved(editor.pendingSaves[0], $1) }
    #expect(url(viewer.continued.last?.activity) == file)
  }

  @Test func `R13.4: the inbox has them beside the entry, and a retained snapshot has none`() throws {
    let world = World()
    let agent = world.startAgent()
    let editor = world.open("editor")
    editor.containers = try Self.docs("/home/anna/docs")
    let id = try world.offer("Draft", by: editor)
    try editor.change(id) {
      try $0.setUserInfo(.dictionary([(key: .string("u"), value: .url(file))]), limit: Limits.value)
    }
    world.ask(agent, for: id)
    let record = try #require(agent.inbox.open.first?.record)
    #expect(String(decoding: record.originFolders, as: UTF8.self) == "segue-container:docs\tfile:///home/anna/docs\n")
    #expect(!String(decoding: record.document, as: UTF8.self).contains("anna"))
    let viewer = world.open("viewer")
    viewer.acceptDeliveries()
    world.settle()
    #expect(viewer.continued.last?.activity.userInfo?["u"]?.url == file)
  }

  @Test func `R5.3: the inbox holds the travelling form, whatever the agent has`() throws {
    let world = World()
    let agent = world.startAgent()
    let editor = world.open("editor")
    editor.containers = try Self.docs("/home/anna/docs")
    let id = try world.offer("Draft", by: editor)
    try editor.change(id) {
      try $0.setUserInfo(.dictionary([(key: .string("u"), value: .url(file))]), limit: Limits.value)
    }
    world.ask(agent, for: id)
    let stored = try #require(agent.inbox.open.first?.record.document)
    #expect(!String(decoding: stored, as: UTF8.self).contains("anna"))
    let viewer = world.open("viewer")
    viewer.containers = try Self.docs("/srv")
    viewer.acceptDeliveries()
    world.settle()
    #expect(viewer.continued.last?.activity.userInfo?["u"]?.url == "file:///srv/a.txt")
  }

  @Test func `R5.3: two names of one file fail the continuation, and both sides are told why`() throws {
    _ = try offerFile([file, "file:/home/anna/docs/a.txt"])
    let viewer = world.open("viewer")
    _ = try world.continue(in: viewer)
    #expect(viewer.events.last == "did_fail invalidArgument")
    #expect(editor.logs.contains { $0.contains("user_info") })
    #expect(editor.receipts.last?.reason.contains("twice") ?? false)
  }

  @Test func `R5.3: a URL that is too long here fails at continue, and both sides are told`() throws {
    _ = try offerFile(["file:///home/anna/docs/" + String(repeating: "a", count: Limits.url - 30)])
    let viewer = world.open("viewer")
    viewer.containers = try Self.docs("/" + String(repeating: "l", count: 100))
    _ = try world.continue(in: viewer)
    #expect(viewer.events.last == "did_fail handoffFailed" && viewer.continued.isEmpty)
    #expect(editor.receipts.last?.reason.contains("\"docs\"") ?? false)
  }

  @Test func `R5.3: URLs of this device make user_info larger up to its limit, not further`() throws {
    var limits = Limits()
    limits.userInfo = 2_000
    let urls = (0..<20).map { "file:///home/anna/docs/\($0)" }
    _ = try offerFile(urls)
    for (length, events) in [(10, "continue"), (200, "did_fail userInfoTooLarge")] {
      let viewer = world.open("viewer\(length)", limits: limits)
      viewer.containers = try Self.docs("/" + String(repeating: "l", count: length))
      _ = try world.continue(in: viewer)
      #expect(viewer.events.last == events)
    }
    // A user_info that was larger from the start is not refused here: the origin has judged it.
    let id = try world.offer("Large", by: editor)
    try editor.change(id) {
      try $0.setUserInfo(
        .dictionary([(key: .string("d"), value: .data([UInt8](repeating: 0, count: 3_000)))]), limit: Limits.value)
    }
    let viewer = world.open("small", limits: limits)
    _ = try world.continue(in: viewer)
    #expect(viewer.continued.count == 1)
  }

  @Test func `R3.5: the receiver knows whether the document travelled`() throws {
    let id = try world.offer("Draft", by: editor)
    for (folder, travels) in [("/srv", true), (nil, false)] {
      try editor.change(id) {
        let entry = (key: Value.string("NSUserActivityDocumentURLKey"), value: try Value.url(file))
        try $0.setUserInfo(.dictionary([entry]), limit: Limits.value)
      }
      let viewer = world.open("viewer\(travels)")
      if let folder { viewer.containers = try Self.docs(folder) }
      _ = try world.continue(in: viewer)
      #expect((viewer.continued.last?.from.documentURL != nil) == travels)
    }
  }

  @Test func `R5.3: what goes to an app without the container comes back as it was (R3.10)`() throws {
    let id = try offerFile()
    let viewer = world.open("viewer")
    _ = try world.continue(in: viewer)
    let (state, from) = try #require(viewer.continued.first)
    let kept = viewer.keep(state, from, in: world)
    try viewer.change(kept) { try $0.setTitle("Changed") }
    world.tell(editor) { _ = $0.resumeBack(id, id: world.identifier(), timeout: nil, $1) }
    #expect(editor.activity(id)?.title == "Changed" && url(editor.activity(id)) == file)
  }
}
