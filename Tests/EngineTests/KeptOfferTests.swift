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

  /// What the viewer gets when it continues the frontmost offer.
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

  // MARK: How it ends

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

  @Test func `R2.5: another current activity of the app ends it, also in another process`() throws {
    world.close(editor)
    let again = world.open("editor")
    #expect(titles == ["one"], "that the app opens is no reason")
    world.wait(10)
    _ = try world.offer("two", by: again)
    #expect(titles == ["two"] && agent.inbox.kept.isEmpty)
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
    #expect(agent.engine.withdraw(activity, world.now))
    world.settle()
    #expect(titles.isEmpty && agent.inbox.kept.isEmpty && agent.kept.isEmpty)
    #expect(!agent.engine.withdraw(activity, world.now))
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

  @Test func `R2.5: what is kept is no app that runs`() throws {
    world.close(editor)
    #expect(agent.engine.runningApps.map { $0.name } == ["viewer"])
    agent.app = ChosenApp(bundleIdentifier: "com.example.editor", name: "editor")
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

  // MARK: What it does not have

  @Test func `R2.5: no streams, requests and attachments, and the error says why`() throws {
    editor.change(activity) {
      $0.setSupportsContinuationStreams(true)
      try! $0.attach(Attachment(name: "photo", size: 9))
    }
    world.close(editor)
    #expect(editor.logs.contains { $0.contains("attachments") }, "the app is told")
    let activity = try continued()
    #expect(!viewer.engine.offers.all[0].description.supportsContinuationStreams)
    #expect(activity.attachments.map { $0.name } == ["photo"])
    let from = try #require(viewer.continued.last).from
    world.tell(viewer) { engine, now in
      _ = engine.request([1, 2], from, timeout: nil, now)
      let (stream, photo) = (world.identifier(), world.identifier())
      engine.askStream(stream, from, attachment: nil, otherEnd: viewer.makeStream(), timeout: nil, now)
      let part = Message.AttachmentPart(name: "photo", offset: 0)
      engine.askStream(photo, from, attachment: part, otherEnd: viewer.makeStream(), timeout: nil, now)
    }
    let errors = viewer.answers.map { $0.error } + viewer.streamAnswers.map { $0.error }
    #expect(errors.count == 3 && errors.allSatisfy { $0?.message.contains("its app has ended") ?? false })
    #expect(errors.map { $0?.status } == [.invalidState, .invalidState, .notFound])
  }

  @Test func `R2.5: a chooser leaves nothing, and is told`() throws {
    let dock = world.open("dock", chooser: true)
    let id = try world.offer("dock", by: dock)
    dock.change(id) { $0.keepsOffering = true }
    world.close(dock)
    #expect(agent.inbox.kept.isEmpty && dock.logs.contains { $0.contains("chooser") })
  }

  // MARK: Who may leave what

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

  @Test func `R2.5: nobody leaves what another app offers`() throws {
    try RawPeer(app: "enemy", in: world).leave(activity, try document("forged"))
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
  fileprivate func leave(_ activity: Identifier, _ document: [UInt8], size: UInt64? = nil) throws {
    let size = size ?? UInt64(document.count)
    try write(document, total: UInt64(document.count)) { .keep(activity, app: activity, channel: $0, size: size) }
  }
}
