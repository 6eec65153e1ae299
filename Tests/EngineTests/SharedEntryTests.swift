// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// R3.8: requesters of one offer for one app share an entry while it is unanswered.
@Suite final class SharedEntryTests: InboxScene {
  private func answerSave() { world.tell(editor) { [save = editor.pendingSaves[0]] in $0.saved(save, $1) } }

  /// Whether each answer says that the entry is shared, in their order. Nil: the answer is an error.
  private func isShared(_ agent: TestAgent) -> [Bool?] { agent.answers.map { try? $0.get().isShared } }

  private func failures(_ agent: TestAgent) -> [Status?] {
    agent.answers.map { if case .failure(let error) = $0 { error.status } else { nil } }
  }

  @Test func `R3.8: two choosers have it continued once, under one name`() throws {
    world.ask(agent, for: activity, principal: .process(7))
    world.ask(agent, for: activity, principal: .process(8))
    #expect(agent.inbox.entries.count == 1)
    let viewer = openViewer()
    #expect(viewer.continued.count == 1 && agent.outcomes == [.restored, .restored])
    #expect(isShared(agent) == [false, true] && agent.begun.map { $0.isShared } == [false, true])
    let continuation = try #require(viewer.continued.first?.from.continuation)
    #expect(agent.answers.map { try? $0.get().continuation } == [continuation, continuation])
    #expect(editor.receipts.map { $0.continuation } == [continuation])
  }

  @Test func `R3.8: two that ask while the disk is still asked, or the origin, share it`() throws {
    agent.isStuck = true
    world.ask(agent, for: activity)
    world.ask(agent, for: activity)
    #expect(agent.begun.isEmpty)
    editor.answersSaves = false
    agent.isStuck = false
    world.settle()
    world.ask(agent, for: activity)
    #expect(agent.begun.map { $0.isShared } == [false, true, true])
    #expect(Set(agent.begun.map { $0.continuation }).count == 1)
    #expect(editor.pendingSaves.count == 1, "the origin is asked once")
    answerSave()
    #expect(agent.inbox.entries.count == 1 && agent.launches.count == 1)
    _ = openViewer()
    #expect(agent.outcomes == [.restored, .restored, .restored])
  }

  @Test func `R3.8: a push shares what a chooser has asked for, and is answered at once`() throws {
    world.ask(agent, for: activity)
    let number = world.ask(agent, for: activity, isPush: true)
    let push = try #require(agent.begun.last)
    #expect(push.number == number && push.isShared && push.continuation == agent.begun.first?.continuation)
    #expect(agent.answers.isEmpty && agent.inbox.entries.count == 1)
  }

  @Test func `R3.8: an entry whose first requester has given up is shared, and its app is started again`() throws {
    world.ask(agent, for: activity, timeout: 5_000)
    world.wait(5_000)
    #expect(agent.outcomes == [.unknown] && editor.receipts.map { $0.outcome } == [.unknown])
    world.ask(agent, for: activity)
    #expect(agent.inbox.entries.count == 1 && agent.launches.count == 2)
    let viewer = openViewer()
    #expect(viewer.continued.count == 1 && agent.outcomes == [.unknown, .restored] && isShared(agent).last == true)
    #expect(editor.receipts.count == 1, "the origin gets one receipt")
    world.ask(agent, for: activity)
    #expect(agent.inbox.entries.count == 2 && agent.begun.last?.isShared == false, "the first one is answered")
  }

  @Test func `R3.8: who waits for an entry that the user removes is told, and the next one begins anew`() throws {
    world.ask(agent, for: activity)
    world.ask(agent, for: activity)
    let removed = try #require(agent.inbox.entries.first?.record.continuation)
    agent.inbox.entries.removeAll { $0.record.continuation == removed }
    agent.engine.removed(removed, world.now)
    world.settle()
    #expect(agent.outcomes == [.declined, .declined] && editor.receipts.map { $0.outcome } == [.declined])
    world.ask(agent, for: activity)
    #expect(agent.begun.last?.isShared == false && agent.begun.last?.continuation != removed)
    let viewer = openViewer()
    #expect(viewer.continued.count == 1 && agent.outcomes.last == .restored)
  }

