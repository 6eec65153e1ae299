// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// The origin takes the state of its activity back from the app that continued it (R3.10).
@Suite struct ResumeBackTests {
  /// A viewer keeps what it has continued of an editor.
  private struct Fixture {
    let world: World
    let editor: TestApp
    let viewer: TestApp
    /// The editor's activity, and the one that the viewer keeps.
    let activity: Identifier
    let kept: Identifier
    let from: ContinuedFrom

    init(_ policy: SavePolicy = .whenPulled, editorPolicy: SavePolicy = .whenPulled) throws {
      world = World(hasHub: true)
      editor = world.open("editor", savePolicy: editorPolicy)
      viewer = world.open("viewer", savePolicy: policy)
      activity = try world.offer("Draft", by: editor)
      _ = try world.continue(in: viewer)
      let (state, from) = try #require(viewer.continued.first)
      self.from = from
      kept = viewer.keep(state, from, in: world)
      _ = (editor.takeEvents(), viewer.takeEvents())
    }

    /// The viewer's user writes.
    func write(_ title: String) throws { try viewer.change(kept) { try $0.setTitle(title) } }

    /// - Returns: the name of what has begun, or why nothing has.
    @discardableResult func resumeBack(timeout: Int64? = nil) -> (id: Identifier, rejection: SegueError?) {
      let id = world.identifier()
      var rejection: SegueError?
      world.tell(editor) { rejection = $0.resumeBack(activity, id: id, timeout: timeout, $1) }
      return (id, rejection)
    }

    var title: String? { editor.activity(activity)?.title }

    /// Checks that the editor was told of this failure, and of no other.
    func expectFailure(_ status: Status) {
      #expect(editor.takeEvents().filter { $0.hasPrefix("did_fail") } == ["did_fail \(status)"])
      #expect(editor.resumed.isEmpty && title == "Draft")
    }
  }

  @Test func `the state comes back as it is there now, and both sides are told (R3.10)`() throws {
    let scene = try Fixture()
    scene.viewer.onSave = { [kept = scene.kept] viewer in
      viewer.change(kept) { activity in
        try? activity.update(whileSaving: true) { (activity) throws(SegueError) in try activity.setTitle("Written") }
      }
    }
    #expect(scene.resumeBack().rejection == nil)
    #expect(scene.title == "Written")
    #expect(scene.editor.activity(scene.activity)?.needsSave == false)
    #expect(scene.editor.resumed.count == 1 && scene.editor.resumed[0].isStale == false)
    // For the viewer, which had the state, it counts as a continuation.
    #expect(scene.viewer.takeEvents() == ["will_save", "was_continued", "ended restored"])
    #expect(scene.viewer.receipts.last?.receiver.appName == "editor")
    #expect(scene.editor.takeEvents() == ["will_save", "will_resume_back"], "it is no continuation of an offer")
    // The offer follows.
    scene.world.wait(200)
    #expect(scene.viewer.engine.offers.all.map { $0.description.title } == ["Written"])
    scene.world.wait(60_000)
    #expect(scene.editor.engine.leak == nil && scene.viewer.engine.leak == nil)
  }

  @Test(arguments: [SavePolicy.whenPulled, .whenNeeded])
  func `will_save runs there by the save policy (R2.9, R3.10)`(policy: SavePolicy) throws {
    let scene = try Fixture(policy)
    scene.resumeBack()
    let saves = if case .whenPulled = policy { 1 } else { 0 }
    #expect(scene.viewer.takeEvents().count { $0 == "will_save" } == saves)
    try scene.write("Changed")
    scene.resumeBack()
    #expect(scene.viewer.takeEvents().count { $0 == "will_save" } == 1)
    #expect(scene.title == "Changed")
  }

  @Test func `neither side needs to have it current, and offers of others do not matter (R3.10)`() throws {
    let scene = try Fixture()
    try scene.write("There")
    _ = try scene.world.offer("Other", by: scene.editor)
    _ = try scene.world.offer("Mine", by: scene.viewer)
    scene.resumeBack()
    #expect(scene.title == "There")
  }

