// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// R2.5, R7.6: what stays offered when its app has ended has its attachments with it.
@Suite struct KeptAttachmentTests {
  private typealias Attachment = SegueModel.Attachment
  private let world = World()
  private let agent: TestAgent
  private let editor: TestApp
  private let viewer: TestApp
  private let activity: Identifier

  /// The content of an attachment, as the owners of the engines have it.
  private final class Content: AttachmentSource, @unchecked Sendable {}

  init() throws {
    agent = world.startAgent()
    editor = world.open("editor")
    viewer = world.open("viewer")
    activity = try world.offer("one", by: editor)
    editor.change(activity) { $0.keepsOffering = true }
    world.wait(5_000)
    _ = viewer.takeEvents()
  }

  private var titles: [String?] { viewer.engine.offers.all.map { $0.description.title } }

  private func attach(_ attachments: (name: String, size: UInt64)...) {
    editor.change(activity) { state in
      for (name, size) in attachments { try! state.attach(Attachment(name: name, size: size, source: Content())) }
    }
  }

  /// The agent has copied those of a collection, and no others.
  private func collect(_ names: [String]? = nil, of collection: Int? = nil) throws {
    let wanted = try #require(collection.map { agent.collections[$0] } ?? agent.collections.last)
    let found = wanted.attachments.filter { names?.contains($0.name) ?? true }
    let copies = found.map { Attachment(name: $0.name, size: $0.size, source: Content()) }
    agent.engine.collected(wanted.continuation, copies, world.now)
    world.settle()
  }

  /// The names of the attachments that are on the disk, and of those that are not.
  private var stored: (here: [String], lost: [String]) {
    let all = agent.inbox.kept.last?.attachments ?? []
    return (all.filter { $0.source != nil }.map { $0.name }, all.filter { $0.source == nil }.map { $0.name })
  }

  // MARK: Leaving them

  @Test func `R2.5: an activity is kept when its attachments are, and offered then`() throws {
    attach(("a", 5), ("b", 0))
    world.close(editor)
    let sources = try #require(agent.collections.first).attachments.map { $0.source }
    let handed = sources.map { unsafeDowncast($0!, to: HandedAttachment.self) }
    #expect(handed.map { $0.changed } == [7, 7] && agent.collections[0].attachments.map { $0.size } == [5, 0])
    world.wait(1_000)
    #expect(agent.inbox.kept.isEmpty && titles.isEmpty, "not before it is on the disk")
    try collect()
    #expect(stored == (["a", "b"], []) && titles == ["one"])
    #expect(!editor.logs.contains { $0.contains("not kept") } && !agent.lines.contains { $0.contains("not kept") })
  }

  @Test func `R2.5: they are copied after their app was killed`() throws {
    attach(("a", 5))
    world.tell(editor) { $0.setForeground(false, $1) }
    world.kill(editor)
    try collect()
    #expect(stored == (["a"], []) && titles == ["one"])
  }

  @Test func `R2.5: what is too large for the agent is not kept, and the log of the app says so`() throws {
    let limit = UInt64(Limits.storedAttachments)
    attach(("large", limit + 1), ("half", limit / 2), ("more", limit / 2 + 1), ("rest", limit / 2))
    world.close(editor)
    #expect(agent.collections.map { $0.attachments.map { $0.name } } == [["half", "rest"]])
    try collect()
    #expect(stored == (["half", "rest"], ["more", "large"]))
    let lines = editor.logs.filter { $0.contains("at most 67108864 bytes are kept of one activity") }
    #expect(lines.count == 2 && lines[0].hasPrefix("keep offering: attachment large is not kept"))
    #expect(agent.lines.contains("of what editor leaves 2 of 4 attachments are not kept"))
  }

  @Test func `R2.5: what was changed since, or is another's, is not kept, and the log of the app says so`() throws {
    attach(("a", 5))
    try editor.change(activity) { try $0.attach(Attachment(name: "b", size: 5)) }
    editor.handsOver = false
    world.close(editor)
    #expect(agent.collections.isEmpty && stored == ([], ["a", "b"]) && titles == ["one"])
    #expect(editor.logs.contains { $0.contains("attachment a is not kept: was changed") })
    #expect(editor.logs.contains { $0.contains("attachment b is not kept: only its former origin has it") })
  }

