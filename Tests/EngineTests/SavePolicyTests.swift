// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

/// Whether will_save runs at a continuation (R2.9), and what is handed over without it.
@Suite struct SavePolicyTests {
  /// An app that offers a saved activity, and one that sees it; their callbacks so far are dropped.
  private struct Fixture {
    let world = World(hasHub: true)
    let editor: TestApp
    let viewer: TestApp
    let id: Identifier

    init(_ policy: SavePolicy) throws {
      editor = world.open("editor", savePolicy: policy)
      viewer = world.open("viewer")
      id = try world.offer("0", by: editor)
      world.wait(3_000)
      _ = editor.takeEvents()
    }

    /// The title that the viewer gets, and how often will_save ran for it.
    func pull() throws -> (title: String?, saves: Int) {
      _ = try world.continue(in: viewer)
      world.wait(1_000)
      return (viewer.continued.last?.activity.title, saves)
    }

    var saves: Int { editor.takeEvents().count { $0 == "will_save" } }

    /// will_save writes this title.
    func edit(_ title: String) {
      editor.onSave = { [id] editor in
        // No change of a title so short fails.
        editor.change(id) { activity in
          try? activity.update(whileSaving: true) { (activity) throws(SegueError) in try activity.setTitle(title) }
        }
      }
    }
  }

  @Test func `when pulled, who forgets needs_save hands over what it has now (R2.9)`() throws {
    let scene = try Fixture(.whenPulled)
    for title in ["1", "2"] {
      scene.edit(title)
      #expect(try scene.pull() == (title, 1))
    }
    scene.world.wait(60_000)
    #expect(scene.saves == 0, "saves by time follow needs_save")
  }

  @Test func `when needed, two continuations with no change between cause one will_save (R1.7, R2.9)`() throws {
    let scene = try Fixture(.whenNeeded)
    scene.edit("1")
    #expect(try scene.pull() == ("0", 0))
    scene.editor.change(scene.id) { $0.markNeedsSave(true) }
    #expect(try scene.pull() == ("1", 1))
    #expect(try scene.pull() == ("1", 0))
  }

  @Test(arguments: [SavePolicy.whenPulled, .whenNeeded])
  func `that nothing needs saving is believed until the next change (R2.9)`(policy: SavePolicy) throws {
    let scene = try Fixture(policy)
    scene.edit("1")
    scene.editor.change(scene.id) { $0.declareNeedsSave(false) }
    #expect(try scene.pull() == ("0", 0))
    #expect(try scene.pull() == ("0", 0))
    try scene.editor.change(scene.id) { try $0.setKeywords(Value.array([.string("k")])) }
    #expect(try scene.pull() == ("1", 1))
  }

  @Test func `to the background and to its end it is saved when pulled, not when needed (R2.9)`() throws {
    for (policy, saves) in [(SavePolicy.whenPulled, 1), (.whenNeeded, 0)] {
      let scene = try Fixture(policy)
      scene.world.tell(scene.editor) { $0.setForeground(false, $1) }
      #expect(scene.saves == saves)
      scene.world.tell(scene.editor) { $0.setForeground(true, $1) }
      scene.world.close(scene.editor)
      #expect(scene.saves == saves)
    }
  }

  @Test func `an activity that only resigns is saved if it needs to be (R2.2, R2.9)`() throws {
    let scene = try Fixture(.whenPulled)
    scene.world.tell(scene.editor) { $0.resignCurrent(scene.id, $1) }
    #expect(scene.saves == 0)
  }

  @Test(arguments: [SavePolicy.whenPulled, .whenNeeded])
  func `without will_save the properties are handed over as they are (R2.9)`(policy: SavePolicy) throws {
    let scene = try Fixture(policy)
    scene.editor.answersWillSave = false
    #expect(try scene.pull() == ("0", 0))
    // Neither of them sets the mark.
    try scene.editor.change(scene.id) {
      try $0.setTitle("1")
      $0.declareNeedsSave(false)
      try $0.setTargetContentIdentifier("there")
    }
    #expect(try scene.pull() == ("1", 0))
    #expect(scene.viewer.continued.last?.activity.targetContentIdentifier == "there")
  }

  @Test func `who comes while it is saved gets what is written until then (R2.9)`() throws {
    let scene = try Fixture(.whenPulled)
    let other = scene.world.open("other")
    scene.edit("1")
    scene.editor.answersSaves = false
    _ = try scene.world.continue(in: scene.viewer)
    scene.world.wait(100)
    #expect(scene.saves == 1)
    scene.edit("2")
    _ = try scene.world.continue(in: other)
    scene.world.wait(100)
    #expect(scene.saves == 0, "one will_save at a time")
    scene.editor.answersSaves = true
    scene.world.tell(scene.editor) { $0.saved(scene.editor.pendingSaves[0], $1) }
    scene.world.wait(1_000)
    #expect(scene.viewer.continued.last?.activity.title == "1")
    #expect(other.continued.last?.activity.title == "2")
    #expect(scene.saves == 1)
    #expect(scene.viewer.continued.last?.from.isStale == false && other.continued.last?.from.isStale == false)
  }