  @Test func `without an app that continued it there is nothing to take back (R3.10)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    let activity = try world.offer("Draft", by: editor)
    func rejection() -> Status? {
      var rejection: SegueError?
      world.tell(editor) { rejection = $0.resumeBack(activity, id: world.identifier(), timeout: nil, $1) }
      return rejection?.status
    }
    #expect(rejection() == .notFound)
    viewer.handles = false
    _ = try world.continue(in: viewer)
    #expect(rejection() == .notFound, "it was declined")
    viewer.answersContinue = false
    _ = try world.continue(in: viewer)
    #expect(rejection() == .notFound, "it is not answered yet")
    editor.invalidate(activity)
    world.tell(editor) { $0.invalidate(activity, $1) }
    #expect(rejection() == .invalidated)
    #expect(editor.takeEvents().allSatisfy { !$0.hasPrefix("did_fail") })
  }

  @Test func `of several apps the last is asked (R3.10)`() throws {
    let scene = try Fixture()
    let last = scene.world.open("last")
    _ = try scene.world.continue(in: last)
    let (state, from) = try #require(last.continued.first)
    let kept = last.keep(state, from, in: scene.world)
    try scene.write("First")
    try last.change(kept) { try $0.setTitle("Last") }
    scene.resumeBack()
    #expect(scene.title == "Last")
  }

  @Test func `what is not kept there cannot come back (R3.10)`() throws {
    let scene = try Fixture()
    scene.viewer.invalidate(scene.kept)
    scene.world.tell(scene.viewer) { $0.invalidate(scene.kept, $1) }
    scene.resumeBack()
    scene.expectFailure(.handoffFailed)
    #expect(scene.viewer.receipts.isEmpty)
  }

  @Test func `invalidated there while it is saved, it does not come back (R3.10)`() throws {
    let scene = try Fixture()
    scene.viewer.answersSaves = false
    scene.resumeBack()
    scene.viewer.invalidate(scene.kept)
    scene.world.tell(scene.viewer) { $0.invalidate(scene.kept, $1) }
    scene.expectFailure(.handoffFailed)
    #expect(scene.viewer.receipts.map { $0.outcome } == [.failed])
  }

  @Test func `that app is gone, before or meanwhile (R3.10)`() throws {
    let before = try Fixture()
    before.world.kill(before.viewer)
    before.world.wait(2_000)
    before.resumeBack()
    before.expectFailure(.connectionUnavailable)
    #expect(before.editor.failures.last.map { $0.message.contains("the origin") } == false)
    let meanwhile = try Fixture()
    meanwhile.viewer.answersSaves = false
    meanwhile.resumeBack()
    meanwhile.world.kill(meanwhile.viewer)
    meanwhile.expectFailure(.connectionUnavailable)
    #expect(meanwhile.editor.failures.last.map { $0.message.contains("the origin") } == false)
  }

  @Test func `it ends by its deadline, or when it is cancelled, and then nothing changes (R3.10)`() throws {
    let late = try Fixture()
    late.viewer.answersSaves = false
    late.resumeBack(timeout: 2_000)
    late.world.wait(1_990)
    #expect(late.editor.takeEvents().isEmpty)
    late.world.wait(10)
    late.expectFailure(.remoteApplicationTimedOut)
    late.world.tell(late.viewer) { [save = late.viewer.pendingSaves[0]] in $0.saved(save, $1) }
    #expect(late.title == "Draft")
    let cancelled = try Fixture()
    cancelled.viewer.answersSaves = false
    let id = cancelled.resumeBack().id
    cancelled.world.tell(cancelled.editor) { $0.cancel(id, SegueError(.userCancelled, "enough"), $1) }
    cancelled.expectFailure(.userCancelled)
    #expect(cancelled.viewer.receipts.map { $0.outcome } == [.failed])
  }

  @Test func `closing and invalidating end it (R3.10, R3.14)`() throws {
    let closed = try Fixture()
    closed.viewer.answersSaves = false
    closed.resumeBack()
    closed.world.close(closed.editor)
    closed.expectFailure(.cancelled)
    #expect(closed.editor.engine.leak == nil)
    let invalidated = try Fixture()
    invalidated.viewer.answersSaves = false
    invalidated.resumeBack()
    invalidated.world.tell(invalidated.editor) { $0.invalidate(invalidated.activity, $1) }
    invalidated.expectFailure(.invalidated)
  }

  @Test func `one at a time of each activity (R3.10)`() throws {
    let scene = try Fixture()
    scene.viewer.answersSaves = false
    #expect(scene.resumeBack().rejection == nil)
    #expect(scene.resumeBack().rejection?.status == .invalidState)
    scene.world.tell(scene.viewer) { [save = scene.viewer.pendingSaves[0]] in $0.saved(save, $1) }
    #expect(scene.editor.resumed.count == 1)
    scene.viewer.answersSaves = true
    #expect(scene.resumeBack().rejection == nil)
  }

  @Test func `it neither cancels a continuation of the app, nor is cancelled by one (R3.3, R3.10)`() throws {
    let scene = try Fixture()
    _ = try scene.world.offer("Mine", by: scene.viewer)
    scene.viewer.answersSaves = false
    scene.resumeBack()
    scene.editor.answersContinue = false
    _ = try scene.world.continue(in: scene.editor)
    for save in scene.viewer.pendingSaves { scene.world.tell(scene.viewer) { $0.saved(save, $1) } }
    #expect(scene.editor.continued.map { $0.activity.title } == ["Mine"])
    #expect(scene.editor.resumed.count == 1)
    #expect(scene.editor.takeEvents().allSatisfy { !$0.hasPrefix("did_fail") })
  }

  @Test func `a save that fails there gives an older state, marked stale, or an error (R2.4, R3.10)`() throws {
    let scene = try Fixture()
    scene.viewer.answersSaves = false
    func fail() {
      scene.world.tell(scene.viewer) { [save = scene.viewer.pendingSaves.last!] in $0.saveFailed(save, $1) }
    }
    scene.resumeBack()
    fail()
    // The editor is the origin, and so is the viewer of this continuation: the text names the one that is meant.
    #expect(scene.editor.failures.last?.message == "the app that had continued it could not save")
    #expect(scene.viewer.receipts.last?.reason == "the app that had continued it could not save")
    scene.expectFailure(.handoffFailed)
    scene.viewer.answersSaves = true
    scene.resumeBack()
    scene.viewer.answersSaves = false
    try scene.write("Unsaved")
    scene.resumeBack()
    fail()
    #expect(scene.editor.resumed.map { $0.isStale } == [false, true])
    #expect(scene.title == "Draft")
    #expect(scene.viewer.receipts.last?.reason == "the app that had continued it could not save")
  }

  @Test func `what came back is the next snapshot of the origin (R2.4, R3.10)`() throws {
    let scene = try Fixture()
    try scene.write("Back")
    scene.resumeBack()
    scene.editor.answersSaves = false
    let other = scene.world.open("other")
    _ = try scene.world.continue(in: other)
    scene.world.tell(scene.editor) { [save = scene.editor.pendingSaves[0]] in $0.saveFailed(save, $1) }
    #expect(other.continued.map { $0.activity.title } == ["Back"])
    #expect(other.continued.first?.from.isStale == true)
  }

  @Test func `the next hub goes on with it, once that app is there (R3.10, R3.14)`() throws {
    let scene = try Fixture()
    try scene.write("There")
    scene.viewer.answersSaves = false
    scene.resumeBack()
    scene.world.killHub()
    scene.viewer.process.stall()
    scene.world.startHub()
    #expect(scene.editor.resumed.isEmpty)
    scene.world.resume(scene.viewer)
    scene.world.tell(scene.viewer) { [save = scene.viewer.pendingSaves[0]] in $0.saved(save, $1) }
    #expect(scene.title == "There")
    #expect(scene.viewer.receipts.map { $0.outcome } == [.restored])
    #expect(scene.viewer.takeEvents().count { $0 == "will_save" } == 1)
  }

  /// The editor's user writes.
  private func write(_ title: String, in scene: Fixture) throws {
    try scene.editor.change(scene.activity) { try $0.setTitle(title) }
  }

  @Test(arguments: [SavePolicy.whenPulled, .whenNeeded])
  func `R3.10: without a handler, unsaved changes of the origin stay, and both sides are told`(
    policy: SavePolicy
  ) throws {
    let scene = try Fixture(editorPolicy: policy)
    try scene.write("There")
    try write("Here", in: scene)
    scene.resumeBack()
    #expect(scene.title == "Here" && scene.editor.resumed.isEmpty)
    let events = scene.editor.takeEvents()
    #expect(events == ["will_save", "will_resume_back changed", "did_fail declined"])
    #expect(scene.viewer.receipts.map { $0.outcome } == [.declined])
    #expect(scene.viewer.receipts.last?.reason == "the app that takes it back has unsaved changes")
    #expect(!scene.viewer.takeEvents().contains("was_continued"))
    // They are what is continued next.
    let other = scene.world.open("other")
    _ = try scene.world.continue(in: other)
    #expect(other.continued.map { $0.activity.title } == ["Here"])
  }

  @Test func `R3.10: a will_save that gives other bytes is a change, though nothing was marked`() throws {
    let scene = try Fixture()
    scene.editor.onSave = { [activity = scene.activity] editor in
      editor.change(activity) { activity in
        try? activity.update(whileSaving: true) { (activity) throws(SegueError) in try activity.setTitle("Typed") }
      }
    }
    scene.resumeBack()
    #expect(scene.title == "Typed")
    #expect(scene.editor.takeEvents() == ["will_save", "will_resume_back changed", "did_fail declined"])
    // The other app continues it again, and so has the newest.
    scene.viewer.invalidate(scene.kept)
    _ = try scene.world.continue(in: scene.viewer)
    let (state, from) = try #require(scene.viewer.continued.last)
    let kept = scene.viewer.keep(state, from, in: scene.world)
    try scene.viewer.change(kept) { try $0.setTitle("There") }
    _ = scene.editor.takeEvents()
    scene.resumeBack()
    #expect(scene.title == "There" && scene.editor.takeEvents() == ["will_save", "will_resume_back"])
  }

  @Test func `R3.10: attachments stay, so they are no change`() throws {
    let scene = try Fixture()
    try scene.editor.change(scene.activity) { try $0.attach(Attachment(name: "photo", size: 5)) }
    try scene.write("There")
    scene.resumeBack()
    #expect(scene.title == "There" && scene.editor.takeEvents().contains("will_resume_back"))
  }

  @Test(arguments: [(true, true), (true, false), (false, true), (false, false)])
  func `R3.10: the delegate decides, whatever has changed`(hasChanged: Bool, answer: Bool) throws {
    let scene = try Fixture()
    try scene.write("There")
    if hasChanged { try write("Here", in: scene) }
    scene.editor.answersResumption = { told in
      #expect(told == hasChanged)
      return answer
    }
    scene.resumeBack()
    #expect(scene.title == (answer ? "There" : hasChanged ? "Here" : "Draft"))
    #expect(scene.editor.resumed.count == (answer ? 1 : 0))
    #expect(scene.editor.takeEvents().contains("did_fail declined") == !answer)
    if !answer {
      let reason = "the app that takes it back keeps its \(hasChanged ? "unsaved changes" : "own state")"
      #expect(scene.editor.failures.last?.message == reason)
      #expect(scene.viewer.receipts.last?.reason == reason)
    }
    // After it was replaced, it has not changed.
    guard answer else { return }
    scene.editor.answersResumption = { _ in nil }
    try scene.write("Again")
    scene.resumeBack()
    #expect(scene.title == "Again")
  }

  @Test(arguments: [(false, "There"), (true, "Here")])
  func `R3.10: without an answer within 5 s changes stay, and what is unchanged is replaced`(
    hasChanged: Bool, title: String
  ) throws {
    let scene = try Fixture()
    try scene.write("There")
    if hasChanged { try write("Here", in: scene) }
    scene.editor.answersResumption = nil
    let id = scene.resumeBack().id
    scene.world.wait(4_990)
    #expect(scene.editor.resumed.isEmpty && !scene.editor.takeEvents().contains("did_fail declined"))
    scene.world.wait(10)
    #expect(scene.title == title && scene.editor.resumed.count == (hasChanged ? 0 : 1))
    scene.world.tell(scene.editor) { $0.answerResumption(id, true, $1) }
    #expect(scene.title == title)
    scene.world.wait(60_000)
    #expect(scene.editor.engine.leak == nil && scene.viewer.engine.leak == nil)
  }

  @Test func `R3.10: later answers count, and changes meanwhile stay`() throws {
    for change in [false, true] {
      let scene = try Fixture()
      try scene.write("There")
      scene.editor.answersResumption = nil
      let id = scene.resumeBack().id
      if change { try write("Meanwhile", in: scene) }
      scene.world.tell(scene.editor) { $0.answerResumption(id, true, $1) }
      #expect(scene.title == (change ? "Meanwhile" : "There"))
    }
  }

  @Test(arguments: [false, true])
  func `R3.10: a change between the answer and the replacement stays`(isSaved: Bool) throws {
    let scene = try Fixture()
    try scene.write("There")
    scene.editor.answersResumption = nil
    let id = scene.resumeBack().id
    // The host has answered, and returns to its loop, where the user types; the replacement waits for the next round.
    scene.editor.engine.answerResumption(id, true, scene.world.now)
    try write("Typed", in: scene)
    if isSaved { scene.editor.setNeedsSave(false, of: scene.activity) }
    scene.world.settle()
    #expect(scene.title == "Typed" && scene.editor.resumed.isEmpty)
    #expect(scene.editor.takeEvents().contains("did_fail declined"))
    #expect(scene.viewer.receipts.map { $0.outcome } == [.declined])
    #expect(scene.viewer.receipts.last?.reason == "the app that takes it back has unsaved changes")
    scene.world.wait(60_000)
    #expect(scene.editor.engine.leak == nil && scene.viewer.engine.leak == nil)
  }

  @Test func `R3.10: the host that agrees to lose changes loses those between its answer and the replacement`() throws {
    let scene = try Fixture()
    try scene.write("There")
    try write("Here", in: scene)
    scene.editor.answersResumption = nil
    let id = scene.resumeBack().id
    scene.editor.engine.answerResumption(id, true, scene.world.now)
    try write("Typed", in: scene)
    scene.world.settle()
    #expect(scene.title == "There" && scene.editor.resumed.count == 1)
  }

  @Test func `R3.10: a save that writes the same between the answer and the replacement is no change`() throws {
    let scene = try Fixture()
    scene.editor.onSave = { [activity = scene.activity] editor in
      editor.change(activity) { activity in
        try? activity.update(whileSaving: true) { (activity) throws(SegueError) in try activity.setTitle("Draft") }
      }
    }
    try scene.write("There")
    scene.editor.answersResumption = nil
    let id = scene.resumeBack().id
    scene.world.tell(scene.editor) { $0.setForeground(false, $1) }
    #expect(scene.editor.takeEvents().count { $0 == "will_save" } == 2)
    scene.world.tell(scene.editor) { $0.answerResumption(id, true, $1) }
    #expect(scene.title == "There" && scene.editor.resumed.count == 1)
  }

  @Test func `R3.10: the host is told of a change after the comparison, and may agree to lose it`() throws {
    let scene = try Fixture()
    try scene.write("There")
    scene.editor.answersSaves = false
    scene.editor.answersResumption = { _ in true }
    scene.resumeBack()
    scene.editor.engine.saved(scene.editor.pendingSaves[0], scene.world.now)
    try write("Here", in: scene)
    scene.world.settle()
    #expect(scene.editor.takeEvents() == ["will_save", "will_resume_back changed"])
    #expect(scene.title == "There" && scene.editor.resumed.count == 1)
  }

  @Test func `R3.10: what was replaced while a save was under way has not changed`() throws {
    let scene = try Fixture()
    try scene.write("There")
    scene.editor.answersResumption = nil
    let id = scene.resumeBack().id
    scene.editor.answersSaves = false
    scene.world.tell(scene.editor) { $0.setForeground(false, $1) }
    let save = try #require(scene.editor.pendingSaves.last)
    scene.world.tell(scene.editor) { $0.answerResumption(id, true, $1) }
    #expect(scene.title == "There")
    scene.editor.answersSaves = true
    scene.world.tell(scene.editor) { $0.saved(save, $1) }
    scene.editor.answersResumption = { _ in nil }
    try scene.write("Again")
    #expect(scene.resumeBack().rejection == nil)
    #expect(scene.title == "Again")
  }

  @Test func `R3.10: cancelled, closed, invalidated or timed out while it is asked, nothing is replaced`() throws {
    for end in 0..<4 {
      let scene = try Fixture()
      try scene.write("There")
      scene.editor.answersResumption = nil
      let id = scene.resumeBack(timeout: 1_000).id
      switch end {
      case 0: scene.world.tell(scene.editor) { $0.cancel(id, SegueError(.userCancelled, "enough"), $1) }
      case 1: scene.world.close(scene.editor)
      case 2: scene.world.tell(scene.editor) { $0.invalidate(scene.activity, $1) }
      default: scene.world.wait(1_000)
      }
      scene.expectFailure([.userCancelled, .cancelled, .invalidated, .remoteApplicationTimedOut][end])
    }
  }

  @Test func `R3.10: a save at the origin that fails, or has begun before, counts as a change or is waited for`() throws
  {
    let failing = try Fixture()
    failing.editor.answersSaves = false
    failing.resumeBack()
    failing.world.tell(failing.editor) { [save = failing.editor.pendingSaves.last!] in $0.saveFailed(save, $1) }
    #expect(failing.editor.takeEvents().suffix(2) == ["will_resume_back changed", "did_fail declined"])
    let begun = try Fixture()
    try begun.write("There")
    begun.editor.answersSaves = false
    let other = begun.world.open("other")
    _ = try begun.world.continue(in: other)
    begun.resumeBack()
    #expect(begun.editor.pendingSaves.count == 1)
    begun.editor.answersSaves = true
    begun.world.tell(begun.editor) { [save = begun.editor.pendingSaves[0]] in $0.saved(save, $1) }
    #expect(begun.title == "There" && begun.editor.takeEvents().count { $0 == "will_save" } == 2)
  }

  @Test func `nobody but the origin takes it back (R3.10, R6.2)`() throws {
    let scene = try Fixture()
    let other = try RawPeer(app: "other", in: scene.world)
    let viewer = scene.viewer.engine.identity.id
    // By the continuation, by the kept activity, and by one that is offered.
    let offered = try scene.world.offer("Mine", by: scene.viewer)
    _ = scene.viewer.takeEvents()
    for activity in [scene.from.continuation, scene.kept, offered] {
      let attempt = Message.Continuation(id: scene.world.identifier(), origin: viewer, activity: activity)
      try other.say(.fetch(attempt, milliseconds: 10_000, receiver: nil, isBack: true))
      #expect(other.refusal(of: attempt.id) == .handoffFailed)
    }
    #expect(scene.viewer.takeEvents().isEmpty && scene.viewer.receipts.isEmpty)
  }

  @Test func `a state of another type does not come back (R3.10)`() throws {
    let scene = try Fixture()
    scene.viewer.add(try Activity(type: "com.example.other"), as: scene.kept)
    scene.resumeBack()
    scene.expectFailure(.malformed)
  }

  @Test func `over a link it goes back along the route of the continuation (R3.10)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let activity = try world.offer("Draft", by: editor)
    let (hub, _) = try world.linkHub()
    let viewer = Receiver(id: world.identifier(), deviceName: "away", appName: "viewer", bundleIdentifier: "viewer")
    let there = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: activity)
    try hub.say(.fetch(there, milliseconds: 10_000, receiver: viewer))
    try hub.say(.outcome(there, .restored, nil, receiver: viewer))
    let id = world.identifier()
    world.tell(editor) { #expect($0.resumeBack(activity, id: id, timeout: nil, $1)?.status == nil) }
    let fetched = hub.heard.compactMap { message -> Message.Continuation? in
      guard case .fetch(let back, _, let receiver, _, true, _) = message else { return nil }
      #expect(receiver?.id == editor.engine.identity.id && receiver?.appName == "editor")
      return back
    }
    #expect(fetched.map { $0.id } == [id])
    #expect(fetched.first?.origin == viewer.id && fetched.first?.activity == there.id)
  }
}

extension TestApp {
  /// Keeps what it has continued (R3.12).
  func keep(_ state: Activity, _ from: ContinuedFrom, in world: World) -> Identifier {
    let id = world.identifier()
    add(state, as: id)
    cameBy[id] = from.continuation
    origins[from.continuation] = from.offer.origin
    return id
  }
}

extension RawPeer {
  /// Why a continuation got no state; nil if it did, or no answer came.
  func refusal(of id: Identifier) -> Status? {
    for case .refused(id, _, let error) in heard { return error.status }
    return nil
  }
}
