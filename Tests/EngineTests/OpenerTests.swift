// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Files that the agent hands to programs which take no part in Handoff (R13.7).
@Suite final class OpenerTests: InboxScene {
  private let editing = "SegueActivityTypeEditingText"

  private func info(_ text: String?, line: Int64 = 7) throws -> Value {
    var entries: [(key: Value, value: Value)] = [
      (key: .string("url"), value: try .url("file:///home/ada/budget.md")),
      (key: .string("line"), value: .integer(line)),
    ]
    if let text { entries.append((key: .string("text"), value: .string(text))) }
    return try .dictionary(entries)
  }

  private func offerFile(_ text: String? = nil) throws -> Identifier {
    agent.app = ChosenApp(bundleIdentifier: "opener:com.example.kate", name: "Kate", types: [], form: .document)
    let id = world.identifier()
    var activity = try Activity(type: editing)
    try activity.setUserInfo(try info(text), limit: Limits.value)
    editor.add(activity, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.settle()
    return id
  }

  private var shown: [String] {
    agent.documents.map { opened in opened.document.values.map { "\($0.key)=\($0.text)" }.joined(separator: " ") }
  }

  @Test func `a program is started once with the file and its place, and nothing says more (R13.7)`() throws {
    let id = try offerFile()
    world.ask(agent, for: id)
    #expect(shown == ["url=file:///home/ada/budget.md line=7"] && agent.launches.isEmpty)
    #expect(agent.inbox.open.isEmpty && agent.answers.isEmpty, "its entry ends before, not after")
    let continuation = try #require(agent.documents.first?.continuation)
    agent.engine.shown(continuation, nil, world.now)
    world.settle()
    #expect(agent.outcomes == [.unknown] && editor.receipts.map { $0.outcome } == [.unknown])
    #expect(editor.receipts.first?.reason.contains("Kate was started with the file") == true)
    world.wait(60_000)
    #expect(agent.documents.count == 1 && agent.inbox.owed.isEmpty && agent.answers.count == 1)
  }

  @Test func `R13.4: the file is where the user's folder is here`() throws {
    editor.containers = try containers("/home/ada")
    agent.folders = try containers("/srv/ada")
    world.ask(agent, for: try offerFile())
    #expect(shown == ["url=file:///srv/ada/budget.md line=7"])
  }

  private func containers(_ folder: String) throws -> Containers {
    var containers = Containers()
    try containers.add(Container(identifier: "notes", folder: folder, realFolder: nil))
    return containers
  }

  @Test func `the file is the one that the origin says when it is asked (R13.7)`() throws {
    let id = try offerFile()
    editor.onSave = { editor in
      editor.change(id) { try? $0.setUserInfo(try self.info(nil, line: 9), limit: Limits.value) }
    }
    world.ask(agent, for: id)
    #expect(shown == ["url=file:///home/ada/budget.md line=9"])
  }

  @Test func `text that is in no file is left behind only if somebody has said so (R13.7)`() throws {
    let id = try offerFile("unsaved")
    world.ask(agent, for: id)
    guard case .failure(let error)? = agent.answers.first else { return #expect(Bool(false), "it was opened") }
    #expect(error.message.contains("was changed and not saved") && shown.isEmpty && agent.inbox.entries.isEmpty)
    #expect(editor.receipts.map { $0.outcome } == [.declined])
    world.ask(agent, for: id, leavesText: true)
    #expect(shown == ["url=file:///home/ada/budget.md line=7"])
  }

  @Test func `one requester's word that text stays behind is enough (R13.7, R3.8)`() throws {
    let id = try offerFile("unsaved")
    let numbers = (0..<2).map { _ in agent.takeNumber() }
    for (index, number) in numbers.enumerated() {
      agent.engine.continue(
        AgentContinuationRequest(number: number, activity: id, leavesText: index == 1), world.now)
    }
    world.settle()
    #expect(shown == ["url=file:///home/ada/budget.md line=7"])
  }

  @Test func `a long text that is not saved does not stay behind unnoticed, either (R13.7)`() throws {
    var activity = try Activity(type: editing)
    try activity.setUserInfo(try info(nil), limit: Limits.value)
    #expect(try OpenedDocument(activity, leavesText: false).path == "/home/ada/budget.md")
    try activity.attach(Attachment(name: "text", size: 70_000))
    #expect(throws: SegueError.self) { try OpenedDocument(activity, leavesText: false) }
    #expect(try OpenedDocument(activity, leavesText: true).path == "/home/ada/budget.md")
  }

  @Test func `a program that cannot be started is a failure, and nothing waits (R13.7)`() throws {
    let id = try offerFile()
    world.ask(agent, for: id)
    let continuation = try #require(agent.documents.first?.continuation)
    agent.engine.shown(continuation, SegueError(.notFound, "/home/ada/budget.md: No such file"), world.now)
    world.settle()
    #expect(agent.outcomes == [nil] && editor.receipts.map { $0.outcome } == [.failed])
    guard case .failure(let error)? = agent.answers.first else { return #expect(Bool(false), "it was opened") }
    #expect(error.message.contains("No such file"))
    #expect(
      editor.receipts.first?.reason.contains("budget") == false, "the origin does not learn which files there are")
    #expect(agent.inbox.open.isEmpty)
  }

  /// The agent dies at each step of the disk, and comes back; then an app of the same name opens.
  @Test(arguments: 0..<6) func `kills around the opening of a file open it once at most (R13.7)`(steps: Int) throws {
    let id = try offerFile()
    agent.isStuck = true
    world.ask(agent, for: id)
    for _ in 0..<steps {
      agent.isStuck = false
      _ = agent.poll()
      agent.isStuck = true
      world.settle()
    }
    let opened = agent.documents.count
    let inbox = agent.inbox
    world.killAgent()
    world.wait(2_000)
    let next = world.startAgent(inbox)
    next.app = agent.app
    world.wait(5_000)
    let app = world.open("kate")
    accept(app)
    world.wait(5_000)
    #expect(next.documents.isEmpty && opened + app.continued.count <= 1)
  }
}