  @Test func `R2.5: what could not be copied is not kept`() throws {
    attach(("a", 5), ("b", 5))
    world.close(editor)
    try collect(["b"])
    #expect(stored == (["b"], ["a"]) && titles == ["one"])
    #expect(agent.lines.contains("of what editor leaves 1 of 2 attachments are not kept"))
  }

  @Test func `R2.5: after twenty seconds no copy is waited for any more`() throws {
    attach(("a", 5), ("b", 5))
    world.close(editor)
    world.wait(19_000)
    #expect(agent.stopped.isEmpty)
    world.wait(1_000)
    #expect(agent.stopped.count == 1 && agent.inbox.kept.isEmpty)
    try collect(["a"])
    #expect(stored == (["a"], ["b"]))
  }

  @Test func `R2.5: the next agent gets the attachments from the app again`() throws {
    attach(("a", 5))
    world.tell(editor) { $0.setForeground(false, $1) }
    world.killAgent()
    let next = world.startAgent(agent.inbox)
    #expect(next.collections.map { $0.attachments.map { $0.name } } == [["a"]])
  }

  // MARK: While they are copied

  @Test func `R2.5: a newer state takes the place of one that is being copied`() throws {
    attach(("a", 5))
    world.tell(editor) { $0.setForeground(false, $1) }
    editor.change(activity) { try! $0.setTitle("two") }
    world.close(editor)
    #expect(agent.stopped == [agent.collections[0].continuation])
    try collect(of: 0)
    #expect(agent.inbox.kept.isEmpty)
    try collect(of: 1)
    #expect(titles == ["two"])
  }

  @Test func `R2.5: an older state is not offered while the newer one is being copied`() throws {
    agent.isStuck = true
    world.tell(editor) { $0.setForeground(false, $1) }
    attach(("a", 5))
    world.close(editor)
    agent.isStuck = false
    world.settle()
    #expect(agent.inbox.kept.count == 1 && titles.isEmpty)
    try collect()
    #expect(agent.inbox.kept.count == 1 && stored == (["a"], []) && titles == ["one"])
  }

  @Test(arguments: ["taken back", "replaced", "withdrawn"])
  func `R2.5: what goes while it is being copied is not kept`(_ how: String) throws {
    attach(("a", 5))
    world.tell(editor) { $0.setForeground(false, $1) }
    switch how {
    case "taken back": world.tell(editor) { $0.resignCurrent(activity, $1) }
    case "replaced": _ = try world.offer("two", by: editor)
    default:
      world.kill(editor)
      agent.withdraw(activity)
      #expect(agent.withdrawals.map { $0?.status } == [nil])
    }
    #expect(agent.stopped == [agent.collections[0].continuation])
    try collect()
    #expect(agent.inbox.kept.isEmpty && agent.requests.isEmpty)
  }

  @Test func `R2.5: an agent that ends keeps the document of what it is copying`() throws {
    attach(("a", 5))
    world.close(editor)
    agent.engine.flush()
    world.settle()
    #expect(stored == ([], ["a"]))
    try collect()
    #expect(stored == ([], ["a"]), "it is answered")
  }

  @Test func `R2.5: before the disk has said what is kept, nothing is copied`() throws {
    world.killAgent()
    let inbox = TestInbox()
    inbox.loadFailure = SegueError(.system, "the disk fails")
    let agent = world.startAgent(inbox)
    attach(("a", 5))
    world.close(editor)
    #expect(agent.collections.isEmpty)
    inbox.loadFailure = nil
    world.wait(2_000)
    #expect(agent.collections.map { $0.attachments.map { $0.name } } == [["a"]])
  }

  // MARK: The disk

  @Test(arguments: [Status.limitExceeded, .system])
  func `R2.5: what has no room on the disk is kept without its attachments`(_ status: Status) throws {
    (agent.inbox.room, agent.inbox.roomFailure) = (4, SegueError(status, "the inbox is full"))
    attach(("a", 5))
    world.close(editor)
    try collect()
    #expect(stored == ([], ["a"]) && titles == ["one"])
    #expect(agent.lines.contains("what editor has left is kept without its attachments: the inbox is full"))
  }

