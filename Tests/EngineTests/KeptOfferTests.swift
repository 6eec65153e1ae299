// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// R2.5: an activity that stays offered when its app has ended.
@Suite struct KeptOfferTests {
  private let world = World()
  private let agent: TestAgent
  private let editor: TestApp
  private let viewer: TestApp
  private let activity: Identifier

  init() throws {
    agent = world.startAgent()
    editor = world.open("editor")
    viewer = world.open("viewer")
    activity = try world.offer("one", by: editor)
    editor.change(activity) { $0.keepsOffering = true }
    // The hub's apps have had time to register.
    world.wait(5_000)
    _ = viewer.takeEvents()
  }

  private var titles: [String?] { viewer.engine.offers.all.map { $0.description.title } }

  /// Has the viewer continue the frontmost offer.
  /// - Returns: the activity that it gets.
  private func continued() throws -> Activity {
    try #require(!viewer.engine.offers.all.isEmpty)
    _ = try world.continue(in: viewer)
    world.wait(1_000)
    return try #require(viewer.continued.last).activity
  }

  private func release(_ app: TestApp, _ id: Identifier) {
    world.tell(app) { engine, now in
      engine.leave(id, now)
      app.invalidate(id)
      engine.invalidate(id, isReleased: true, now)
    }
  }

  // MARK: When it is left

  @Test func `R2.5: a closed app's activity stays offered, and is served, under its names`() throws {
    let origin = editor.engine.identity.id
    world.close(editor)
    #expect(titles == ["one"] && agent.inbox.kept.count == 1)
    let offer = try #require(viewer.engine.offers.all.first)
    #expect(offer.appName == "editor" && offer.bundleIdentifier == "com.example.editor")
    #expect(offer.description.id == activity && offer.origin != origin)
    #expect(try continued().title == "one")
    #expect(viewer.events.contains("continue") && titles == ["one"], "others may continue it, too")
  }

  @Test func `R2.5: an offer that the system refuses to connect to the hub is tried again`() throws {
    agent.refusesJoins = true
    world.close(editor)
    world.wait(4_000)
    #expect(titles.isEmpty && agent.inbox.kept.count == 1)
    agent.refusesJoins = false
    world.wait(5_000)
    #expect(titles == ["one"])
  }

  @Test(arguments: [false, true])
  func `R2.5, R4.4: an activity whose windows go before their app does stays offered`(isAway: Bool) throws {
    let window = editor.engine.addResponder(editor, updates: false)
    world.tell(editor) { engine, now in
      engine.setActivity(activity, of: window, now)
      engine.setMainResponder(window, now)
    }
    if isAway { world.tell(editor) { $0.setForeground(false, $1) } }
    world.tell(editor) { $0.removeResponder(window, $1) }
    #expect(editor.engine.currentActivity == nil && titles.isEmpty, "the app is open, and has let it go")
    world.close(editor)
    #expect(titles == ["one"] && agent.inbox.kept.count == 1)
  }

