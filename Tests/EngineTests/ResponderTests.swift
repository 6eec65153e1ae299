// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

/// Responders: the chain, the activities that they manage, and whom a save asks (R4).
@Suite struct ResponderTests {
  /// An editor with a window, the pane in it and the text in that: the chain begins at the text.
  private struct Fixture {
    let world = World()
    let editor: TestApp
    let viewer: TestApp
    let window: Responder
    let pane: Responder
    let text: Responder

    init(updates: Bool = true) {
      world.startHub()
      editor = world.open("editor")
      viewer = world.open("viewer")
      let (engine, host) = (editor.engine!, editor)
      func add() -> Responder { engine.addResponder(host, updates: updates) }
      (window, pane, text) = (add(), add(), add())
      link(text, pane)
      link(pane, window)
      world.tell(editor) { [text] in $0.setMainResponder(text, $1) }
      _ = editor.takeEvents()
    }

    func link(_ one: Responder, _ next: Responder?) {
      world.tell(editor) { engine, now in #expect(engine.setNext(next, of: one, now) == nil) }
    }

    /// An activity that nobody has yet.
    func activity(_ title: String) throws -> Identifier {
      let id = world.identifier()
      var activity = try Activity(type: "com.example.note")
      try activity.setTitle(title)
      editor.add(activity, as: id)
      return id
    }

    func give(_ id: Identifier?, _ responder: Responder) {
      world.tell(editor) { $0.setActivity(id, of: responder, $1) }
    }
    func turn(to responder: Responder?) { world.tell(editor) { $0.setMainResponder(responder, $1) } }
    var current: String? { editor.current?.title }
    var offered: [String?] { viewer.engine.offers.all.map { $0.description.title } }

    /// Whom a save asks at a pull of the current activity.
    func pull() throws -> [UInt64]? {
      let count = editor.plans.count
      _ = try world.continue(in: viewer)
      world.wait(1_000)
      #expect(editor.plans.count <= count + 1)
      return editor.plans.count == count ? nil : editor.plans.last ?? nil
    }
  }

  @Test func `twenty thousand responders of one activity, and of as many, are removed in no time`() throws {
    let scene = Fixture(updates: false)
    let engine = try #require(scene.editor.engine)
    let shared = try scene.activity("shared")
    var now = Instant(uptime: 1_000_000, date: 0)
    func add(_ count: Int, _ activity: (Int) throws -> Identifier) rethrows -> [Responder] {
      try (0..<count).map { index in
        let responder = engine.addResponder(scene.editor, updates: true)
        engine.setActivity(try activity(index), of: responder, now)
        return responder
      }
    }
    let responders = try add(20_000) { _ in shared } + add(5_000) { try scene.activity("own \($0)") }
    // In the order in which windows go: mostly not that in which they came.
    let began = ContinuousClock.now
    for offset in 0..<7 {
      for index in stride(from: offset, to: responders.count, by: 7) { engine.removeResponder(responders[index], now) }
    }
    now = Instant(uptime: now.uptime + 1, date: 0)
    // Twice that many comparisons for each one would take a minute here.
    #expect(ContinuousClock.now - began < .seconds(10))
    #expect(!engine.manages(shared) || responders.allSatisfy { engine.activity(of: $0) == nil })
  }

  @Test func `the activity of the first responder in the chain that has one is current (R4.3)`() throws {
    let scene = Fixture()
    let (note, list) = (try scene.activity("note"), try scene.activity("list"))
    scene.give(list, scene.window)
    #expect(scene.current == "list")
    scene.give(note, scene.text)
    #expect(scene.current == "note" && scene.offered == ["note"])
    scene.turn(to: scene.pane)
    #expect(scene.current == "list")
    scene.turn(to: scene.text)
    #expect(scene.current == "note")
    scene.give(nil, scene.text)
    #expect(scene.current == "list")
    scene.link(scene.pane, nil)
    #expect(scene.current == nil && scene.offered.isEmpty)
    scene.link(scene.text, scene.window)
    #expect(scene.current == "list" && scene.offered == ["list"])
    scene.world.tell(scene.editor) { $0.removeResponder(scene.window, $1) }
    #expect(scene.current == nil)
  }