  @Test func `R3.8: one that joins what has expired is told, and waits for nothing`() throws {
    world.ask(agent, for: activity)
    agent.inbox.entries = []
    world.ask(agent, for: activity)
    #expect(agent.outcomes == [.failed, .failed] && agent.launches.count == 1)
  }

  @Test func `R3.8: the entry of a former agent is shared`() throws {
    world.ask(agent, for: activity)
    world.killAgent()
    let next = world.startAgent(agent.inbox)
    world.wait(5_000)
    world.ask(next, for: activity)
    #expect(next.inbox.entries.count == 1 && next.begun.map { $0.isShared } == [true])
    #expect(next.begun.first?.continuation == next.inbox.entries.first?.record.continuation)
    let viewer = openViewer()
    #expect(viewer.continued.count == 1 && next.outcomes == [.restored])
  }

  @Test func `R3.8: a saved activity that is opened twice is continued once`() throws {
    agent.app = ChosenApp(bundleIdentifier: "com.example.editor", name: "editor", types: [])
    let document = try ActivityDocument.encode(try Activity(type: "com.example.note"), Containers())
    for number: UInt64 in 100..<102 {
      let request = try SavedStartRequest(
        number: number, activity: activity, document: document, app: "com.example.editor", team: "TEAM",
        appName: "Editor")
      agent.engine.open(request, world.now)
    }
    world.settle()
    #expect(agent.inbox.entries.count == 1 && agent.begun.map { $0.isShared } == [false, true])
  }

  @Test func `R3.8: each requester waits by its own time`() throws {
    world.ask(agent, for: activity, timeout: 5_000)
    world.ask(agent, for: activity, timeout: 12_000)
    world.ask(agent, for: activity, timeout: 2_000)
    world.wait(2_000)
    #expect(agent.outcomes == [.unknown])
    world.wait(3_000)
    #expect(agent.outcomes == [.unknown, .unknown] && editor.receipts.isEmpty)
    world.wait(6_000)
    _ = openViewer()
    #expect(agent.outcomes == [.unknown, .unknown, .restored] && editor.receipts.map { $0.outcome } == [.restored])
  }

  @Test func `R3.8: the origin may take as long as the most patient requester waits`() throws {
    editor.answersSaves = false
    world.ask(agent, for: activity, timeout: 1_000)
    world.ask(agent, for: activity, timeout: 20_000)
    world.wait(1_000)
    #expect(failures(agent) == [.remoteApplicationTimedOut] && agent.inbox.entries.isEmpty)
    world.wait(2_000)
    answerSave()
    _ = openViewer()
    #expect(agent.outcomes == [nil, .restored] && editor.receipts.map { $0.outcome } == [.restored])
  }

  @Test func `R3.8: a cancel by one requester ends only its wait`() throws {
    editor.answersSaves = false
    let first = world.ask(agent, for: activity)
    world.ask(agent, for: activity)
    agent.engine.abandon(first, world.now)
    world.settle()
    #expect(failures(agent) == [.userCancelled] && editor.receipts.isEmpty)
    answerSave()
    #expect(agent.inbox.entries.count == 1 && agent.launches.count == 1)
    _ = openViewer()
    #expect(agent.outcomes == [nil, .restored] && agent.engine.leak == nil)
  }

  @Test func `R3.8: a launch that fails reaches all that wait, also if the app that asked for it has ended`() throws {
    world.ask(agent, for: activity)
    let last = world.ask(agent, for: activity)
    // The second launch is for the one that asked last.
    agent.engine.abandon(last, world.now)
    world.settle()
    let continuation = try #require(agent.launched.last)
    agent.engine.launched(continuation, SegueError(.system, "launch: no program"), world.now)
    world.settle()
    #expect(failures(agent) == [.userCancelled, .system] && agent.inbox.open.count == 1)
    #expect(agent.inbox.entries.map { $0.isDelivered } == [false], "no app has it")
    #expect(agent.inbox.entries.map { $0.attempts } == [0])
    _ = openViewer()
    #expect(editor.receipts.map { $0.outcome } == [.restored], "the entry stays")
  }