  @Test func `R2.5: what was not asked for ends with its app`() {
    editor.change(activity) { $0.keepsOffering = false }
    world.close(editor)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test func `R2.5: closing saves first`() throws {
    editor.onSave = { app in app.change(activity) { try! $0.setTitle("saved") } }
    world.close(editor)
    #expect(try continued().title == "saved")
  }

  @Test func `R2.5: an app that dies in the background has left its last state`() throws {
    world.tell(editor) { $0.setForeground(false, $1) }
    #expect(agent.inbox.kept.count == 1 && agent.kept.isEmpty, "the app itself offers it")
    #expect(titles == ["one"] && viewer.takeEvents().filter { $0.hasPrefix("gone") }.isEmpty)
    world.kill(editor)
    #expect(agent.kept.count == 1 && titles == ["one"])
    #expect(try continued().title == "one")
  }

  @Test func `R2.5: an app that dies without having left anything leaves nothing`() {
    world.kill(editor)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test func `R2.5: releasing the activity leaves it as it is (R1.15)`() throws {
    editor.change(activity) { try! $0.setTitle("two") }
    release(editor, activity)
    #expect(titles.isEmpty, "it is invalid while its app runs")
    world.kill(editor)
    #expect(try continued().title == "two")
  }

  @Test func `R2.5: what cannot be saved leaves the last snapshot`() throws {
    world.tell(editor) { $0.setForeground(false, $1) }
    editor.answersSaves = false
    editor.change(activity) { try! $0.setTitle("unsaved") }
    world.tell(editor) { $0.setForeground(false, $1) }
    world.wait(6_000)
    world.kill(editor)
    #expect(try continued().title == "one")
  }

  @Test func `R2.5: a large document arrives whole`() throws {
    let big = try Value.dictionary([(key: .string("x"), value: .data([UInt8](repeating: 7, count: 3_000_000)))])
    try editor.change(activity) { try $0.setUserInfo(big, limit: Limits.value) }
    world.tell(editor) { $0.setForeground(false, $1) }
    world.wait(2_000)
    #expect(agent.inbox.kept.count == 1)
    world.kill(editor)
    #expect(try continued().userInfo == big)
  }

  // MARK: Its end

  @Test func `R2.5: after twelve hours it is gone`() {
    world.close(editor)
    world.wait(12 * 3_600_000 - 10_000)
    #expect(titles == ["one"])
    world.wait(10_001)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty && agent.kept.isEmpty)
  }

  @Test func `R2.5: its own expiration date ends it before`() throws {
    try editor.change(activity) { try $0.setExpirationDate(world.now.date + 60) }
    world.close(editor)
    #expect(titles == ["one"])
    world.wait(60_001)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test func `R2.5: it stays until the millisecond of its date is over`() throws {
    let (start, date) = (world.now.uptime, world.now.date + 60.000_5)
    try editor.change(activity) { try $0.setExpirationDate(date) }
    world.close(editor)
    world.wait(60_000 - (world.now.uptime - start))
    #expect(agent.inbox.kept.count == 1 && world.now.date < date)
    world.wait(1)
    #expect(world.now.date > date && titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test func `R2.5: a date that is set ends nothing that is kept`() throws {
    try editor.change(activity) { try $0.setExpirationDate(world.now.date + 7_200) }
    world.close(editor)
    world.device.clockOffset += 365 * 86_400
    // The agent looks at what it keeps.
    let other = world.open("other")
    world.wait(5_000)
    world.close(other)
    #expect(agent.inbox.kept.count == 1)
    world.device.clockOffset -= 365 * 86_400
    world.wait(20_000)
    #expect(titles == ["one"])
    world.wait(7_200_000)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test func `R2.5: what an agent finds under a date that is ahead is offered once that is right`() throws {
    try editor.change(activity) { try $0.setExpirationDate(world.now.date + 7_200) }
    world.close(editor)
    let year = 365 * 86_400.0
    world.device.clockOffset += year
    world.killAgent()
    try agent.inbox.follow(year)
    let next = world.startAgent(agent.inbox)
    world.wait(5_000)
    #expect(titles.isEmpty && next.inbox.kept.count == 1 && next.kept.isEmpty, "R1.6: it is hidden")
    world.device.clockOffset -= year
    try next.inbox.follow(-year)
    world.wait(20_000)
    #expect(titles == ["one"])
    world.wait(7_200_000)
    #expect(titles.isEmpty && next.inbox.kept.isEmpty, "it has expired at its time")
    #expect(next.engine.nextDeadline == nil)
  }

  @Test func `R2.5: what its date hides costs ever fewer looks, and none after twelve hours`() throws {
    try editor.change(activity) { try $0.setExpirationDate(world.now.date + 7_200) }
    world.close(editor)
    world.device.clockOffset += 86_400
    world.killAgent()
    try agent.inbox.follow(86_400)
    let next = world.startAgent(agent.inbox)
    world.wait(5_000)
    var looks = 0
    while let due = next.engine.nextDeadline, looks < 100 {
      world.wait(max(1, due - world.now.uptime))
      looks += 1
    }
    #expect(10...40 ~= looks && titles.isEmpty && next.inbox.kept.isEmpty)
  }

  @Test func `R2.5: what is left of an app that dies while the date is ahead is offered once that is right`() throws {
    try editor.change(activity) { try $0.setExpirationDate(world.now.date + 7_200) }
    world.tell(editor) { $0.setForeground(false, $1) }
    #expect(agent.inbox.kept.count == 1)
    world.device.clockOffset += 365 * 86_400
    world.kill(editor)
    world.wait(3_000)
    #expect(titles.isEmpty && agent.inbox.kept.count == 1)
    world.device.clockOffset -= 365 * 86_400
    world.wait(8_000)
    #expect(titles == ["one"])
    world.wait(7_200_000)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test func `R2.5: another current activity of the app ends it, also in another process`() throws {
    world.close(editor)
    let again = world.open("editor")
    #expect(titles == ["one"], "that the app opens is no reason")
    world.wait(10)
    _ = try world.offer("two", by: again)
    #expect(titles == ["two"] && agent.inbox.kept.isEmpty)
  }

  @Test(arguments: [true, false], [true, false])
  func `R2.5: another current activity of the app ends it, also in the first seconds of an agent`(
    isLoaded: Bool, isOpenBefore: Bool
  ) throws {
    world.close(editor)
    world.killAgent()
    world.wait(1_000)
    let (again, painter) = (world.open("editor"), world.open("painter"))
    if isOpenBefore { _ = try world.offer("two", by: again) }
    if !isLoaded { agent.inbox.loadFailure = SegueError(.system, "the disk does not answer") }
    let second = world.startAgent(agent.inbox)
    if !isOpenBefore { _ = try world.offer("two", by: again) }
    _ = try world.offer("three", by: painter)
    world.wait(100)
    world.close(again)
    agent.inbox.loadFailure = nil
    world.wait(20_000)
    #expect(titles == ["three"] && second.inbox.kept.isEmpty && second.kept.isEmpty)
  }

  @Test(arguments: [true, false])
  func `R2.5: what was current before does not end it, nor what a hub says, in the first seconds of an agent`(
    isLoaded: Bool
  ) throws {
    let other = world.open("editor")
    _ = try world.offer("other", by: other)
    world.wait(1_000)
    world.close(editor)
    world.killAgent()
    if !isLoaded { agent.inbox.loadFailure = SegueError(.system, "the disk does not answer") }
    let second = world.startAgent(agent.inbox)
    let linked = try world.linkHub()
    try linked.peer.say(.offered(world.identifier(), "two", by: other.engine.identity.id, of: linked.id))
    world.wait(100)
    world.close(other)
    agent.inbox.loadFailure = nil
    world.wait(20_000)
    #expect(titles.contains("one") && second.inbox.kept.map { $0.activity } == [activity])
  }

  @Test func `R2.5: who has left it, and registers after another process of the app, has not lost it`() throws {
    world.tell(editor) { $0.setForeground(false, $1) }
    editor.process.stall()
    world.killAgent()
    world.wait(1_000)
    let second = world.startAgent(agent.inbox)
    let again = world.open("editor")
    _ = try world.offer("two", by: again)
    world.resume(editor)
    world.wait(5_000)
    #expect(second.inbox.kept.map { $0.activity } == [activity])
    world.close(again)
    world.kill(editor)
    world.wait(1_000)
    #expect(titles == ["one"])
  }

  @Test(arguments: [Identifier(high: 0xd0, low: 1), nil])
  func `A13: what another hub says that an app of this device offers does not end it`(device: Identifier?) throws {
    world.close(editor)
    let again = world.open("editor")
    world.wait(10)
    let linked = try world.linkHub(device: device)
    try linked.peer.say(.offered(world.identifier(), "two", by: again.engine.identity.id, of: linked.id))
    world.wait(10)
    #expect(Set(titles) == ["one", "two"] && agent.inbox.kept.count == 1)
  }

  @Test func `R2.5: an activity of another app, or of another team, does not end it`() throws {
    world.close(editor)
    world.wait(10)
    _ = try world.offer("two", by: world.open("painter"))
    _ = try world.offer("three", by: world.open("editor", team: "OTHER"))
    #expect(Set(titles) == ["one", "two"])
  }

  @Test func `R2.5: what another process of the app had current before does not end it`() throws {
    let other = world.open("editor")
    _ = try world.offer("other", by: other)
    world.wait(10)
    world.close(editor)
    #expect(Set(titles) == ["one", "other"])
    other.change(try #require(other.engine.currentActivity)) { try! $0.setTitle("changed") }
    world.wait(1_000)
    #expect(Set(titles) == ["one", "changed"])
  }

  @Test func `R2.5: an app that makes another activity current has nothing left of the former one`() throws {
    world.tell(editor) { $0.setForeground(false, $1) }
    _ = try world.offer("two", by: editor)
    #expect(agent.inbox.kept.isEmpty)
    world.kill(editor)
    #expect(titles.isEmpty)
  }

  @Test(arguments: ["resigns", "is invalidated", "is not kept any more"])
  func `R2.5: what was left is taken back if it`(_ what: String) {
    world.tell(editor) { $0.setForeground(false, $1) }
    #expect(agent.inbox.kept.count == 1)
    switch what {
    case "resigns": world.tell(editor) { $0.resignCurrent(activity, $1) }
    case "is invalidated":
      editor.invalidate(activity)
      world.tell(editor) { $0.invalidate(activity, $1) }
    default:
      editor.change(activity) { $0.keepsOffering = false }
      world.settle()
    }
    #expect(agent.inbox.kept.isEmpty)
    world.kill(editor)
    #expect(titles.isEmpty)
  }

  @Test func `R2.5: the user withdraws it`() {
    world.close(editor)
    agent.withdraw(activity)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty && agent.kept.isEmpty)
    agent.withdraw(activity)
    #expect(agent.withdrawals.map { $0?.status } == [nil, .notFound])
  }

  @Test func `R2.5: the user hears that it is withdrawn once it is on the disk, and only then is it`() {
    world.close(editor)
    agent.isStuck = true
    agent.withdraw(activity)
    #expect(agent.withdrawals.isEmpty && titles == ["one"], "the next agent would offer it")
    agent.isStuck = false
    world.settle()
    #expect(agent.withdrawals.map { $0?.status } == [nil] && titles.isEmpty)
  }

  @Test func `R2.5: what the disk does not withdraw stays offered, and the user is told`() {
    world.close(editor)
    agent.inbox.failure = SegueError(.system, "the disk is full")
    agent.withdraw(activity)
    #expect(agent.withdrawals.map { $0?.message } == ["the disk is full"] && titles == ["one"])
    agent.inbox.failure = nil
    world.wait(60_000)
    #expect(titles == ["one"], "the user was told that it is not withdrawn")
    agent.withdraw(activity)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test func `R2.5: an agent that starts does not offer what the user withdraws meanwhile`() {
    world.close(editor)
    world.killAgent()
    let next = world.startAgent(agent.inbox)
    next.isStuck = true
    next.withdraw(activity)
    world.wait(5_000)
    #expect(next.withdrawals.isEmpty && next.kept.isEmpty && titles.isEmpty)
    next.inbox.failure = SegueError(.system, "the disk is full")
    next.isStuck = false
    world.settle()
    #expect(next.withdrawals.map { $0?.message } == ["the disk is full"] && titles == ["one"])
  }

  @Test func `R2.5: what is left again while it is withdrawn stays`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    editor.process.driver?.disconnect(world.now)
    world.settle()
    agent.isStuck = true
    agent.withdraw(activity)
    agent.withdraw(activity)
    world.resume(editor)
    world.tell(editor) { $0.setForeground(false, $1) }
    agent.isStuck = false
    world.settle()
    #expect(agent.withdrawals.count == 2 && agent.inbox.kept.map { $0.activity } == [activity])
    #expect(agent.engine.brokenInvariant == nil)
  }

  @Test func `R2.5: what was taken back while the disk was full is forgotten later, not offered after a restart`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    agent.inbox.failure = SegueError(.system, "the disk is full")
    world.tell(editor) { $0.resignCurrent(activity, $1) }
    #expect(agent.inbox.kept.count == 1)
    world.wait(100_000)
    let lines = agent.lines.filter { $0.contains("the disk is full") }.count
    #expect(4...12 ~= lines, "a pause that doubles")
    agent.inbox.failure = nil
    world.wait(17_000)
    #expect(agent.inbox.kept.isEmpty)
    world.wait(60_000)
    #expect(agent.engine.nextDeadline == nil && agent.requests.isEmpty)
  }

  @Test func `R2.5: what is left again while it waits to be forgotten is kept`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    agent.inbox.failure = SegueError(.system, "the disk is full")
    world.tell(editor) { $0.resignCurrent(activity, $1) }
    agent.inbox.failure = nil
    world.tell(editor) { $0.becomeCurrent(activity, $1) }
    world.tell(editor) { $0.setForeground(false, $1) }
    world.wait(60_000)
    #expect(agent.inbox.kept.map { $0.activity } == [activity])
    world.kill(editor)
    #expect(titles == ["one"])
  }

  @Test func `R2.5: the app that has left it offers it itself when it comes back`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    editor.process.driver?.disconnect(world.now)
    world.settle()
    #expect(agent.kept.count == 1)
    _ = viewer.takeEvents()
    world.resume(editor)
    #expect(agent.kept.isEmpty && titles == ["one"])
    #expect(viewer.engine.offers.all.first?.origin == editor.engine.identity.id)
    #expect(!viewer.events.contains { $0.hasPrefix("gone") }, "R2.8")
    #expect(agent.inbox.kept.count == 1, "it may die again")
  }

  // MARK: The agent

  @Test func `R2.5: a restart of the agent keeps it`() throws {
    world.close(editor)
    world.killAgent()
    let second = world.startAgent(agent.inbox)
    #expect(second.kept.isEmpty, "its app may still register")
    world.wait(5_000)
    #expect(titles == ["one"])
    #expect(try continued().title == "one")
  }

  @Test(arguments: [true, false])
  func `R2.5: an app that offers what another one has left before a restart does not end it`(closes: Bool) throws {
    world.close(editor)
    world.killAgent()
    let second = world.startAgent(agent.inbox)
    let enemy = world.open("enemy")
    enemy.add(try Activity(type: "com.example.note"), as: activity)
    world.tell(enemy) { $0.becomeCurrent(activity, $1) }
    world.wait(5_000)
    #expect(second.inbox.kept.map { $0.app.name } == ["editor"] && second.kept.isEmpty)
    if closes { world.close(enemy) } else { world.tell(enemy) { $0.resignCurrent(activity, $1) } }
    world.wait(1_000)
    #expect(titles == ["one"])
    #expect(try continued().title == "one")
  }

  @Test(arguments: [Status.system, .busy])
  func `R2.5: a disk that refuses to say what is kept is asked again`(_ status: Status) throws {
    world.close(editor)
    world.killAgent()
    agent.inbox.loadFailure = SegueError(status, "the disk does not answer")
    let second = world.startAgent(agent.inbox)
    world.wait(100_000)
    #expect(titles.isEmpty)
    #expect(4...12 ~= second.lines.filter { $0.contains("the disk does not answer") }.count, "a pause that doubles")
    agent.inbox.loadFailure = nil
    world.wait(17_000)
    #expect(titles == ["one"])
    #expect(try continued().title == "one")
  }

  @Test func `R2.5: what comes before the disk has said what is kept counts then`() throws {
    world.tell(editor) { $0.setForeground(false, $1) }
    let other = world.open("other")
    let id = try world.offer("two", by: other)
    other.change(id) { $0.keepsOffering = true }
    world.killAgent()
    agent.inbox.loadFailure = SegueError(.system, "the disk does not answer")
    let second = world.startAgent(agent.inbox)
    world.wait(5_000)
    world.tell(editor) { $0.resignCurrent(activity, $1) }
    world.close(other)
    #expect(titles.isEmpty && second.inbox.kept.map { $0.activity } == [activity])
    second.withdraw(activity)
    #expect(second.withdrawals.map { $0?.status } == [.busy], "nobody knows yet")
    agent.inbox.loadFailure = nil
    world.wait(17_000)
    #expect(titles == ["two"] && second.inbox.kept.map { $0.activity } == [id])
    world.kill(editor)
    #expect(titles == ["two"], "what was taken back does not return")
  }

  @Test func `R2.5: before the disk has said what is kept, a process leaves a quarter of what fits`() throws {
    let (enemy, other) = (world.identifier(), world.identifier())
    var (large, many) = (KeptLoad(), KeptLoad())
    var state = try Activity(type: "com.example.note")
    let bytes = Value.data([UInt8](repeating: 7, count: 9_000_000))
    try state.setUserInfo(.dictionary([(key: .string("x"), value: bytes)]), limit: Limits.value)
    let record = try KeptRecord(
      activity, of: editor.engine.identity, document: ActivityDocument.encode(state, .none), keptAt: world.now.date)
    #expect(large.hasRoom(for: enemy, ActivityDocument.limit), "one document at least")
    large.add(.left(record, principal: enemy))
    #expect(!large.hasRoom(for: enemy, record.document.count) && large.hasRoom(for: other, record.document.count))
    for _ in 0..<KeptLoad.principalLimit { many.add(.takenBack(activity, by: world.identifier(), principal: enemy)) }
    #expect(!many.hasRoom(for: enemy) && many.hasRoom(for: other))
    #expect(many.end().count == KeptLoad.principalLimit && many.hasRoom(for: enemy))
  }

  @Test func `R2.5: an inbox that cannot be used is not asked again and again`() {
    world.killAgent()
    agent.inbox.loadFailure = SegueError(.invalidState, "it is of another machine")
    let second = world.startAgent(agent.inbox)
    world.wait(60_000)
    #expect(second.lines.filter { $0.contains("another machine") }.count == 1)
  }

  @Test func `R2.5: an app that is open when the agent restarts is not offered twice`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    world.killAgent()
    let second = world.startAgent(agent.inbox)
    world.wait(5_000)
    #expect(second.kept.isEmpty && titles == ["one"])
    world.kill(editor)
    #expect(second.kept.count == 1 && titles == ["one"])
  }

