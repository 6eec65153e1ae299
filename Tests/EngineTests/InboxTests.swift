// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueEngine
import SegueModel
import SegueWire
import Testing

/// R3.8: a receiver whose app is not running.
@Suite final class InboxTests: InboxScene {
  @Test func `an agent gets the last 16 failures that no host was told of, with their dates (R3.13)`() throws {
    let world = World()
    let viewer = world.open("viewer")
    func fail(_ numbers: Range<Int>) {
      for number in numbers {
        world.tell(viewer) { $0.reportUnheard("com.example.\(number)", SegueError(.handoffFailed, "why"), $1) }
      }
    }
    // Without a hub, then by one that an app carries: they wait for an agent, as many as it keeps.
    fail(0..<10)
    world.startHub()
    fail(10..<20)
    let failed = world.now.date
    world.wait(3_600_000)
    #expect(world.unheardFailures.isEmpty)
    _ = world.startAgent()
    #expect(world.unheardFailures.map { $0.type } == (4..<20).map { "com.example.\($0)" })
    for failure in world.unheardFailures { #expect(abs(failure.date - failed) < 1, "an hour ago") }
    fail(20..<21)
    let last = try #require(world.unheardFailures.last)
    #expect(last.type == "com.example.20" && last.appName == "viewer" && last.error.message == "why")
    #expect(last.date == world.now.date)
  }

  @Test(arguments: [false, true])
  func `a failure that comes again and again pushes out no other one (R3.13)`(isEqual: Bool) {
    let world = World()
    let viewer = world.open("viewer")
    world.tell(viewer) { $0.reportUnheard("com.example.other", SegueError(.handoffFailed, "why"), $1) }
    for number in 0..<100 {
      world.wait(1_000)
      let error = SegueError(.handoffFailed, "why \(isEqual ? 0 : number)")
      world.tell(viewer) { $0.reportUnheard("com.example.many", error, $1) }
    }
    let last = world.now.date
    _ = world.startAgent()
    let told = world.unheardFailures
    #expect(told.first?.type == "com.example.other" && told.count == (isEqual ? 2 : UnheardFailure.limit))
    #expect(told.last.map { abs($0.date - last) < 1 } == true, "the last of them counts")
  }

  @Test(arguments: [0, 60_000, 366 * 86_400_000 + 1, .max] as [Int64])
  func `a failure is no older than a year, whatever an app says (R3.13)`(age: Int64) throws {
    let viewer = try RawPeer(app: "viewer", in: world)
    try viewer.say(.failure(type: "com.example.note", SegueError(.handoffFailed, "why"), age: age))
    world.settle()
    let date = try #require(world.unheardFailures.last).date
    #expect(date == world.now.date - min(Double(age) / 1_000, 366 * 86_400))
  }

  /// Another app for each number: requesters of one offer for one app would share an entry.
  private func chooseApp(_ number: Int) {
    agent.app = ChosenApp(bundleIdentifier: "com.example.viewer\(number)", name: "viewer", types: [])
  }

  @Test func `R3.8: it is stored, then launched, then delivered, then acknowledged`() throws {
    world.ask(agent, for: activity)
    #expect(agent.inbox.open.count == 1 && agent.launches == ["com.example.viewer"] && agent.answers.isEmpty)
    let viewer = openViewer()
    #expect(viewer.continued.first?.activity.title == "one")
    #expect(viewer.events.filter { $0 == "will_continue" || $0 == "continue" } == ["will_continue", "continue"])
    let from = try #require(viewer.continued.first?.from)
    #expect(!from.isRedelivered && from.offer.appName == "editor")
    #expect(agent.inbox.open.isEmpty && agent.outcomes == [.restored])
    #expect(agent.answers.first.map { try? $0.get().isStale } == false)
    #expect(editor.receipts.map { $0.outcome } == [.restored])
    let receipt = try #require(editor.receipts.first)
    #expect(receipt.continuation == from.continuation, "the app and the origin know it by one name")
    #expect(receipt.receiver.appName == "viewer" && receipt.receiver.bundleIdentifier == "com.example.viewer")
    #expect(editor.events.contains("was_continued"))
  }

  @Test func `the agent knows the team of the offer and the apps that are open`() throws {
    _ = world.open("other")
    world.ask(agent, for: activity)
    let choice = try #require(agent.choices.first)
    #expect(choice.team == "TEAM" && choice.running.map { $0.name } == ["editor", "other"])
    #expect(choice.running.allSatisfy { $0.declares("com.example.note") })
  }

  @Test(arguments: [false, true])
  func `who asks learns that the app has got an older state, and why (R2.4, R3.8)`(isWaiting: Bool) throws {
    world.wait(3_000)
    editor.answersSaves = false
    editor.change(activity) { $0.markNeedsSave(true) }
    world.ask(agent, for: activity, timeout: 5_000)
    world.tell(editor) { $0.saveFailed(editor.pendingSaves.last ?? 0, because: "disk full", $1) }
    world.settle()
    if isWaiting {
      world.wait(5_000)
      // Others ask for what waits: the inbox knows that it is stale, and not why.
      world.ask(agent, for: activity, timeout: 5_000)
      world.wait(5_000)
      world.ask(agent, for: activity)
    }
    let viewer = openViewer()
    #expect(viewer.continued.last?.from.isStale == true)
    let reports = try agent.answers.map { try $0.get() }
    #expect(reports.map { $0.outcome } == (isWaiting ? [.unknown, .unknown, .restored] : [.restored]))
    #expect(reports.allSatisfy { $0.isStale })
    #expect(reports.first?.staleReason == "the origin could not save: disk full")
    #expect(reports.dropFirst().allSatisfy { $0.staleReason == nil })
  }

  @Test func `R3.8: an entry waits for the handler, not for the open`() {
    world.ask(agent, for: activity)
    let viewer = openViewer(accepts: false)
    world.wait(5_000)
    #expect(viewer.continued.isEmpty && agent.inbox.open.count == 1)
    accept(viewer)
    #expect(viewer.continued.count == 1 && agent.inbox.open.isEmpty)
  }

  @Test func `an app that is open is not launched`() {
    let viewer = openViewer()
    world.ask(agent, for: activity)
    #expect(agent.launches.isEmpty && viewer.continued.count == 1 && agent.outcomes == [.restored])
  }

  @Test func `R3.8: an answer after the deadline leaves the origin with unknown, and ends the entry`() {
    world.ask(agent, for: activity)
    let viewer = openViewer(answers: false)
    world.wait(20_000)
    #expect(editor.receipts.map { $0.outcome } == [.unknown] && agent.outcomes == [.unknown])
    #expect(agent.inbox.open.count == 1)
    world.wait(60_000)
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(agent.inbox.open.isEmpty, "a late answer counts")
    #expect(editor.receipts.count == 1, "the origin gets one receipt")
  }

  @Test func `R3.8: a crash of the app delivers again, under the same name, marked`() throws {
    world.ask(agent, for: activity)
    let first = openViewer(accepts: false)
    first.answersContinue = false
    accept(first)
    world.kill(first)
    #expect(agent.inbox.open.map { $0.crashes } == [1])
    let second = openViewer()
    let (one, two) = (try #require(first.continued.first), try #require(second.continued.first))
    #expect(one.from.continuation == two.from.continuation)
    #expect(!one.from.isRedelivered && two.from.isRedelivered)
    #expect(agent.inbox.open.isEmpty && editor.receipts.map { $0.outcome } == [.restored])
    #expect(openViewer().continued.isEmpty, "never after its acknowledgement")
  }

  @Test func `R3.8: after three crashes an app gets an entry only when the user asks`() {
    world.ask(agent, for: activity)
    for _ in 0..<3 {
      let viewer = openViewer(answers: false)
      world.kill(viewer)
    }
    let viewer = openViewer()
    #expect(viewer.continued.isEmpty && agent.inbox.open.count == 1)
    agent.inbox.entries[0].crashes = 0
    agent.engine.retry(agent.inbox.entries[0].record.continuation)
    world.settle()
    #expect(viewer.continued.count == 1)
  }

  @Test func `R3.8: a crash of the agent loses nothing, and delivers nothing twice to one process`() throws {
    world.ask(agent, for: activity)
    world.killAgent()
    let second = world.startAgent(agent.inbox)
    let viewer = openViewer(answers: false)
    #expect(viewer.continued.map { $0.from.isRedelivered } == [true], "the former agent has begun to deliver it")
    world.killAgent()
    let third = world.startAgent(second.inbox)
    #expect(viewer.continued.count == 1, "the app has it")
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(third.inbox.open.isEmpty)
    world.wait(60_000)
    #expect(editor.receipts.map { $0.outcome } == [.restored], "the origin knows the agent after a restart, too")
  }

  @Test func `an answer while there is no agent reaches the next one`() {
    world.ask(agent, for: activity)
    let viewer = openViewer(answers: false)
    world.killAgent()
    world.wait(60_000)
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    world.wait(60_000)
    let next = world.startAgent(agent.inbox)
    #expect(next.inbox.open.isEmpty && viewer.continued.count == 1)
  }

  @Test func `R3.3: a cancel of the user acknowledges nothing`() {
    world.ask(agent, for: activity)
    let viewer = world.open("viewer")
    viewer.holdsAnnouncement = true
    accept(viewer)
    let id = agent.inbox.entries[0].record.continuation
    world.tell(viewer) { $0.cancel(id, SegueError(.userCancelled, "the user cancelled"), $1) }
    world.tell(viewer) { $0.announced(id, decline: nil, $1) }
    #expect(viewer.events.contains("did_fail userCancelled") && viewer.continued.isEmpty)
    #expect(agent.inbox.open.map { $0.crashes } == [0] && !agent.inbox.open[0].isDelivered)
    world.close(viewer)
    #expect(openViewer().continued.map { $0.from.isRedelivered } == [true])
  }

  @Test func `R3.3: what the user begins next does not end a delivery that waits for its answer`() throws {
    world.ask(agent, for: activity)
    let viewer = openViewer(answers: false)
    viewer.answersContinue = true
    _ = try world.continue(in: viewer)
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(viewer.continued.count == 2 && agent.inbox.open.isEmpty)
  }

  @Test func `what one process has failed to restore goes to another`() {
    world.ask(agent, for: activity)
    let first = world.open("viewer")
    first.restores = false
    accept(first)
    #expect(first.continued.count == 1 && agent.inbox.open.count == 1)
    #expect(openViewer().continued.map { $0.from.isRedelivered } == [true])
    #expect(agent.inbox.open.isEmpty && first.continued.count == 1)
  }

  @Test func `what an app cannot open stays in the inbox, and goes to another process of it (R3.5, R3.8)`() throws {
    world.ask(agent, for: activity)
    let first = openViewer(accepts: false)
    first.answersContinue = false
    accept(first)
    let id = first.continued[0].from.continuation
    world.tell(first) { engine, now in
      #expect(engine.beginOpening(id))
      engine.failOpening(id, SegueError(.handoffFailed, "its document is in no container of this app"), now)
    }
    #expect(first.takeEvents().last == "opening failed handoffFailed")
    #expect(agent.inbox.open.count == 1, "it is neither restored nor declined")
    #expect(openViewer().continued.map { $0.from.isRedelivered } == [true])
    #expect(agent.inbox.open.isEmpty)
  }

  @Test func `an app that closes has not crashed`() {
    world.ask(agent, for: activity)
    let viewer = openViewer(answers: false)
    world.close(viewer)
    #expect(agent.inbox.open.map { $0.crashes } == [0])
    #expect(openViewer().continued.count == 1)
  }

  @Test func `of several processes of an app the one that was in front last gets an entry (R12.3)`() throws {
    let viewers = [openViewer(), openViewer(), openViewer()]
    for index in 0..<2 { _ = try world.offer("of \(index)", by: viewers[index]) }
    world.ask(agent, for: activity)
    #expect(viewers.map { $0.continued.count } == [0, 1, 0])
    world.tell(viewers[0]) { $0.setForeground(true, $1) }
    world.wait(200)
    world.ask(agent, for: try world.offer("two", by: world.open("other")))
    #expect(viewers.map { $0.continued.count } == [1, 1, 0])
  }

  @Test func `R3.8: an app gets one entry at a time`() throws {
    world.ask(agent, for: activity)
    let other = world.open("other")
    let second = try world.offer("two", by: other)
    world.ask(agent, for: second)
    let viewer = openViewer(answers: false)
    #expect(viewer.continued.map { $0.activity.title } == ["one"])
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(viewer.continued.map { $0.activity.title } == ["one", "two"])
  }

  @Test func `what the app declines ends the entry, and the origin hears why`() {
    world.ask(agent, for: activity)
    let viewer = world.open("viewer")
    viewer.declineReason = "too new"
    accept(viewer)
    #expect(agent.inbox.open.isEmpty && agent.outcomes == [.declined])
    #expect(editor.receipts.map { $0.outcome } == [.declined] && editor.receipts.first?.reason == "too new")
  }

  @Test func `when nobody waits for it, nothing is fetched any more`() {
    editor.answersSaves = false
    let number = world.ask(agent, for: activity, timeout: 600_000)
    agent.engine.abandon(number, world.now)
    world.settle()
    #expect(editor.receipts.map { $0.outcome } == [.failed] && agent.inbox.entries.isEmpty)
    #expect(agent.engine.leak == nil, "no place is taken")
  }

  @Test func `R3.8: an entry that nobody waits for has the usual time`() {
    let number = world.ask(agent, for: activity, timeout: 600_000)
    world.wait(5_000)
    agent.engine.abandon(number, world.now)
    world.wait(10_000)
    #expect(editor.receipts.isEmpty)
    world.wait(5_000)
    #expect(editor.receipts.map { $0.outcome } == [.unknown] && agent.inbox.open.count == 1)
    #expect(openViewer().continued.count == 1, "nothing is lost")
  }

  @Test func `a process asks for a quarter of what an origin serves`() throws {
    let greedy = Principal.process(7)
    for number in 0..<4 {
      chooseApp(number)
      world.ask(agent, for: activity, timeout: 600_000, principal: greedy)
    }
    #expect(agent.inbox.open.count == 2)
    let errors = agent.answers.map { answer -> Status? in
      if case .failure(let error) = answer { error.status } else { nil }
    }
    #expect(errors == [.limitExceeded, .limitExceeded])
    chooseApp(4)
    world.ask(agent, for: activity, principal: .process(8))
    #expect(agent.inbox.open.count == 3, "others have room")
  }

  @Test func `a process asks for a quarter of what the agent does at a time`() throws {
    let greedy = Principal.process(7)
    for number in 0..<5 {
      let activity = try world.offer("\(number)", by: world.open("editor \(number)"))
      for app in 0..<2 {
        chooseApp(app)
        world.ask(agent, for: activity, timeout: 600_000, principal: greedy)
      }
    }
    #expect(agent.inbox.open.count == 8 && agent.answers.count == 2)
    world.ask(agent, for: activity, principal: .process(8))
    #expect(agent.inbox.open.count == 9, "others have room")
  }

  @Test func `R3.8: the inbox knows who has asked for an entry, whose share it takes`() throws {
    for (number, principal) in [Principal.process(7), .process(8), nil].enumerated() {
      chooseApp(number)
      world.ask(agent, for: activity, timeout: 600_000, principal: principal)
    }
    let principals = agent.inbox.entries.map { $0.record.principal }
    #expect(principals == [Principal.process(7).id, Principal.process(8).id, nil])
  }

  @Test func `a full disk is an error before anything is acknowledged`() {
    agent.inbox.failure = SegueError(.system, "inbox.db: the disk is full")
    world.ask(agent, for: activity)
    #expect(agent.inbox.entries.isEmpty && agent.launches.isEmpty)
    #expect(agent.outcomes == [nil] && editor.receipts.map { $0.outcome } == [.failed])
    #expect(editor.receipts.first?.reason == "inbox.db: the disk is full")
  }

  @Test func `an answer that the disk refuses is stored later`() {
    world.ask(agent, for: activity)
    let viewer = openViewer(answers: false)
    agent.inbox.failure = SegueError(.system, "inbox.db: the disk is full")
    world.tell(viewer) { $0.answer(viewer.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(viewer.continued.count == 1 && agent.inbox.open.count == 1 && agent.outcomes.isEmpty)
    world.wait(10_000)
    #expect(agent.inbox.open.count == 1)
    agent.inbox.failure = nil
    world.wait(9_000)
    #expect(agent.inbox.open.isEmpty && editor.receipts.map { $0.outcome } == [.restored])
  }

  @Test func `R3.8: a delivery whose end the disk refuses ends later, and lets the next process have the entry`() {
    world.ask(agent, for: activity)
    let first = openViewer(answers: false)
    agent.inbox.failure = SegueError(.system, "inbox.db: the disk is full")
    world.kill(first)
    agent.inbox.failure = nil
    // The disk has found no entry for it: one is with the process that was killed.
    let second = openViewer()
    #expect(agent.inbox.open.map { $0.isDelivered } == [true] && second.continued.isEmpty)
    world.wait(10_000)
    #expect(second.continued.map { $0.from.isRedelivered } == [true] && agent.inbox.open.isEmpty)
  }

  @Test func `R3.8: an entry that the disk cannot begin to deliver is looked for again`() {
    world.ask(agent, for: activity)
    world.kill(openViewer(answers: false))
    agent.inbox.failure = SegueError(.system, "inbox.db: the disk is full")
    let viewer = openViewer()
    agent.inbox.failure = nil
    #expect(viewer.continued.isEmpty && agent.inbox.open.map { $0.isDelivered } == [false])
    world.wait(10_000)
    #expect(viewer.continued.map { $0.from.isRedelivered } == [true] && agent.inbox.open.isEmpty)
  }

  @Test func `R3.8: what an open app does not take yet has not begun, and is not marked`() {
    let viewer = openViewer(accepts: false)
    world.ask(agent, for: activity)
    #expect(agent.inbox.open.map { $0.attempts } == [0] && agent.launches.isEmpty)
    world.killAgent()
    let next = world.startAgent(agent.inbox)
    accept(viewer)
    #expect(viewer.continued.map { $0.from.isRedelivered } == [false] && next.inbox.open.isEmpty)
  }

  @Test func `R3.8: a delivery that comes as the app takes none goes back at once`() throws {
    let hub = try RawHub()
    let continuation = hub.world.identifier()
    let offer = Offer(
      description: OfferDescription(hub.world.identifier(), "com.example.note"), origin: hub.world.identifier(),
      appName: "agent", bundleIdentifier: "org.segue.agent", deviceName: "here", rank: 0, activatedAt: 0)
    _ = try hub.heard()
    try hub.say(
      .deliver(
        Message.DeliverRequest(
          continuation: continuation, to: hub.app.engine.identity.id, offer: offer,
          timing: OfferTiming(age: 0, remaining: nil), milliseconds: 1_000, isRedelivered: false)))
    let answers = try hub.heard().compactMap { message -> (Identifier, Outcome)? in
      if case .outcome(let told, let outcome, _, _) = message { (told.id, outcome) } else { nil }
    }
    #expect(answers.map { $0.0 } == [continuation.ofDelivery] && answers.map { $0.1 } == [.failed])
    #expect(!hub.app.events.contains("will_continue"))
  }

  // MARK: Only what was sent can be restored (R3.6)

  /// A process of the viewer that lies, and what it was told to continue.
  private func liar(_ secret: Identifier? = nil) throws -> (RawPeer, Message.Continuation?) {
    let liar = try RawPeer(app: "viewer", as: secret, in: world)
    try liar.say(.accepts(true))
    let told = liar.heard.compactMap { message -> Message.Continuation? in
      guard case .deliver(let delivery) = message else { return nil }
      return Message.Continuation(
        id: delivery.continuation.ofDelivery, origin: delivery.offer.origin, activity: delivery.offer.description.id)
    }
    return (liar, told.last)
  }

  private func acknowledges(_ peer: RawPeer) -> Int {
    peer.heard.count { if case .outcomeAck = $0 { true } else { false } }
  }

  @Test func `R3.6: what an app has not fetched it has not restored`() throws {
    world.ask(agent, for: activity)
    let (liar, told) = try liar()
    try liar.say(.outcome(try #require(told), .restored, nil, receiver: nil))
    #expect(acknowledges(liar) == 1, "it counts as failed")
    #expect(agent.inbox.open.count == 1 && editor.receipts.isEmpty && agent.answers.isEmpty)
    let viewer = openViewer()
    #expect(viewer.continued.map { $0.from.isRedelivered } == [true], "another process gets it")
    #expect(editor.receipts.map { $0.outcome } == [.restored] && agent.inbox.open.isEmpty)
  }

  @Test func `R3.6: nor what it was not sent whole, even if it leaves at once`() throws {
    world.ask(agent, for: activity)
    let (liar, told) = try liar()
    let continuation = try #require(told)
    agent.isStuck = true
    try liar.say(
      .fetch(continuation, milliseconds: 1_000, receiver: nil), .outcome(continuation, .restored, nil, receiver: nil))
    liar.disconnect()
    agent.isStuck = false
    world.settle()
    #expect(agent.inbox.open.count == 1 && editor.receipts.isEmpty)
    #expect(openViewer().continued.count == 1 && agent.inbox.open.isEmpty)
  }

  @Test func `R3.6: nor what waits for its app`() throws {
    let liar = try RawPeer(app: "viewer", in: world)
    world.ask(agent, for: activity)
    let id = agent.inbox.entries[0].record.continuation
    let origin = Identifier(ofSecret: Identifier(high: 0xa6e, low: 1))
    try liar.say(
      .outcome(
        Message.Continuation(id: id.ofDelivery, origin: origin, activity: activity), .restored, nil, receiver: nil))
    #expect(agent.inbox.open.count == 1 && editor.receipts.isEmpty)
    #expect(openViewer().continued.count == 1)
  }

  @Test(arguments: [true, false])
  func `R3.6: a later agent believes an app that was sent the whole state, and no other`(fetches: Bool) throws {
    world.ask(agent, for: activity)
    let secret = world.identifier()
    let (first, told) = try liar(secret)
    let continuation = try #require(told)
    if fetches {
      try first.say(.fetch(continuation, milliseconds: 1_000, receiver: nil))
      world.wait(100)
    }
    world.killAgent()
    first.disconnect()
    let next = world.startAgent(agent.inbox)
    let (again, _) = try liar(secret)
    try again.say(.outcome(continuation, .restored, nil, receiver: nil))
    #expect(next.inbox.open.isEmpty == fetches)
    world.wait(60_000)
    #expect(editor.receipts.map { $0.outcome } == [fetches ? .restored : .unknown])
  }

  @Test func `R3.6: an answer counts though the disk does not say that the app was sent the state`() {
    world.ask(agent, for: activity)
    agent.inbox.failure = SegueError(.system, "inbox.db: the disk is full")
    let viewer = openViewer()
    #expect(viewer.continued.count == 1 && editor.receipts.isEmpty, "the app waits for no disk, its answer does")
    agent.inbox.failure = nil
    world.wait(10_000)
    #expect(agent.inbox.open.isEmpty && editor.receipts.map { $0.outcome } == [.restored])
  }

  // MARK: Apps that are awaited

  @Test func `R3.8: the delivery to an app that is started begins when its entry is stored`() {
    world.ask(agent, for: activity)
    #expect(agent.inbox.entries.map { $0.attempts } == [1])
    agent.isStuck = true
    let viewer = openViewer()
    #expect(viewer.events.contains("will_continue"), "the app waits for no disk")
    agent.isStuck = false
    world.settle()
    #expect(viewer.continued.map { $0.from.isRedelivered } == [false] && agent.inbox.open.isEmpty)
  }

  @Test func `R3.8: what an app that did not open has not heard of is not marked`() {
    world.ask(agent, for: activity)
    world.wait(PendingDeliveries.openingTime - 1)
    #expect(agent.inbox.entries.map { $0.isDelivered } == [true])
    world.wait(1)
    #expect(agent.inbox.entries.map { $0.isDelivered } == [false] && agent.inbox.entries.map { $0.attempts } == [0])
    #expect(openViewer().continued.map { $0.from.isRedelivered } == [false])
  }

  @Test func `R3.8: nor what the agent awaits an app for when it ends`() {
    world.ask(agent, for: activity)
    agent.engine.flush()
    world.settle()
    #expect(agent.inbox.entries.map { $0.attempts } == [0] && agent.inbox.open.count == 1)
  }

  @Test func `R3.8: an app that is awaited by two entries gets the older one first`() throws {
    world.ask(agent, for: activity)
    world.ask(agent, for: try world.offer("two", by: world.open("writer")))
    #expect(agent.inbox.entries.map { $0.attempts } == [1, 0])
    let viewer = openViewer()
    #expect(viewer.continued.map { $0.from.continuation } == agent.inbox.entries.map { $0.record.continuation })
    #expect(viewer.continued.allSatisfy { !$0.from.isRedelivered } && agent.inbox.open.isEmpty)
  }

  @Test func `a hub may say that any number of apps are open`() throws {
    #expect(try running(of: 4_200, in: { _ in nil }) == 4_096)
  }

  @Test func `the apps of one process are a quarter of those that the agent knows`() throws {
    let process = Principal.process(7).id
    #expect(try running(of: 1_100, in: { $0 < 1_050 ? process : Principal.process(8).id }) == 1_024 + 50)
  }

  /// The number of apps that an agent knows to be open if a hub says that `count` are, of these principals.
  private func running(of count: Int, in principal: (Int) -> Identifier?) throws -> Int {
    let other = TestAgent(TestInbox(), in: world)
    other.engine.connected(world.now)
    let hub = FramedConnection(side: .accepting)
    hub.send(try Message.welcome(version: ProtocolVersion.current, generation: 9, deviceName: "here").encoded())
    for number in 0..<count {
      let app = AppIdentity(
        known: Identifier(high: 1, low: UInt64(number)), bundleIdentifier: "com.example.\(number)", name: "", team: "",
        types: [])
      hub.send(try Message.present(app, accepts: true, principal: principal(number)).encoded())
    }
    while hub.takeOutput({ bytes in
      other.engine.receive(Array(bytes), world.now)
      return bytes.count
    }) {}
    return other.engine.runningApps.count
  }

  @Test func `a disk that hangs delays nothing but the entry`() {
    editor.answersSaves = false
    world.ask(agent, for: activity)
    agent.isStuck = true
    world.tell(editor) { [save = editor.pendingSaves[0]] in $0.saved(save, $1) }
    world.wait(25_000)
    #expect(editor.receipts.map { $0.outcome } == [.unknown] && agent.outcomes == [.unknown])
    agent.isStuck = false
    world.settle()
    #expect(agent.inbox.open.count == 1 && agent.launches.count == 1)
    #expect(openViewer().continued.count == 1)
    #expect(editor.receipts.count == 1)
  }

  @Test func `without an app that fits nothing is fetched`() {
    agent.app = nil
    world.ask(agent, for: activity)
    #expect(agent.outcomes == [nil] && agent.inbox.entries.isEmpty && editor.receipts.isEmpty)
  }

  @Test func `what is not offered cannot be continued`() {
    world.ask(agent, for: world.identifier())
    #expect(throws: SegueError.self) { try agent.answers[0].get() }
  }

  @Test func `the origin may end: what is stored is delivered`() {
    world.ask(agent, for: activity)
    world.kill(editor)
    let viewer = openViewer()
    #expect(viewer.continued.count == 1 && agent.inbox.open.isEmpty && agent.outcomes == [.restored])
  }

  @Test func `an app cannot deliver to another`() throws {
    let viewer = openViewer()
    let peer = try RawPeer(app: "evil", in: world)
    let offer = Offer(
      description: OfferDescription(world.identifier(), "bad"), origin: Identifier(ofSecret: peer.secret),
      appName: "evil", bundleIdentifier: "evil", deviceName: "here", rank: 0, activatedAt: 0)
    try peer.say(
      .deliver(
        .init(
          continuation: world.identifier(), to: viewer.engine.identity.id, offer: offer,
          timing: OfferTiming(age: 0, remaining: nil), milliseconds: 1_000, isRedelivered: false)))
    #expect(!viewer.events.contains("will_continue"))
  }

  @Test func `a delivery waits for what the user has begun`() throws {
    let viewer = world.open("viewer")
    viewer.holdsAnnouncement = true
    let own = try world.continue(in: viewer)
    world.ask(agent, for: activity)
    accept(viewer)
    #expect(viewer.events.count(where: { $0 == "will_continue" }) == 1)
    viewer.holdsAnnouncement = false
    world.tell(viewer) { $0.announced(own, decline: nil, $1) }
    #expect(viewer.continued.count == 2 && agent.inbox.open.isEmpty)
  }

  @Test func `R3.3: a delivery does not begin beside what the user begins next`() throws {
    let viewer = world.open("viewer")
    viewer.holdsAnnouncement = true
    _ = try world.continue(in: viewer)
    world.ask(agent, for: activity)
    accept(viewer)
    let second = try world.continue(in: viewer)
    #expect(viewer.events.count(where: { $0 == "will_continue" }) == 2 && agent.inbox.open.count == 1)
    viewer.holdsAnnouncement = false
    world.tell(viewer) { $0.announced(second, decline: nil, $1) }
    #expect(viewer.continued.count == 2 && agent.inbox.open.isEmpty)
  }

  @Test func `R3.8: what has not begun when the app takes none any more goes back, and comes again`() throws {
    let viewer = world.open("viewer")
    viewer.holdsAnnouncement = true
    let own = try world.continue(in: viewer)
    world.ask(agent, for: activity)
    accept(viewer)
    #expect(agent.inbox.open.map { $0.isDelivered } == [true])
    accept(viewer, false)
    #expect(agent.inbox.open.map { $0.isDelivered } == [false])
    viewer.holdsAnnouncement = false
    world.tell(viewer) { $0.announced(own, decline: nil, $1) }
    #expect(viewer.continued.count == 1, "it has only its own")
    accept(viewer)
    #expect(viewer.continued.count == 2 && agent.inbox.open.isEmpty)
  }

  @Test func `R3.8: what one process has failed to restore goes to another that is open`() {
    world.ask(agent, for: activity)
    let (first, second) = (openViewer(accepts: false), openViewer(accepts: false))
    first.answersContinue = false
    accept(first)
    accept(second)
    #expect(first.continued.count == 1 && second.continued.isEmpty)
    world.tell(first) { $0.answer(first.continued[0].from.continuation, handled: true, restored: false, $1) }
    #expect(second.continued.map { $0.from.isRedelivered } == [true] && agent.inbox.open.isEmpty)
    #expect(first.continued.count == 1, "once for each process")
  }

  @Test func `R3.8: the answer of one process lets another have the next entry`() throws {
    world.ask(agent, for: activity)
    let other = world.open("other")
    world.ask(agent, for: try world.offer("two", by: other))
    let (first, second) = (openViewer(accepts: false), openViewer(accepts: false))
    first.answersContinue = false
    accept(first)
    accept(second)
    accept(first, false)
    world.tell(first) { $0.answer(first.continued[0].from.continuation, handled: true, restored: true, $1) }
    #expect(first.continued.count == 1 && second.continued.map { $0.activity.title } == ["two"])
    #expect(agent.inbox.open.isEmpty)
  }
}
