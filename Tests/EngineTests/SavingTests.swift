// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

/// When changes are sent and saved (R2.2, R2.3, R2.8).
@Suite struct SavingTests {
  @Test func `changes are told once in 100 ms, and the last always (R2.8)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = viewer.takeEvents()
    let id = try world.offer("0", by: editor)
    world.wait(1_000)
    _ = viewer.takeEvents()
    for number in 1...1_000 {
      try editor.change(id) { try $0.setTitle("\(number)") }
      world.wait(1)
    }
    for number in 1_001...1_002 { try editor.change(id) { try $0.setTitle("\(number)") } }
    #expect(editor.engine.nextDeadline ?? .max <= world.now.uptime + 100, "the last waits for no other event")
    world.wait(200)
    let events = viewer.takeEvents()
    #expect(events.last == "changed 1002")
    // 1,000 steps of 1 ms, and the time that `World` adds to each.
    #expect(events.count <= 22, "\(events.count) changes were told")
  }

  @Test func `an activity is saved 2 s after its last change, 10 s after the first at the latest (R2.2, R2.3)`() throws
  {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let id = try world.offer("Draft", by: editor)
    world.wait(1_900)
    #expect(!editor.takeEvents().contains("will_save"))
    world.wait(200)
    #expect(editor.takeEvents() == ["will_save"])
    // Always in use: 10 s.
    for _ in 0..<11 {
      editor.change(id) { $0.markNeedsSave(true) }
      world.wait(1_000)
    }
    #expect(editor.takeEvents() == ["will_save"])
    world.wait(60_000)
    #expect(editor.takeEvents() == ["will_save"], "the last change")
    world.wait(600_000)
    #expect(editor.takeEvents().isEmpty)
  }

  @Test func `what was marked clean is no longer late when it is marked again (R1.7, R2.2)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let id = try world.offer("Draft", by: editor)
    world.wait(3_000)
    #expect(editor.takeEvents().contains("will_save"))
    editor.change(id) { $0.markNeedsSave(true) }
    world.wait(1_000)
    editor.change(id) { $0.markNeedsSave(false) }
    world.wait(20_000)
    editor.change(id) { $0.markNeedsSave(true) }
    world.wait(1_900)
    #expect(editor.takeEvents().isEmpty)
    world.wait(200)
    #expect(editor.takeEvents() == ["will_save"])
  }

  @Test func `what changes while it is saved is saved, too, and who answers too late is asked again (R2.2)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let id = try world.offer("Draft", by: editor)
    editor.answersSaves = false
    world.wait(3_000)
    editor.change(id) { $0.markNeedsSave(true) }
    world.wait(1_000)
    editor.answersSaves = true
    world.tell(editor) { $0.saved(editor.pendingSaves[0], $1) }
    world.wait(3_000)
    #expect(editor.takeEvents() == ["ready", "will_save", "will_save"])
    #expect(editor.activity(id)?.needsSave == false)
    editor.answersSaves = false
    editor.change(id) { $0.markNeedsSave(true) }
    world.wait(60_000)
    #expect(editor.takeEvents() == ["will_save"], "it does not answer: it is not asked again and again")
    #expect(editor.activity(id)?.needsSave == true)
    editor.answersSaves = true
    world.tell(editor) { $0.saved(editor.pendingSaves[1], $1) }
    world.wait(3_000)
    #expect(editor.takeEvents() == ["will_save"])
    #expect(editor.activity(id)?.needsSave == false)
  }

  @Test(arguments: [true, false])
  func `a change during a save that fails is saved when that has ended (R2.2, R2.4)`(isAnswered: Bool) throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let id = try world.offer("Draft", by: editor)
    editor.answersSaves = false
    // The save begins after 2 s, and is given up after 7 s.
    world.wait(3_000)
    editor.change(id) { $0.markNeedsSave(true) }
    world.wait(2_500)
    #expect(editor.takeEvents() == ["ready", "will_save"], "one at a time")
    if isAnswered { world.tell(editor) { $0.saveFailed(editor.pendingSaves[0], because: "no room", $1) } }
    world.wait(isAnswered ? 100 : 2_000)
    #expect(editor.takeEvents() == ["will_save"])
    if isAnswered { world.tell(editor) { $0.saveFailed(editor.pendingSaves[1], because: "no room", $1) } }
    world.wait(60_000)
    #expect(editor.takeEvents().isEmpty, "without a change it is not asked again")
    #expect(editor.activity(id)?.needsSave == true)
  }
}