  @Test func `if none in the chain has an activity, only a managed one resigns (R4.3)`() throws {
    let scene = Fixture()
    _ = try scene.world.offer("by hand", by: scene.editor)
    scene.turn(to: scene.window)
    scene.turn(to: nil)
    #expect(scene.current == "by hand")
    let note = try scene.activity("note")
    scene.give(note, scene.text)
    #expect(scene.current == "by hand")
    scene.turn(to: scene.text)
    #expect(scene.current == "note")
    scene.turn(to: nil)
    #expect(scene.current == nil && scene.editor.activity(note) != nil)
  }

  @Test func `to the foreground the chain decides again, and losing the focus changes nothing (R4.3)`() throws {
    let scene = Fixture()
    let note = try scene.activity("note")
    scene.give(note, scene.window)
    scene.world.tell(scene.editor) { $0.setForeground(false, $1) }
    scene.world.wait(10_000)
    #expect(scene.offered == ["note"], "the user turns to the receiver just then")
    scene.world.tell(scene.editor) { $0.resignCurrent(note, $1) }
    #expect(scene.current == nil)
    scene.world.tell(scene.editor) { $0.setForeground(true, $1) }
    #expect(scene.current == "note")
    let other = try scene.world.offer("other", by: scene.world.open("third"))
    #expect(scene.viewer.engine.offers.all.first?.description.id == other)
    scene.world.tell(scene.editor) { $0.setForeground(true, $1) }
    #expect(scene.offered.first == "note", "it is the frontmost again (R1.12)")
  }

  @Test func `a loop is an error, and the chain stays (R4.3)`() throws {
    let scene = Fixture()
    let note = try scene.activity("note")
    scene.give(note, scene.window)
    for next in [scene.window, scene.pane, scene.text] {
      scene.world.tell(scene.editor) { engine, now in
        #expect(engine.setNext(next, of: scene.window, now)?.status == .invalidArgument)
      }
    }
    #expect(scene.current == "note")
    scene.turn(to: scene.pane)
    #expect(scene.current == "note")
  }