  @Test func `when needed, who comes while it is saved shares that, unless something changed (R2.3, R2.9)`() throws {
    for changes in [false, true] {
      let scene = try Fixture(.whenNeeded)
      let other = scene.world.open("other")
      scene.editor.answersSaves = false
      scene.editor.change(scene.id) { $0.markNeedsSave(true) }
      scene.edit("1")
      _ = try scene.world.continue(in: scene.viewer)
      scene.world.wait(100)
      scene.edit("2")
      if changes { scene.editor.change(scene.id) { $0.markNeedsSave(true) } }
      _ = try scene.world.continue(in: other)
      scene.editor.answersSaves = true
      scene.world.wait(100)
      scene.world.tell(scene.editor) { $0.saved(scene.editor.pendingSaves[0], $1) }
      scene.world.wait(1_000)
      #expect(scene.viewer.continued.last?.activity.title == "1")
      #expect(other.continued.last?.activity.title == (changes ? "2" : "1"))
      #expect(scene.saves == (changes ? 2 : 1))
    }
  }

  @Test func `who comes while it is saved, which is never answered, gets the last snapshot, too (R2.4)`() throws {
    let scene = try Fixture(.whenPulled)
    let other = scene.world.open("other")
    scene.editor.answersSaves = false
    _ = try scene.world.continue(in: scene.viewer)
    scene.world.wait(1_000)
    _ = try scene.world.continue(in: other)
    scene.world.wait(4_200)
    for receiver in [other, scene.viewer] {
      let from = receiver.continued.last?.from
      #expect(from?.isStale == true && from?.staleReason == "the origin did not save in time")
    }
  }

  @Test func `who could not save says so: the last snapshot at once, marked stale, or an error (R2.4)`() throws {
    let scene = try Fixture(.whenPulled)
    scene.editor.answersSaves = false
    for hasSnapshot in [true, false] {
      if !hasSnapshot { _ = try scene.world.offer("never saved", by: scene.editor) }
      _ = try scene.world.continue(in: scene.viewer)
      scene.world.wait(100)
      scene.world.tell(scene.editor) {
        $0.saveFailed(scene.editor.pendingSaves.last ?? 0, because: "disk full", $1)
      }
      scene.world.wait(100)
      #expect(scene.viewer.continued.count == 1 && scene.viewer.continued.last?.from.isStale == true)
      #expect(scene.viewer.continued.last?.from.staleReason == "the origin could not save: disk full")
      if !hasSnapshot { #expect(scene.viewer.failures.map { $0.message } == ["the origin could not save: disk full"]) }
      #expect(scene.viewer.takeEvents().contains("did_fail handoffFailed") == !hasSnapshot)
      #expect(scene.editor.current?.needsSave == true, "it is still unsaved")
    }
    #expect(scene.editor.receipts.map { $0.isStale } == [true, false])
    let told = scene.editor.receipts.map { $0.reason }
    #expect(told == ["the origin could not save: disk full", "the origin could not save: disk full"])
  }

  @Test func `what is being restored is passed on as it came, and saved afterwards (R4.2)`() throws {
    let scene = try Fixture(.whenPulled)
    let third = scene.world.open("third")
    scene.viewer.answersContinue = false
    let continuation = try scene.world.continue(in: scene.viewer)
    scene.world.wait(100)
    // It becomes current before all of it is on the screen.
    let here = scene.world.identifier()
    var activity = try #require(scene.viewer.continued.last?.activity)
    try activity.setPersistentIdentifier("changed")
    scene.viewer.add(activity, as: here)
    scene.viewer.cameBy[here] = continuation
    scene.viewer.onSave = { viewer in
      viewer.change(here) { try? $0.setTitle("half of it") }
    }
    scene.world.tell(scene.viewer) { $0.becomeCurrent(here, $1) }
    _ = scene.viewer.takeEvents()
    let offer = try #require(third.engine.offers[here])
    scene.world.tell(third) { $0.continue(offer, id: scene.world.identifier(), timeout: nil, $1) }
    scene.world.wait(5_000)
    #expect(third.continued.last?.activity.title == "0")
    #expect(!scene.viewer.takeEvents().contains("will_save"))
    scene.world.tell(scene.viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    scene.world.wait(3_000)
    #expect(scene.viewer.takeEvents().count { $0 == "will_save" } == 1, "it was changed, and is saved now")
  }
}