  @Test func `R2.5: another agent gets what is left from its app again`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    world.killAgent()
    let second = world.startAgent()
    #expect(second.inbox.kept.count == 1)
  }

  @Test func `R2.5: what the app took back while no agent was there, the next one forgets`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    world.killAgent()
    world.tell(editor) { $0.resignCurrent(activity, $1) }
    let second = world.startAgent(agent.inbox)
    #expect(second.inbox.kept.isEmpty)
  }

  @Test func `R2.5: what the app took back, and an agent that died did not forget, the next one does`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    agent.isStuck = true
    world.tell(editor) { $0.resignCurrent(activity, $1) }
    world.killAgent()
    let second = world.startAgent(agent.inbox)
    world.wait(5_000)
    #expect(second.inbox.kept.isEmpty)
    world.kill(editor)
    #expect(titles.isEmpty)
  }

  @Test func `R2.5: without an agent the app is told`() {
    world.killAgent()
    world.startHub()
    world.tell(editor) { $0.setForeground(false, $1) }
    #expect(editor.logs.filter { $0.contains("UNAVAILABLE") }.count == 1)
    let second = world.startAgent()
    #expect(second.inbox.kept.count == 1, "it works as soon as one comes")
  }

  @Test func `R2.5: nothing is offered that is not on the disk`() {
    agent.isStuck = true
    world.close(editor)
    #expect(agent.kept.isEmpty && titles.isEmpty)
    agent.isStuck = false
    world.settle()
    #expect(titles == ["one"])
  }

  @Test func `R2.5: a full disk keeps nothing, and is logged`() {
    agent.inbox.failure = SegueError(.system, "the disk is full")
    world.close(editor)
    #expect(agent.kept.isEmpty && titles.isEmpty)
    #expect(agent.lines.contains { $0.contains("the disk is full") })
  }

  /// Has the app leave it under further titles.
  private func leave(_ titles: String...) {
    for title in titles {
      world.tell(editor) { $0.setForeground(true, $1) }
      editor.change(activity) { try! $0.setTitle(title) }
      world.tell(editor) { $0.setForeground(false, $1) }
    }
  }

  @Test func `R2.5: what the disk has stays offered if the disk refuses a newer state`() throws {
    leave("one")
    agent.inbox.failure = SegueError(.system, "the disk is full")
    leave("two")
    world.kill(editor)
    #expect(titles == ["one"])
    agent.inbox.failure = nil
    world.wait(60_000)
    #expect(agent.inbox.kept.map { $0.activity } == [activity], "it is not forgotten later")
    #expect(try continued().title == "one")
    world.wait(12 * 3_600_000)
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty)
  }

  @Test(arguments: [false, true])
  func `R2.5: the newest state that the disk takes stays if it refuses the next one`(isFirst: Bool) {
    let full = SegueError(.system, "the disk is full")
    leave("one")
    agent.isStuck = true
    leave("two", "three")
    agent.inbox.keepFailures = [isFirst ? nil : full, full]
    agent.isStuck = false
    world.settle()
    world.kill(editor)
    #expect(titles == [isFirst ? "two" : "one"] && agent.inbox.kept.count == 1)
  }

  @Test func `R2.5: what is withdrawn does not come back because the disk refuses a newer state`() {
    world.tell(editor) { $0.setForeground(false, $1) }
    editor.process.driver?.disconnect(world.now)
    world.settle()
    agent.isStuck = true
    agent.withdraw(activity)
    world.resume(editor)
    leave("two")
    agent.inbox.keepFailures = [SegueError(.system, "the disk is full")]
    agent.isStuck = false
    world.settle()
    world.kill(editor)
    world.wait(60_000)
    #expect(agent.inbox.kept.isEmpty && agent.kept.isEmpty && titles.isEmpty)
  }

  @Test func `R2.5: what a full queue refuses is kept when it has room`() {
    agent.inbox.failure = SegueError(.busy, "the disk does not keep up")
    world.close(editor)
    #expect(titles.isEmpty)
    agent.inbox.failure = nil
    world.wait(2_000)
    #expect(titles == ["one"] && agent.inbox.kept.count == 1)
  }

  @Test func `R2.5: an agent that ends hands over what waits for the disk`() throws {
    agent.isStuck = true
    world.close(editor)
    try RawPeer(app: "other", in: world).leave(world.identifier(), try document("other"))
    #expect(agent.requests.count == 1, "one at a time")
    agent.engine.flush()
    #expect(agent.requests.count == 2)
  }

  @Test func `R2.5: what is kept is no app that runs`() throws {
    world.close(editor)
    #expect(agent.engine.runningApps.map { $0.name } == ["viewer"])
    agent.app = ChosenApp(bundleIdentifier: "com.example.editor", name: "editor", types: [])
    world.ask(agent, for: activity)
    #expect(agent.launches == ["com.example.editor"], "an app that is kept does not run")
    world.tell(viewer) { _ = $0.explain(activity, nil, $1) }
    #expect(!viewer.reasons.contains { $0.app == "editor" })
  }

  @Test func `R1.12: what is kept is not the frontmost because its app has ended`() throws {
    world.wait(1_000)
    _ = try world.offer("two", by: world.open("painter"))
    world.tell(editor) { $0.setForeground(false, $1) }
    world.wait(1_000)
    world.kill(editor)
    #expect(titles.count == 2)
    world.killAgent()
    _ = world.startAgent(agent.inbox)
    world.wait(1_000)
    _ = try world.offer("three", by: world.open("writer"))
    world.wait(10_000)
    #expect(titles.first == "three" && titles.contains("one"))
  }

  // MARK: Restrictions

  @Test func `R2.5: no streams and requests, and the error says why`() throws {
    editor.change(activity) { $0.setSupportsContinuationStreams(true) }
    world.close(editor)
    _ = try continued()
    #expect(!viewer.engine.offers.all[0].description.supportsContinuationStreams)
    let from = try #require(viewer.continued.last).from
    world.tell(viewer) { engine, now in
      _ = engine.request([1, 2], from, timeout: nil, now)
      let stream = world.identifier()
      engine.askStream(stream, from, attachment: nil, otherEnd: viewer.makeStream(), timeout: nil, now)
    }
    let errors = viewer.answers.map { $0.error } + viewer.streamAnswers.map { $0.error }
    #expect(errors.count == 2 && errors.allSatisfy { $0?.message.contains("its app has ended") ?? false })
    #expect(errors.map { $0?.status } == [.invalidState, .invalidState])
  }

  @Test func `R2.5: a chooser leaves nothing, and is told`() throws {
    let dock = world.open("dock", chooser: true)
    let id = try world.offer("dock", by: dock)
    dock.change(id) { $0.keepsOffering = true }
    world.close(dock)
    #expect(agent.inbox.kept.isEmpty && dock.logs.contains { $0.contains("chooser") })
  }

  // MARK: Rights and bounds

  private func document(_ title: String) throws -> [UInt8] {
    var activity = try Activity(type: "com.example.note")
    try activity.setTitle(title)
    return try ActivityDocument.encode(activity, .none)
  }

  @Test func `R2.5: an app neither replaces nor takes back what another has left`() throws {
    world.tell(editor) { $0.setForeground(false, $1) }
    let enemy = try RawPeer(app: "enemy", in: world)
    try enemy.say(.keep(activity, app: editor.engine.identity.id, channel: 0, size: 0))
    try enemy.leave(activity, try document("forged"))
    #expect(agent.inbox.kept.map { $0.app.name } == ["editor"])
    world.kill(editor)
    #expect(try continued().title == "one")
  }

  @Test func `R2.5: nobody replaces what an app has left that is closed`() throws {
    world.close(editor)
    try RawPeer(app: "enemy", in: world).leave(activity, try document("forged"))
    #expect(agent.inbox.kept.map { $0.app.name } == ["editor"] && titles == ["one"])
    #expect(try continued().title == "one")
  }

  @Test func `R2.5: nobody replaces what the agent has kept longer than the hub has run`() throws {
    world.close(editor)
    world.killAgent()
    world.wait(1_000)
    let second = world.startAgent(agent.inbox)
    world.wait(5_000)
    try RawPeer(app: "enemy", in: world).leave(activity, try document("forged"))
    #expect(second.inbox.kept.map { $0.app.name } == ["editor"] && titles == ["one"])
    #expect(try continued().title == "one")
  }

  @Test func `R2.5: nobody leaves what another app offers`() throws {
    agent.isStuck = true
    try RawPeer(app: "enemy", in: world).leave(activity, try document("forged"))
    #expect(agent.requests.isEmpty, "the disk would replace what the other one has left there")
    agent.isStuck = false
    world.settle()
    #expect(agent.inbox.kept.isEmpty)
    world.close(editor)
    #expect(try continued().title == "one")
  }

  @Test func `R2.5: who left an activity of an app that offers it later has left nothing`() throws {
    let id = world.identifier()
    try RawPeer(app: "enemy", in: world).leave(id, try document("forged"))
    #expect(agent.inbox.kept.count == 1)
    let owner = world.open("owner")
    var state = try Activity(type: "com.example.note")
    try state.setTitle("genuine")
    state.keepsOffering = true
    owner.add(state, as: id)
    world.tell(owner) { $0.becomeCurrent(id, $1) }
    world.wait(1_000)
    #expect(agent.inbox.kept.isEmpty)
    world.close(owner)
    #expect(agent.inbox.kept.map { $0.app.name } == ["owner"])
  }

  @Test func `R2.5: an app of another name cannot hide a kept offer`() throws {
    world.close(editor)
    let enemy = world.open("enemy")
    enemy.add(try Activity(type: "com.example.note"), as: activity)
    world.tell(enemy) { $0.becomeCurrent(activity, $1) }
    world.wait(1_000)
    #expect(titles == ["one"])
    world.close(enemy)
    world.wait(1_000)
    #expect(titles == ["one"])
    #expect(try continued().title == "one")
  }

  @Test(arguments: [false, true])
  func `R2.5: nobody takes an activity from an app that has withdrawn it, and leaves it`(leaves: Bool) throws {
    let id = world.identifier()
    let owner = try RawPeer(app: "owner", in: world)
    try owner.publish(id, "genuine")
    try owner.say(.withdraw(id))
    let enemy = try RawPeer(app: "enemy", in: world)
    try enemy.publish(id, "forged")
    #expect(Set(titles) == ["one", "forged"], "any app may offer what no app offers")
    if leaves { try enemy.leave(id, try document("forged")) }
    try owner.leave(id, try document("genuine"))
    #expect(Set(titles) == ["one"])
    try enemy.publish(id, "forged")
    owner.disconnect()
    world.settle()
    try enemy.publish(id, "forged")
    world.wait(1_000)
    #expect(Set(titles) == ["one", "genuine"])
    #expect(agent.inbox.kept.map { $0.description.title } == ["genuine"])
    enemy.disconnect()
    world.wait(1_000)
    #expect(Set(titles) == ["one", "genuine"])
  }

  /// - Parameter hasClosed: whether the agent offers it at the next hub, or its app is silent, and may still do so.
  @Test(arguments: [true, false])
  func `R2.5: an app that offers what another one has left before the hub moved does not end it`(
    hasClosed: Bool
  ) throws {
    if hasClosed {
      world.close(editor)
    } else {
      world.tell(editor) { $0.setForeground(false, $1) }
      editor.process.stall()
    }
    world.killHub()
    world.startHub()
    let enemy = try RawPeer(app: "enemy", in: world)
    try enemy.publish(activity, "forged")
    world.wait(5_000)
    #expect(agent.inbox.kept.map { $0.app.name } == ["editor"])
    if !hasClosed { world.kill(editor) }
    enemy.disconnect()
    world.wait(1_000)
    #expect(titles == ["one"])
  }

  @Test func `R2.5: the same app may offer what it has left, and others what it has taken back`() throws {
    let id = world.identifier()
    let owner = try RawPeer(app: "owner", in: world)
    try owner.publish(id, "genuine")
    try owner.leave(id, try document("genuine"))
    owner.disconnect()
    world.wait(1_000)
    let again = try RawPeer(app: "owner", in: world)
    try again.publish(id, "changed")
    #expect(Set(titles) == ["one", "changed"])
    try again.leave(id, try document("changed"))
    try again.say(.withdraw(id))
    try again.say(.keep(id, app: id, channel: 0, size: 0))
    let other = try RawPeer(app: "other", in: world)
    try other.publish(id, "other")
    #expect(Set(titles) == ["one", "other"])
  }

  @Test func `R2.5: a process that leaves many activities takes no right of others`() throws {
    let id = world.identifier()
    let owner = try RawPeer(app: "owner", in: world)
    try owner.publish(id, "genuine")
    try owner.leave(id, try document("genuine"))
    try owner.publish(world.identifier(), "another")
    let process = world.process("enemy")
    for number in 0..<100 {
      let app = try RawPeer(app: "enemy\(number)", of: process, in: world)
      let id = world.identifier()
      try app.publish(id, "mine")
      try app.leave(id, try document("mine"))
    }
    try RawPeer(app: "thief", in: world).publish(id, "forged")
    #expect(titles.contains("another") && !titles.contains("forged"))
  }

  @Test func `R2.5: what others announce and do not send keeps nobody out`() throws {
    for number in 0..<16 {
      let enemy = try RawPeer(app: "enemy\(number)", in: world)
      let id = world.identifier()
      try enemy.open { .keep(id, app: id, channel: $0, size: UInt64(ActivityDocument.limit)) }
    }
    world.close(editor)
    #expect(titles == ["one"] && agent.engine.brokenInvariant == nil)
  }

  @Test(arguments: ["too large", "garbage", "too short", "too long"])
  func `R2.5: what is no document is not kept`(_ what: String) throws {
    let enemy = try RawPeer(app: "enemy", in: world)
    let (id, document) = (world.identifier(), try document("mine"))
    switch what {
    case "too large": try enemy.leave(id, document, size: UInt64(ActivityDocument.limit) + 1)
    case "garbage": try enemy.leave(id, document.reversed())
    case "too short": try enemy.leave(id, document, size: UInt64(document.count) + 1)
    default: try enemy.leave(id, document, size: UInt64(document.count) - 1)
    }
    #expect(agent.inbox.kept.isEmpty && enemy.goodbye == nil)
    try enemy.leave(id, document)
    #expect(agent.inbox.kept.count == 1, "it is a document otherwise")
  }

  @Test func `R2.5: what an app has sent in part is dropped with it`() throws {
    let enemy = try RawPeer(app: "enemy", in: world)
    let id = world.identifier()
    try enemy.open { .keep(id, app: id, channel: $0, size: 100) }
    enemy.disconnect()
    #expect(agent.inbox.kept.isEmpty && agent.engine.brokenInvariant == nil)
  }

  @Test func `R2.5: an app that leaves one activity after the other has one request at the disk`() throws {
    let enemy = try RawPeer(app: "enemy", in: world)
    agent.isStuck = true
    for number in 0..<300 { try enemy.leave(world.identifier(), try document("\(number)")) }
    world.close(editor)
    #expect(agent.requests.count == 1)
    agent.isStuck = false
    world.settle()
    #expect(agent.inbox.kept.map { $0.description.title } == ["299", "one"] && titles.contains("one"))
  }

  @Test func `R2.5: a disk that forgets nothing is asked for a bounded number of activities`() throws {
    let enemy = try RawPeer(app: "enemy", in: world)
    agent.inbox.failure = SegueError(.system, "the disk fails")
    for number in 0..<KeptWrites.limit + 40 { try enemy.leave(world.identifier(), try document("\(number)")) }
    agent.isStuck = true
    agent.engine.flush()
    #expect(agent.requests.count <= KeptWrites.limit + 1)
    #expect(agent.lines.count < 100, "nobody fills the log")
    agent.isStuck = false
  }

  @Test func `R2.5: what apps of one process leave takes a quarter, and that of others stays`() throws {
    world.close(editor)
    let process = world.process("enemies")
    for number in 0..<Limits.keptOffers {
      try RawPeer(app: "enemy\(number)", of: process, in: world).leave(world.identifier(), try document("\(number)"))
    }
    #expect(agent.inbox.kept.count == 1 + Limits.keptOffers / 4 && titles == ["one"])
    #expect(agent.inbox.kept.last?.app.name == "enemy63", "its newest")
  }

  @Test func `R2.5: the oldest make room for new ones`() throws {
    world.close(editor)
    for number in 0..<Limits.keptOffers {
      #expect(agent.inbox.kept.first?.activity == activity)
      try RawPeer(app: "app\(number)", in: world).leave(world.identifier(), try document("\(number)"))
    }
    #expect(agent.inbox.kept.count == Limits.keptOffers && titles.isEmpty)
    #expect(agent.inbox.kept.first?.app.name == "app0")
  }
}

extension RawPeer {
  /// Leaves a document with the agent, under the name of whoever: the hub knows better.
  func leave(_ activity: Identifier, _ document: [UInt8], size: UInt64? = nil) throws {
    let size = size ?? UInt64(document.count)
    try write(document, total: UInt64(document.count)) { .keep(activity, app: activity, channel: $0, size: size) }
  }

  func publish(_ activity: Identifier, _ title: String) throws {
    try say(.publish(OfferDescription(activity, title), OfferTiming(age: 0, remaining: nil), activation: 1))
  }
}