  @Test func `R2.5: a full disk keeps neither document nor attachments`() throws {
    agent.inbox.failure = SegueError(.system, "the disk is full")
    attach(("a", 5))
    world.close(editor)
    try collect()
    #expect(agent.inbox.kept.isEmpty && titles.isEmpty && agent.requests.isEmpty)
  }

  /// Has a file as long as others hold it.
  private struct Unheld {
    weak var file: AnyObject?
  }

  @Test func `R2.5: no file of the app is held once it is copied`() throws {
    attach(("a", 5))
    world.close(editor)
    let copy = agent.collections[0].continuation
    let handed = Unheld(file: agent.collections[0].attachments[0].source)
    agent.collections = []
    #expect(handed.file != nil, "while it is copied")
    agent.isStuck = true
    agent.engine.collected(copy, [], world.now)
    #expect(handed.file == nil && agent.inbox.kept.isEmpty, "before the disk has it")
    agent.isStuck = false
    world.settle()
    #expect(agent.inbox.kept.count == 1)
  }

  // MARK: Serving them

  @Test func `R7.6: receivers fetch them from the agent, also after it was killed`() throws {
    attach(("a", 5))
    world.close(editor)
    try collect()
    world.killAgent()
    let agent = world.startAgent(agent.inbox)
    world.wait(5_000)
    #expect(titles == ["one"])
    _ = try world.continue(in: viewer)
    world.wait(1_000)
    let from = try #require(viewer.continued.last).from
    func fetch(_ app: TestApp) {
      let part = Message.AttachmentPart(name: "a", offset: 3)
      world.tell(app) {
        $0.askStream(world.identifier(), from, attachment: part, otherEnd: app.makeStream(), timeout: nil, $1)
      }
    }
    fetch(viewer)
    let (request, offer) = try #require(agent.servedKept.first)
    #expect(request.attachment?.offset == 3 && offer.activity == activity)
    offer.answer(request, nil)
    world.settle()
    #expect(viewer.streamAnswers.map { $0.error?.status } == [nil])
    fetch(viewer)
    agent.servedKept[1].offer.answer(agent.servedKept[1].request, SegueError(.notFound, "not kept"))
    world.settle()
    #expect(viewer.streamAnswers.last?.error?.status == .notFound)
    let other = world.open("other")
    fetch(other)
    #expect(other.streamAnswers.map { $0.error?.status } == [.handoffFailed], "the continuation is another's")
    // One that the hub does not know.
    let enemy = try RawPeer(app: "enemy", in: world)
    let made = Message.Continuation(id: world.identifier(), origin: from.offer.origin, activity: activity)
    let id = world.identifier()
    try enemy.say(
      .stream(id, made, from: enemy.secret, channel: 0, attachment: Message.AttachmentPart(name: "a", offset: 0)),
      with: FleetDescriptor())
    #expect(enemy.streamAnswers[id]??.status == .handoffFailed)
    #expect(agent.servedKept.count == 2, "nobody who has not continued it gets one")
  }

  // MARK: Bounds

  private func document(_ attachments: (name: String, size: UInt64)...) throws -> [UInt8] {
    var activity = try Activity(type: "com.example.note")
    for (name, size) in attachments { try activity.attach(Attachment(name: name, size: size)) }
    return try ActivityDocument.encode(activity, .none)
  }

  @Test func `R2.5: files that the document does not name, and those without a descriptor, are nothing`() throws {
    let enemy = try RawPeer(app: "enemy", in: world)
    let document = try document(("a", 5), ("b", 5), ("c", 5))
    let id = world.identifier()
    let channel = try enemy.begin { .keep(id, app: id, channel: $0, size: UInt64(document.count)) }
    for name in ["b", "other", "b"] {
      try enemy.say(.keepAttachment(channel: channel, name, changed: 1), with: FleetDescriptor())
    }
    try enemy.say(.keepAttachment(channel: channel, "a", changed: 1))
    try enemy.sayLosingDescriptor(.keepAttachment(channel: channel, "c", changed: 1))
    try enemy.finish(document, on: channel)
    #expect(agent.collections.map { $0.attachments.map { $0.name } } == [["b"]] && enemy.goodbye == nil)
  }

