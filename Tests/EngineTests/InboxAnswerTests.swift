// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueFleet

/// R3.8: answers and connections that come and go while hubs change.
@Suite struct InboxAnswerTests {
  private let world = World()
  private let agent: TestAgent
  private let editor: TestApp
  private let viewer: TestApp

  /// An app has what has waited, and has not answered.
  init() throws {
    agent = world.startAgent()
    editor = world.open("editor")
    world.ask(agent, for: try world.offer("one", by: editor))
    viewer = world.open("viewer")
    viewer.answersContinue = false
    viewer.acceptDeliveries(true)
    world.settle()
    try #require(viewer.continued.count == 1)
  }

  private func answer(restored: Bool = true) {
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: restored, $1) }
  }

  @Test func `R3.8: an answer that only the hub of an app has heard reaches the next agent`() {
    world.killAgent()
    world.startHub()
    world.wait(5_000)
    answer()
    world.wait(5_000)
    let next = world.startAgent(agent.inbox)
    world.wait(5_000)
    #expect(next.inbox.open.isEmpty && viewer.continued.count == 1)
    #expect(editor.receipts.map { $0.outcome } == [.restored])
  }

  @Test func `R3.6: a handler that breaks has not restored, and whoever asks hears of it at once (R3.8)`() throws {
    let broken = SegueError(.handoffFailed, "it broke")
    world.tell(viewer) {
      $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, failure: broken, $1)
    }
    let report = try #require(agent.answers.first).get()
    #expect(report.outcome == .unknown && report.error?.message.hasPrefix("it broke") == true)
    #expect(agent.inbox.open.count == 1, "it waits for the app")
  }

  @Test func `R3.6: what the agent has sent is restored, although the disk has not noted that`() throws {
    // Another app gets what waits while the disk is full.
    agent.app = ChosenApp(bundleIdentifier: "com.example.second", name: "second", types: [])
    world.ask(agent, for: try world.offer("two", by: world.open("writer")))
    let second = world.open("second")
    second.answersContinue = false
    agent.inbox.refusesSent = true
    second.acceptDeliveries(true)
    world.settle()
    try #require(second.continued.count == 1)
    world.tell(second) { $0.answer(second.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(agent.outcomes.last == .restored && agent.inbox.open.count == 1)
  }

  @Test func `R3.8: an app that the hub loses for a moment gets nothing twice`() {
    answer(restored: false)
    #expect(agent.inbox.open.count == 1)
    for end in [0, 1] { viewer.process.connection?.finish(end, world.fleet) }
    world.wait(2_000)
    #expect(agent.openings == ["editor", "viewer", "viewer"])
    #expect(viewer.continued.count == 1 && agent.inbox.open.count == 1)
    agent.engine.retry(agent.inbox.entries[0].record.continuation)
    world.settle()
    #expect(viewer.continued.count == 2, "but if the user asks")
  }
}
