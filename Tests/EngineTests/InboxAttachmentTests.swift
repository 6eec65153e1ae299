// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueFleet

/// R3.8, R7.6: what waits has its attachments with it.
@Suite struct InboxAttachmentTests {
  private let world = World()
  private let agent: TestAgent
  private let editor: TestApp

  /// The content of an attachment, as the owner of the engine has it.
  private final class Content: AttachmentSource, @unchecked Sendable {}

  init() {
    agent = world.startAgent()
    editor = world.open("editor")
  }

  /// The editor offers an activity with these attachments, and somebody wants the viewer to continue it.
  private func ask(_ attachments: [SegueModel.Attachment], timeout: Int64? = nil) throws {
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    for attachment in attachments { try activity.attach(attachment) }
    editor.add(activity, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.ask(agent, for: id, timeout: timeout)
  }

  /// The agent has fetched those, and no others.
  private func collect(_ names: String...) throws {
    let wanted = try #require(agent.collections.last)
    let found = wanted.attachments.filter { names.contains($0.name) }
    agent.engine.collected(
      wanted.continuation, found.map { SegueModel.Attachment(name: $0.name, size: $0.size, source: Content()) },
      world.now)
    world.settle()
  }

  /// The names of what is in the inbox, and of what stays with the origin.
  private var stored: (here: [String], left: [String]) {
    let all = agent.inbox.open.last?.record.attachments ?? []
    return (all.filter { $0.source != nil }.map { $0.name }, all.filter { $0.source == nil }.map { $0.name })
  }

  private static let two = [SegueModel.Attachment(name: "a", size: 5), SegueModel.Attachment(name: "b", size: 0)]

  @Test func `R3.8: it is stored when its attachments are here, and launched then`() throws {
    try ask(Self.two)
    #expect(agent.collections.map { $0.attachments.map { $0.name } } == [["a", "b"]])
    world.wait(10_000)
    #expect(agent.inbox.open.isEmpty && agent.launches.isEmpty && editor.receipts.isEmpty)
    try collect("a", "b")
    #expect(stored == (["a", "b"], []) && agent.launches.count == 1)
  }

  @Test func `R3.8: what is too large for the inbox stays with the origin, and the log says so`() throws {
    let limit = UInt64(Limits.storedAttachments)
    try ask([
      SegueModel.Attachment(name: "large", size: limit + 1), SegueModel.Attachment(name: "half", size: limit / 2),
      SegueModel.Attachment(name: "more", size: limit / 2 + 1), SegueModel.Attachment(name: "rest", size: limit / 2),
    ])
    try collect("half", "rest")
    #expect(stored == (["half", "rest"], ["more", "large"]), "in the order of the document")
    #expect(agent.lines.contains("large is too large for the inbox: it stays with editor"))
  }

  @Test func `an activity whose attachments are all too large is stored at once`() throws {
    try ask([SegueModel.Attachment(name: "large", size: .max)])
    #expect(agent.collections.isEmpty && stored == ([], ["large"]))
  }

  @Test func `R3.8: what could not be fetched stays with the origin`() throws {
    try ask(Self.two)
    try collect("b")
    #expect(stored == (["b"], ["a"]))
  }

  @Test func `R3.9: at the deadline no attachment is waited for any more, and the rest is stored`() throws {
    try ask(Self.two, timeout: 1_000)
    world.wait(900)
    #expect(agent.stopped.isEmpty)
    world.wait(100)
    #expect(agent.stopped.count == 1 && agent.inbox.open.isEmpty)
    try collect("a")
    world.wait(1)
    #expect(stored == (["a"], ["b"]) && agent.outcomes == [.unknown])
    #expect(editor.receipts.map { $0.outcome } == [.unknown])
  }

  @Test func `R3.8: the death of the origin leaves what the agent has of it`() throws {
    try ask(Self.two)
    world.kill(editor)
    try collect("a")
    #expect(stored == (["a"], ["b"]))
  }

  @Test func `what nobody waits for is not fetched any more`() throws {
    try ask(Self.two)
    agent.engine.abandon(0, world.now)
    world.settle()
    #expect(agent.stopped.count == 1 && editor.receipts.map { $0.outcome } == [.failed])
    try collect("a", "b")
    #expect(agent.inbox.entries.isEmpty && agent.engine.leak == nil)
  }

  @Test func `R7.6: the agent asks the origin for the stream of an attachment, as any receiver`() throws {
    try ask(Self.two)
    let continuation = try #require(agent.collections.first).continuation
    func fetch() {
      agent.engine.ask(
        world.identifier(), of: continuation, Message.AttachmentPart(name: "a", offset: 3),
        otherEnd: FleetDescriptor(agent.process.makeSockets().1), timeout: 5_000, world.now)
      world.settle()
    }
    fetch()
    #expect(agent.streamAnswers.map { $0?.status } == [nil])
    #expect(editor.attachmentsAsked.map { $0.offset } == [3])
    try collect("a", "b")
    fetch()
    #expect(agent.streamAnswers.last??.status == .cancelled, "nothing is fetched any more")
  }

  @Test func `R7.6: the app that gets it fetches its attachments from the agent, until it has answered`() throws {
    try ask(Self.two)
    try collect("a", "b")
    let viewer = world.open("viewer")
    viewer.answersContinue = false
    viewer.acceptDeliveries(true)
    world.settle()
    let from = try #require(viewer.continued.first).from
    func fetch(_ app: TestApp, _ name: String?) {
      let part = name.map { Message.AttachmentPart(name: $0, offset: 0) }
      world.tell(app) {
        $0.askStream(world.identifier(), from, attachment: part, otherEnd: app.makeStream(), timeout: nil, $1)
      }
    }
    fetch(viewer, "a")
    let request = try #require(agent.served.first)
    #expect(request.attachment?.name == "a" && request.continuationID.ofDelivery == from.continuation)
    agent.engine.answer(request, nil)
    world.settle()
    #expect(viewer.streamAnswers.map { $0.error?.status } == [nil])
    fetch(viewer, nil)
    #expect(viewer.streamAnswers.last?.error?.status == .connectionUnavailable, "only the origin has streams")
    fetch(world.open("other"), "a")
    world.tell(viewer) { $0.answer(from.continuation, handled: true, restored: true, $1) }
    fetch(viewer, "a")
    #expect(viewer.streamAnswers.last?.error?.status == .notFound)
    #expect(agent.served.count == 1, "nobody else gets it")
  }
}