  @Test func `R2.5: of what an app leaves no more is copied than is stored`() throws {
    let enemy = try RawPeer(app: "enemy", in: world)
    let size = UInt64(Limits.storedAttachments)
    let document = try document(("a", size), ("b", 1), ("c", 0))
    let id = world.identifier()
    let channel = try enemy.begin { .keep(id, app: id, channel: $0, size: UInt64(document.count)) }
    for name in ["c", "b", "a"] {
      try enemy.say(.keepAttachment(channel: channel, name, changed: 1), with: FleetDescriptor())
    }
    try enemy.finish(document, on: channel)
    #expect(agent.collections.map { $0.attachments.map { $0.name } } == [["a", "c"]])
  }

  @Test func `R2.5: files come only with what their app leaves, 64 at most`() throws {
    let enemy = try RawPeer(app: "enemy", in: world)
    try enemy.say(.keepAttachment(channel: 1, "a", changed: 1), with: FleetDescriptor())
    let document = try document(("64", 5), ("63", 5))
    let id = world.identifier()
    let channel = try enemy.begin { .keep(id, app: id, channel: $0, size: UInt64(document.count)) }
    for number in 0...Limits.attachments {
      try enemy.say(.keepAttachment(channel: channel, "\(number)", changed: 1), with: FleetDescriptor())
    }
    let other = try RawPeer(app: "other", in: world)
    try other.say(.keepAttachment(channel: channel, "64", changed: 1), with: FleetDescriptor())
    try enemy.finish(document, on: channel)
    #expect(agent.collections.map { $0.attachments.map { $0.name } } == [["63"]])
  }

  /// An app leaves as many attachments as an activity may have.
  /// - Returns: how many of them the agent copies.
  private func leaveMany(_ name: String, of process: FleetProcess? = nil, to agent: TestAgent) throws -> Int {
    let before = agent.collections.count
    let app = try RawPeer(app: name, of: process, in: world)
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    for number in 0..<Limits.attachments { try activity.attach(Attachment(name: "\(number)", size: 1)) }
    let document = try ActivityDocument.encode(activity, .none)
    let channel = try app.begin { .keep(id, app: id, channel: $0, size: UInt64(document.count)) }
    for number in 0..<Limits.attachments {
      try app.say(.keepAttachment(channel: channel, "\(number)", changed: 1), with: FleetDescriptor())
    }
    try app.finish(document, on: channel)
    return agent.collections.dropFirst(before).reduce(0) { $0 + $1.attachments.count }
  }

  @Test func `R2.5: the apps of a process hand over a quarter of the files that are held, all of all`() throws {
    for number in 0..<4 {
      let process = world.process("\(number)")
      let counts = try (0..<5).map { try leaveMany("\(number) \($0)", of: process, to: agent) }
      #expect(counts == [64, 64, 64, 64, 0])
    }
    #expect(try leaveMany("another", to: agent) == 0)
    try collect(of: 0)
    #expect(try leaveMany("one more", to: agent) == 64, "what is copied makes room")
  }

  @Test func `R2.5: files that come before the disk has said what is kept are counted`() throws {
    world.killAgent()
    let inbox = TestInbox()
    inbox.loadFailure = SegueError(.system, "the disk fails")
    let agent = world.startAgent(inbox)
    let process = world.process("enemies")
    for number in 0..<5 { _ = try leaveMany("\(number)", of: process, to: agent) }
    inbox.loadFailure = nil
    world.wait(2_000)
    #expect(agent.collections.map { $0.attachments.count } == [64, 64, 64, 64])
  }

  @Test(arguments: [true, false])
  func `R2.5: attachments of all, and of one process, have a bound, and the oldest make room`(isOne: Bool) throws {
    let process = world.process("enemies")
    let size = UInt64(Limits.storedAttachments)
    for number in 0..<5 {
      let app = try RawPeer(app: "app\(number)", of: isOne ? process : nil, in: world)
      let id = world.identifier()
      let document = try document(("a", size))
      let channel = try app.begin { .keep(id, app: id, channel: $0, size: UInt64(document.count)) }
      try app.say(.keepAttachment(channel: channel, "a", changed: 1), with: FleetDescriptor())
      try app.finish(document, on: channel)
      try collect()
    }
    let left = isOne ? ["app4"] : ["app1", "app2", "app3", "app4"]
    #expect(agent.inbox.kept.map { $0.app.name } == left)
  }
}
