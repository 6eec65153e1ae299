import SegueEngine
import SegueModel
import Testing

@Suite struct OfferingTests {
  @Test func `a current activity is offered to apps of the team that declare its type (R1.11, R2.6)`() throws {
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    let stranger = world.open("stranger", team: "OTHER")
    let other = world.open("other", types: ["com.example.mail"])
    let chooser = world.open("chooser", types: [], team: "OTHER", chooser: true)
    _ = try world.offer("Draft", by: editor)
    #expect(viewer.takeEvents() == ["ready", "appeared Draft"])
    #expect(chooser.takeEvents() == ["ready", "appeared Draft"])
    #expect(stranger.takeEvents() == ["ready"])
    #expect(other.takeEvents() == ["ready"])
    #expect(editor.engine.offers.all.isEmpty, "never its own")
  }

  @Test func `it is gone when another is current, when it resigns, when it is invalidated (R1.11, R1.12)`() throws {
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = viewer.takeEvents()
    let first = try world.offer("One", by: editor)
    let second = try world.offer("Two", by: editor)
    #expect(viewer.takeEvents() == ["appeared One", "gone One", "appeared Two"])
    world.tell(editor) { $0.resignCurrent(second, $1) }
    #expect(viewer.takeEvents() == ["gone Two"])
    world.tell(editor) { $0.becomeCurrent(first, $1) }
    editor.invalidate(first)
    world.tell(editor) { $0.invalidate(first, $1) }
    world.tell(editor) { $0.becomeCurrent(first, $1) }
    #expect(viewer.takeEvents() == ["appeared One", "gone One"])
  }

  @Test func `what is not eligible or expired is not offered, and expires everywhere (R1.6, R1.8)`() throws {
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = viewer.takeEvents()
    let id = try world.offer("Draft", by: editor)
    editor.change(id, at: world.now) { $0.setEligible(.handoff, false) }
    world.wait(200)
    #expect(viewer.takeEvents() == ["appeared Draft", "gone Draft"])
    editor.change(id, at: world.now) { $0.setEligible(.handoff, true) }
    let date = world.now.date + 60
    try editor.change(id, at: world.now) { try $0.setExpirationDate(date) }
    world.wait(30_000)
    #expect(viewer.takeEvents().first == "appeared Draft")
    // The origin stops: its word is not needed.
    editor.isOpen = false
    world.wait(31_000)
    #expect(viewer.takeEvents() == ["gone Draft"])
  }

  @Test func `the most recently activated is the frontmost (R1.12, R2.7)`() throws {
    let world = World()
    world.startHub()
    let one = world.open("one")
    let two = world.open("two")
    let viewer = world.open("viewer")
    _ = try world.offer("One", by: one)
    _ = try world.offer("Two", by: two)
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["Two", "One"])
    world.tell(one) { $0.setForeground(true, $1) }
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["One", "Two"])
  }

  @Test func `a device that offers the frontmost only hides the others, and says so (R1.12, R6.5)`() throws {
    let world = World()
    world.startHub(frontmostOnly: true)
    let one = world.open("one")
    let two = world.open("two")
    let viewer = world.open("viewer")
    let id = try world.offer("One", by: one)
    _ = try world.offer("Two", by: two)
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["Two"])
    world.tell(one) { _ = $0.explain(id, one.activity(id), $1) }
    #expect(one.reasons.map { $0.reason } == ["not frontmost"])
    world.close(two)
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["One"])
  }

  @Test func `changes are told once in 100 ms, and the last always (R2.8)`() throws {
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = viewer.takeEvents()
    let id = try world.offer("0", by: editor)
    world.wait(1_000)
    _ = viewer.takeEvents()
    for number in 1...1_000 {
      try editor.change(id, at: world.now) { try $0.setTitle("\(number)") }
      world.wait(1)
    }
    world.wait(200)
    let events = viewer.takeEvents()
    #expect(events.last == "changed 1000")
    // 1,000 steps of 1 ms and what the world adds to each.
    #expect(events.count <= 22, "\(events.count) changes were told")
  }

  @Test func `an activity is saved 2 s after its last change, 10 s after the first at the latest (R2.2, R2.3)`() throws
  {
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let id = try world.offer("Draft", by: editor)
    world.wait(1_900)
    #expect(!editor.takeEvents().contains("will_save"))
    world.wait(200)
    #expect(editor.takeEvents() == ["will_save"])
    // Always in use: 10 s.
    for _ in 0..<11 {
      editor.change(id, at: world.now) { $0.markNeedsSave(true) }
      world.wait(1_000)
    }
    #expect(editor.takeEvents() == ["will_save"])
    world.wait(60_000)
    #expect(editor.takeEvents() == ["will_save"], "the last change")
    world.wait(600_000)
    #expect(editor.takeEvents().isEmpty)
  }

  @Test func `another hub changes nothing that a user sees (R2.8)`() throws {
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = try world.offer("Draft", by: editor)
    world.wait(5_000)
    _ = viewer.takeEvents()
    world.killHub()
    world.wait(500)
    world.startHub()
    world.wait(60_000)
    #expect(viewer.takeEvents() == ["searching", "ready"])
    world.killHub()
    world.wait(10_000)
    #expect(viewer.takeEvents() == ["searching", "gone Draft"], "without a hub nothing is kept for ever")
  }

  @Test func `why it is not offered (R6.5)`() throws {
    let world = World()
    let editor = world.open("editor")
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    activity.setEligible(.handoff, false)
    editor.add(activity, as: id)
    world.tell(editor) { _ = $0.explain(id, activity, $1) }
    #expect(editor.reasons.map { $0.reason } == ["not current", "not eligible", "no hub"])
    world.startHub()
    _ = world.open("stranger", team: "OTHER")
    _ = world.open("mail", types: ["com.example.mail"])
    _ = world.open("viewer")
    let offered = try world.offer("Draft", by: editor)
    world.tell(editor) { _ = $0.explain(offered, editor.activity(offered), $1) }
    #expect(editor.reasons.map { $0.reason } == ["team differs", "type not declared"])
    #expect(editor.reasons.map { $0.app } == ["stranger", "mail"])
    world.tell(editor) { _ = $0.explain(offered, nil, $1) }
    #expect(editor.reasons.map { $0.reason } == ["invalidated"])
  }
}
