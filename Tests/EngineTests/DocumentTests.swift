// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

/// Documents: their part in saves and moves (R4.2, R5.2), and those that are opened for what is continued (R3.5).
@Suite struct DocumentTests {
  private let world = World()
  private let editor: TestApp
  private let viewer: TestApp

  init() {
    world.startHub()
    editor = world.open("editor")
    viewer = world.open("viewer")
  }

  private func add(_ url: String?, updates: Bool = true) -> Responder {
    editor.engine!.addResponder(editor, updates: updates, documentURL: url)
  }

  private func activity() throws -> Identifier {
    let id = world.identifier()
    editor.add(try Activity(type: "com.example.note"), as: id)
    return id
  }

  private func give(_ id: Identifier?, _ responder: Responder) {
    world.tell(editor) { $0.setActivity(id, of: responder, $1) }
  }

  /// Whom the next save asks, and the URL that it puts back.
  private func plan() throws -> (responders: [UInt64]?, url: String?) {
    let count = editor.plans.count
    _ = try world.continue(in: viewer)
    world.wait(1_000)
    return editor.plans.count == count ? (nil, nil) : (editor.plans.last ?? nil, editor.documentURLs.last ?? nil)
  }

  @Test func `documents are asked before other responders, but the chain comes last (R4.2)`() throws {
    let (window, other, first, second) = (add(nil), add(nil), add("file:///1"), add("file:///2"))
    let note = try activity()
    for responder in [window, first, other, second] { give(note, responder) }
    world.tell(editor) { $0.setMainResponder(window, $1) }
    var (asked, url) = try plan()
    #expect(asked == [first, second, other, window].map { $0.number } && url == "file:///2")
    world.tell(editor) { #expect($0.setNext(first, of: window, $1) == nil) }
    (asked, url) = try plan()
    #expect(asked == [second, other, first, window].map { $0.number } && url == "file:///1")
    world.tell(editor) { engine, _ in engine.setDocumentURL("file:///3", of: first) }
    #expect(try plan().url == "file:///3")
  }

  @Test func `a document is reason enough for a save at each pull, and alone empties nothing (R4.2, R5.2)`() throws {
    editor.answersWillSave = false
    let document = add("file:///1", updates: false)
    give(try activity(), document)
    world.tell(editor) { $0.setMainResponder(document, $1) }
    world.wait(3_000)
    for _ in 0..<2 {
      let (asked, url) = try plan()
      #expect(asked == [] && url == "file:///1")
    }
    let window = add(nil, updates: false)
    give(try activity(), window)
    world.tell(editor) { $0.setMainResponder(window, $1) }
    #expect(try plan().responders == nil)
  }

  @Test func `a document learns once that it has another activity (R5.2)`() throws {
    let (document, window) = (add("file:///1"), add(nil))
    let (one, two) = (try activity(), try activity())
    let told = "document \(document.number) changed"
    func changes() -> Int { editor.takeEvents().count { $0 == told } }
    editor.perform { engine, now in
      engine.setActivity(one, of: document, now)
      engine.setActivity(two, of: document, now)
      engine.setActivity(one, of: window, now)
    }
    world.wait(10)
    #expect(changes() == 1 && editor.engine.takeChange(of: document) == two)
    give(two, document)
    #expect(changes() == 0, "it has it")
    editor.invalidate(two)
    world.tell(editor) { $0.invalidate(two, $1) }
    #expect(changes() == 1 && editor.engine.takeChange(of: document) == nil)
    give(one, window)
    #expect(changes() == 0, "a window is none")
  }

  @Test func `responders that shared an activity follow to the next one (R5.2)`() throws {
    let (document, window, other) = (add("file:///1"), add(nil), add(nil))
    let (one, two, third) = (try activity(), try activity(), try activity())
    for responder in [document, window] { give(one, responder) }
    give(third, other)
    world.tell(editor) { $0.moveResponders(of: one, to: two, $1) }
    #expect([document, window, other].map { editor.engine.activity(of: $0) } == [two, two, third])
    #expect(editor.activity(one) == nil, "it was left alone (R4.4)")
    editor.invalidate(third)
    world.tell(editor) { $0.invalidate(third, $1) }
    world.tell(editor) { $0.moveResponders(of: two, to: third, $1) }
    #expect(editor.engine.activity(of: window) == two, "what was invalidated is for nobody")
  }

  // MARK: - Opening (R3.5)

  /// A continuation whose document is being opened.
  private func opening() throws -> Identifier {
    _ = try world.offer("note", by: editor)
    viewer.answersContinue = false
    let id = try world.continue(in: viewer)
    world.wait(100)
    world.tell(viewer) { engine, _ in #expect(engine.beginOpening(id) && engine.isAwaited(id)) }
    _ = viewer.takeEvents()
    return id
  }

  @Test func `a document that is opened ends the continuation as an answer does (R3.5)`() throws {
    let id = try opening()
    world.tell(viewer) { engine, _ in #expect(!engine.beginOpening(id), "it has begun") }
    world.tell(viewer) { $0.answer(id, handled: true, restored: true, $1) }
    #expect(editor.receipts.map { $0.outcome } == [.restored])
    world.tell(viewer) { $0.failOpening(id, SegueError(.notFound, "too late"), $1) }
    world.wait(30_000)
    #expect(viewer.takeEvents().isEmpty && editor.receipts.count == 1)
  }

  @Test func `a document that is never opened fails at the deadline, and a late one has no effect (R3.5)`() throws {
    let id = try opening()
    world.wait(19_000)
    #expect(viewer.engine.isAwaited(id) && editor.receipts.isEmpty)
    world.wait(1_000)
    #expect(viewer.takeEvents() == ["opening failed remoteApplicationTimedOut"])
    #expect(editor.receipts.map { $0.outcome } == [.failed] && editor.receipts[0].status == .remoteApplicationTimedOut)
    #expect(!viewer.engine.isAwaited(id))
    world.tell(viewer) { $0.answer(id, handled: true, restored: true, $1) }
    #expect(editor.receipts.count == 1 && viewer.engine.leak == nil)
  }

  @Test func `what is restored when the time is up does not count, and the failure is told (R3.5)`() throws {
    let id = try opening()
    viewer.perform { engine, now in
      engine.failOpening(id, SegueError(.remoteApplicationTimedOut, "too late"), now)
      #expect(!engine.isAwaited(id))
      engine.answer(id, handled: true, restored: true, now)
    }
    world.wait(10)
    #expect(viewer.takeEvents() == ["opening failed remoteApplicationTimedOut"])
    #expect(editor.receipts.map { $0.outcome } == [.failed] && viewer.engine.leak == nil)
  }

  @Test func `a document that cannot be opened, or not any more, fails at once (R3.5)`() throws {
    let failed = try opening()
    world.tell(viewer) { $0.failOpening(failed, SegueError(.handoffFailed, "it is damaged"), $1) }
    #expect(viewer.takeEvents() == ["opening failed handoffFailed"])
    #expect(editor.receipts.map { $0.reason } == ["it is damaged"])
    let cancelled = try world.continue(in: viewer)
    world.wait(100)
    world.tell(viewer) { engine, _ in #expect(engine.beginOpening(cancelled)) }
    _ = viewer.takeEvents()
    world.tell(viewer) { $0.cancel(cancelled, SegueError(.userCancelled, "the user cancelled"), $1) }
    #expect(viewer.takeEvents() == ["opening failed userCancelled"])
    #expect(editor.receipts.last?.outcome == .failed)
  }

  @Test func `the next continuation ends the opening of a document, unless that is open (R3.3)`() throws {
    _ = try opening()
    let second = try world.continue(in: viewer)
    world.wait(100)
    #expect(viewer.takeEvents() == ["opening failed userCancelled", "will_continue", "continue"])
    #expect(editor.receipts.map { $0.status } == [.userCancelled])
    world.tell(viewer) { engine, _ in #expect(engine.beginOpening(second) && engine.beginRestoring(second)) }
    viewer.answersContinue = true
    _ = try world.continue(in: viewer)
    world.wait(100)
    #expect(viewer.engine.isAwaited(second) && viewer.takeEvents() == ["will_continue", "continue"])
  }

  @Test func `what was handled opens no document, though its objects are still being restored (R3.5)`() throws {
    _ = try world.offer("note", by: editor)
    viewer.answersContinue = false
    let id = try world.continue(in: viewer)
    world.wait(100)
    world.tell(viewer) { engine, _ in #expect(engine.beginRestoring(id) && !engine.beginOpening(id)) }
    world.tell(viewer) { $0.answer(id, handled: true, restored: true, $1) }
    #expect(editor.receipts.map { $0.outcome } == [.restored])
  }

  @Test func `closing an app ends its openings (R3.14)`() throws {
    _ = try opening()
    world.close(viewer)
    #expect(viewer.takeEvents().contains("opening failed cancelled"))
    #expect(editor.receipts.map { $0.status } == [.cancelled])
  }

  @Test func `after the deadline of continue no document is opened (R3.5)`() throws {
    _ = try world.offer("note", by: editor)
    viewer.answersContinue = false
    let id = try world.continue(in: viewer)
    world.wait(20_000)
    world.tell(viewer) { engine, _ in #expect(!engine.beginOpening(id)) }
  }
}