  @Test func `R3.8: an app that has failed gets the entry again when somebody asks once more`() throws {
    world.ask(agent, for: activity)
    let viewer = openViewer(answers: false)
    try #require(viewer.continued.count == 1)
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: false, $1) }
    #expect(agent.outcomes == [.unknown] && agent.inbox.open.count == 1)
    world.wait(5_000)
    #expect(viewer.continued.count == 1, "not by itself")
    world.ask(agent, for: activity)
    #expect(viewer.continued.count == 2)
  }

  @Test func `R3.8: one that asks while the receipt is being decided has a time of its own`() throws {
    world.ask(agent, for: activity, timeout: 5_000)
    let viewer = openViewer(answers: false)
    agent.isStuck = true
    world.wait(5_000)
    #expect(agent.outcomes == [.unknown], "the disk does not say that the receipt is decided")
    let number = world.ask(agent, for: activity, timeout: 8_000)
    world.wait(7_990)
    #expect(agent.outcomes == [.unknown])
    world.wait(10)
    #expect(agent.outcomes == [.unknown, .unknown] && agent.begun.last?.number == number)
    agent.isStuck = false
    world.settle()
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(agent.outcomes == [.unknown, .unknown] && editor.receipts.map { $0.outcome } == [.unknown])
    #expect(agent.engine.leak == nil)
  }

  @Test func `R3.8: once the receipt is being decided, each requester has its own deadline`() throws {
    let offer = try #require(openViewer().engine.offers.all.first)
    let app = ChosenApp(bundleIdentifier: "com.example.viewer", name: "viewer", types: [])
    func requester(_ number: UInt64, until deadline: Int64) -> AgentContinuation.Requester {
      AgentContinuation.Requester(number: number, principal: nil, deadline: deadline, isShared: number > 1)
    }
    let id = Identifier(high: 7, low: 9)
    var start = AgentContinuation(
      requester(1, until: 1_000), id, offer, in: app, .fetch, leavesText: false, usual: 20_000, nil,
      Instant(uptime: 0, date: 0))
    start.phase = .storing
    start.decision = (.unknown, SegueError(.remoteApplicationTimedOut, "late"))
    start.join(requester(2, until: 9_000))
    #expect(start.nextDeadline == 1_000)
    #expect(start.takeOverdue(Instant(uptime: 1_000, date: 0))?.number == 1)
    #expect(start.nextDeadline == 9_000)
    #expect(start.takeOverdue(Instant(uptime: 9_000, date: 0))?.number == 2 && start.nextDeadline == nil)
  }

  @Test(arguments: [false, true])
  func `an activity of another type is not stored, unless its app declares that (R2.6, R3.6)`(
    isDeclared: Bool
  ) throws {
    if isDeclared {
      agent.app = ChosenApp(bundleIdentifier: "com.example.viewer", name: "viewer", types: ["com.example.other"])
    }
    editor.add(try Activity(type: "com.example.other"), as: activity)
    world.ask(agent, for: activity)
    #expect(agent.inbox.entries.count == (isDeclared ? 1 : 0) && agent.launches.count == (isDeclared ? 1 : 0))
    #expect(failures(agent) == (isDeclared ? [] : [.malformed]))
    guard !isDeclared else { return }
    #expect(editor.receipts.map { $0.outcome } == [.failed] && editor.receipts.map { $0.status } == [.malformed])
    // The offer is right again, and is fetched again.
    editor.add(try Activity(type: "com.example.note"), as: activity)
    world.ask(agent, for: activity)
    _ = openViewer()
    #expect(agent.outcomes.last == .restored && agent.engine.leak == nil)
  }

  @Test func `an entry of a type that its app does not take ends (R2.6, R3.8)`() throws {
    // The manifest declares a type that the process does not declare.
    agent.app = ChosenApp(bundleIdentifier: "com.example.viewer", name: "viewer", types: ["com.example.other"])
    editor.add(try Activity(type: "com.example.other"), as: activity)
    world.ask(agent, for: activity)
    let viewer = openViewer()
    #expect(viewer.takeEvents().contains("did_fail malformed") && agent.inbox.open.isEmpty)
    #expect(agent.outcomes == [.failed] && editor.receipts.map { $0.outcome } == [.failed])
    #expect(editor.receipts.map { $0.status } == [.malformed])
    // Another process of the app does not get it, and another requester does not share it.
    world.close(viewer)
    let other = openViewer()
    #expect(other.takeEvents().allSatisfy { !$0.hasPrefix("did_fail") })
    editor.add(try Activity(type: "com.example.note"), as: activity)
    world.ask(agent, for: activity)
    #expect(other.continued.count == 1 && agent.outcomes == [.failed, .restored])
    #expect(agent.begun.last?.isShared == false && agent.engine.leak == nil)
  }

  @Test func `R3.8: the last one that cancels while the disk is asked leaves nothing behind`() {
    agent.isStuck = true
    let number = world.ask(agent, for: activity)
    agent.engine.abandon(number, world.now)
    agent.isStuck = false
    world.settle()
    #expect(failures(agent) == [.userCancelled] && agent.engine.leak == nil)
    #expect(editor.receipts.isEmpty && agent.inbox.entries.isEmpty, "the origin was never asked")
  }

  @Test func `R3.8: a disk that does not answer fails the requester by its time`() {
    agent.isStuck = true
    world.ask(agent, for: activity, timeout: 3_000)
    world.wait(3_000)
    #expect(failures(agent) == [.remoteApplicationTimedOut] && agent.engine.leak == nil)
    agent.isStuck = false
    world.settle()
    #expect(agent.begun.isEmpty && agent.inbox.entries.isEmpty)
  }

  @Test func `R3.8: what an app has crashed on three times it gets again if somebody asks`() throws {
    world.ask(agent, for: activity)
    for _ in 0..<3 { world.kill(openViewer(answers: false)) }
    let viewer = openViewer()
    #expect(viewer.continued.isEmpty && agent.inbox.open.map { $0.crashes } == [3])
    world.ask(agent, for: activity)
    #expect(viewer.continued.map { $0.from.isRedelivered } == [true] && agent.inbox.entries.count == 1)
  }

  @Test func `R3.8: an app that has not answered yet is not told again`() throws {
    world.ask(agent, for: activity)
    let viewer = openViewer(answers: false)
    world.ask(agent, for: activity)
    #expect(viewer.continued.count == 1 && agent.inbox.open.map { $0.attempts } == [1])
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(viewer.continued.count == 1 && agent.outcomes == [.restored, .restored])
  }

  @Test func `R3.8: a newer state of the offer changes nothing, another app has an entry of its own`() throws {
    world.ask(agent, for: activity)
    editor.change(activity) { try? $0.setTitle("two") }
    world.wait(1_000)
    world.ask(agent, for: activity)
    #expect(agent.inbox.entries.count == 1)
    agent.app = ChosenApp(bundleIdentifier: "com.example.other", name: "other", types: [])
    world.ask(agent, for: activity)
    #expect(agent.inbox.entries.count == 2 && agent.begun.map { $0.isShared } == [false, true, false])
    #expect(openViewer().continued.map { $0.activity.title } == ["one"])
  }

  @Test func `a process has a quarter of the requesters, also where they share (section 9)`() {
    for _ in 0..<10 { world.ask(agent, for: activity, principal: .process(7)) }
    #expect(agent.begun.count == 8 && failures(agent) == [.limitExceeded, .limitExceeded])
    world.ask(agent, for: activity, principal: .process(8))
    #expect(agent.begun.count == 9 && agent.inbox.entries.count == 1)
  }
}