  @Test func `a chain of twenty thousand is built from either end in no time, and has no loop (R4.3)`() throws {
    let scene = Fixture(updates: false)
    let engine = try #require(scene.editor.engine)
    let now = Instant(uptime: 1_000_000, date: 0)
    let responders = (0..<20_000).map { _ in engine.addResponder(scene.editor, updates: false) }
    let began = ContinuousClock.now
    for index in 1..<responders.count {
      #expect(engine.setNext(responders[index - 1], of: responders[index], now) == nil)
    }
    #expect(engine.setNext(responders[19_999], of: responders[0], now)?.status == .invalidArgument)
    for responder in responders { #expect(engine.setNext(nil, of: responder, now) == nil) }
    // A responder that followed others, and follows none now, may be put before them.
    #expect(engine.setNext(responders[1], of: responders[0], now) == nil)
    #expect(engine.setNext(responders[0], of: responders[1], now)?.status == .invalidArgument)
    for index in 1..<responders.count - 1 {
      #expect(engine.setNext(responders[index + 1], of: responders[index], now) == nil)
    }
    #expect(engine.setNext(responders[0], of: responders[19_999], now)?.status == .invalidArgument)
    // To walk the chain each time would take a minute here.
    #expect(ContinuousClock.now - began < .seconds(10))
    // Nothing walks it when it goes, either.
    for responder in responders { engine.removeResponder(responder, now) }
  }

  @Test func `an activity that no responder has ends at the next delivery, and not if it was moved (R4.4)`() throws {
    let scene = Fixture()
    let note = try scene.activity("note")
    scene.give(note, scene.text)
    scene.world.tell(scene.editor) { engine, now in
      engine.setActivity(nil, of: scene.text, now)
      #expect(engine.manages(note) && scene.editor.activity(note) != nil, "it is decided later")
      engine.setActivity(note, of: scene.window, now)
    }
    #expect(scene.current == "note" && !scene.editor.takeEvents().contains("left alone"))
    scene.world.tell(scene.editor) { engine, now in
      engine.removeResponder(scene.window, now)
      #expect(scene.editor.activity(note) != nil)
    }
    #expect(scene.editor.takeEvents().count { $0 == "left alone" } == 1)
    #expect(scene.editor.activity(note) == nil && scene.offered.isEmpty && !scene.editor.engine.manages(note))
    // Two have it: the last one counts.
    let list = try scene.activity("list")
    scene.give(list, scene.text)
    scene.give(list, scene.pane)
    scene.give(nil, scene.pane)
    #expect(scene.editor.activity(list) != nil && scene.current == "list")
    scene.give(try scene.activity("other"), scene.text)
    #expect(scene.editor.activity(list) == nil && scene.current == "other")
  }

  @Test func `what is invalidated leaves its responders, and the chain decides (R1.11, R4.3)`() throws {
    let scene = Fixture()
    let (note, list) = (try scene.activity("note"), try scene.activity("list"))
    scene.give(list, scene.window)
    scene.give(note, scene.text)
    scene.give(note, scene.pane)
    scene.editor.invalidate(note)
    scene.world.tell(scene.editor) { $0.invalidate(note, $1) }
    #expect(scene.current == "list" && scene.offered == ["list"])
    #expect(scene.editor.engine.activity(of: scene.text) == nil)
    #expect(!scene.editor.takeEvents().contains("left alone"))
    scene.give(note, scene.text)
    #expect(scene.current == "list", "it is for ever")
  }

  @Test func `a save asks responders in their order, those of the chain last, outermost first (R4.2)`() throws {
    let scene = Fixture()
    func add() -> Responder { scene.editor.engine.addResponder(scene.editor, updates: true) }
    let (second, first, other) = (add(), add(), add())
    let note = try scene.activity("note")
    scene.give(try scene.activity("list"), other)
    for responder in [scene.text, first, scene.window, second, scene.pane] { scene.give(note, responder) }
    #expect(try scene.pull() == [first, second, scene.window, scene.pane, scene.text].map { $0.number })
    // A responder that gets the activity again comes later.
    scene.give(nil, first)
    scene.give(note, first)
    scene.turn(to: scene.window)
    #expect(try scene.pull() == [scene.text, second, scene.pane, first, scene.window].map { $0.number })
  }

  @Test func `a responder with update_state is reason enough for a save at each pull (R2.9)`() throws {
    let scene = Fixture()
    scene.editor.answersWillSave = false
    let note = try scene.activity("note")
    scene.give(note, scene.text)
    scene.world.wait(3_000)
    #expect(try scene.pull() == [scene.text.number])
    #expect(try scene.pull() == [scene.text.number])
    let without = Fixture(updates: false)
    without.editor.answersWillSave = false
    without.give(try without.activity("note"), without.text)
    #expect(try without.pull() == nil)
    without.editor.answersWillSave = true
    #expect(try without.pull() == [])
  }

  @Test func `whoever left the activity, or came late, is not asked by the save that runs (R4.2)`() throws {
    let scene = Fixture()
    let note = try scene.activity("note")
    scene.give(note, scene.text)
    scene.give(note, scene.pane)
    scene.editor.answersSaves = false
    _ = try scene.pull()
    let (engine, save) = (scene.editor.engine!, try #require(scene.editor.pendingSaves.last))
    #expect(engine.isSaving(save) && engine.isSaving(save, responder: scene.text))
    scene.give(try scene.activity("list"), scene.text)
    #expect(!engine.isSaving(save, responder: scene.text) && engine.isSaving(save, responder: scene.pane))
    scene.world.wait(5_000)
    #expect(!engine.isSaving(save) && !engine.isSaving(save, responder: scene.pane), "its time is up (R2.4)")
    scene.world.close(scene.editor)
  }

  @Test func `while it closes an app makes no other activity current (R4.3)`() throws {
    let scene = Fixture()
    let (note, list) = (try scene.activity("note"), try scene.activity("list"))
    scene.give(list, scene.window)
    scene.give(note, scene.text)
    scene.editor.onSave = { editor in editor.perform { $0.setActivity(nil, of: scene.text, $1) } }
    scene.world.close(scene.editor)
    #expect(scene.editor.engine.currentActivity == nil && scene.editor.engine.isClosed)
    #expect(scene.offered.isEmpty)
  }

  @Test func `of an app that dies no responder is left, which its activity holds (R4.1)`() throws {
    weak var left: Responder?
    func die() throws {
      let scene = Fixture()
      scene.give(try scene.activity("note"), scene.text)
      left = scene.text
      scene.world.kill(scene.editor)
    }
    try die()
    let isGone = left == nil
    #expect(isGone)
  }
}
