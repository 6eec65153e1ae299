// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

@Suite struct ContinuingTests {
  /// A hub, an editor that offers "Draft", and a viewer; their callbacks so far are dropped.
  private func world(limits: Limits = Limits()) throws -> (
    world: World, editor: TestApp, viewer: TestApp, id: Identifier
  ) {
    let world = World(hasHub: true)
    let editor = world.open("editor", limits: limits)
    let viewer = world.open("viewer")
    let id = try world.offer("Draft", by: editor)
    _ = editor.takeEvents()
    _ = viewer.takeEvents()
    return (world, editor, viewer, id)
  }

  @Test func `will_continue, will_save, continue, was_continued, one receipt (R3.1, R3.2, R3.6)`() throws {
    let (world, editor, viewer, id) = try world()
    editor.onSave = { try? $0.change(id) { try $0.setTitle("Saved") } }
    let continuation = try world.continue(in: viewer)
    #expect(viewer.takeEvents().filter { !$0.hasPrefix("changed") } == ["will_continue", "continue"])
    #expect(editor.takeEvents() == ["will_save", "was_continued", "ended restored"])
    #expect(viewer.continued.first?.activity.title == "Saved")
    #expect(viewer.continued.first?.from.continuation == continuation)
    #expect(editor.receipts.first?.continuation == continuation)
    #expect(editor.receipts.first?.receiver.appName == "viewer")
  }

  @Test func `one that is clean and was never saved is handed over as it is (R1.7)`() throws {
    let (world, editor, viewer, id) = try world()
    editor.change(id) { $0.declareNeedsSave(false) }
    _ = try world.continue(in: viewer)
    #expect(viewer.continued.first?.activity.title == "Draft")
    #expect(!editor.takeEvents().contains("will_save"))
  }

  @Test func `its progress is what has come of the whole, until it is answered (R3.9)`() throws {
    let (world, editor, viewer, id) = try world()
    let data = [UInt8](repeating: 7, count: 100_000)
    try editor.change(id) {
      try $0.setUserInfo(.dictionary([(key: .string("d"), value: .data(data))]), limit: Limits.value)
    }
    editor.answersSaves = false
    viewer.answersContinue = false
    let continuation = try world.continue(in: viewer)
    #expect(viewer.engine.progress(of: continuation).map { $0 == (0, 0) } ?? false)
    world.tell(editor) { $0.saved(editor.pendingSaves[0], $1) }
    let progress = try #require(viewer.engine.progress(of: continuation))
    #expect(progress.received == progress.total && progress.total > data.count)
    world.tell(viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    #expect(viewer.engine.progress(of: continuation) == nil)
  }

  @Test func `a payload of a megabyte arrives whole`() throws {
    let (world, editor, viewer, id) = try world()
    let data = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try editor.change(id) {
      try $0.setUserInfo(.dictionary([(key: .string("d"), value: .data(data))]), limit: Limits.value)
    }
    _ = try world.continue(in: viewer)
    #expect(viewer.continued.first?.activity.userInfo?["d"]?.data == data)
  }

  @Test func `declined before anything moves, with a reason that the origin sees (R3.7)`() throws {
    let (world, editor, viewer, _) = try world()
    viewer.declineReason = "too new"
    _ = try world.continue(in: viewer)
    #expect(viewer.takeEvents() == ["will_continue", "did_fail declined"])
    #expect(editor.takeEvents() == ["ended declined"])
    #expect(editor.receipts.first?.reason == "too new")
  }

  @Test func `what its living origin offers no longer is 4608, and 4609 once that is gone (R3.11)`() throws {
    let (world, editor, viewer, id) = try world()
    world.wait(10_000)
    let offer = try #require(viewer.engine.offers.all.first)
    func error() -> String? {
      world.tell(viewer) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
      return viewer.takeEvents().last
    }
    world.tell(editor) { $0.resignCurrent(id, $1) }
    #expect(error() == "did_fail handoffFailed")
    world.close(editor)
    #expect(error() == "did_fail connectionUnavailable")
  }

  @Test func `what another device has withdrawn is 4608, and 4609 once that is gone (R3.11)`() throws {
    let world = World(hasHub: true)
    let viewer = world.open("viewer")
    let (peer, id) = try world.linkHub()
    world.wait(10_000)
    func offer(_ number: UInt64) throws -> Offer {
      let activity = world.identifier()
      try peer.say(Message.offered(activity, "Draft", of: id, number))
      return try #require(viewer.engine.offers[activity])
    }
    func error(_ offer: Offer) -> String? {
      world.tell(viewer) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
      return viewer.takeEvents().last
    }
    let gone = try offer(1)
    try peer.say(.gone(gone.description.id, OffersVersion(hub: id, number: 2)))
    #expect(error(gone) == "did_fail handoffFailed")
    let lost = try offer(3)
    peer.disconnect()
    #expect(error(lost) == "did_fail connectionUnavailable")
    #expect(error(gone) == "did_fail connectionUnavailable")
  }

  @Test(arguments: [true, false])
  func `an activity of a type that was not offered fails before continue, unless it is declared (R2.6, R6.2)`(
    isDeclared: Bool
  ) throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let viewer = world.open("viewer", types: ["com.example.note"] + (isDeclared ? ["com.example.other"] : []))
    let id = try world.offer("Draft", by: editor)
    editor.add(try Activity(type: "com.example.other"), as: id)
    _ = viewer.takeEvents()
    _ = try world.continue(in: viewer)
    let events = viewer.takeEvents().filter { !$0.hasPrefix("changed") }
    #expect(events == (isDeclared ? ["will_continue", "continue"] : ["will_continue", "did_fail malformed"]))
    #expect(editor.receipts.map { $0.status } == [isDeclared ? .ok : .malformed])
  }

  @Test func `an attempt is known until it has ended, also of what was invalidated (R3.6)`() throws {
    let (world, editor, viewer, id) = try world()
    viewer.answersContinue = false
    let continuation = try world.continue(in: viewer)
    editor.invalidate(id)
    world.tell(editor) { $0.invalidate(id, $1) }
    #expect(editor.engine.isAttempted(id) && editor.receipts.isEmpty)
    world.tell(viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    #expect(!editor.engine.isAttempted(id))
    #expect(editor.takeEvents().suffix(2) == ["was_continued", "ended restored"])
  }

  @Test func `an offer that has expired is not even asked for (A18, R1.6)`() throws {
    let (world, editor, viewer, id) = try world()
    let date = world.now.date + 60
    try editor.change(id) { try $0.setExpirationDate(date) }
    world.wait(1_000)
    let offer = viewer.engine.offers.all[0]
    // No app is there that could refuse.
    world.killHub()
    world.wait(60_000)
    _ = viewer.takeEvents()
    world.tell(viewer) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
    #expect(viewer.takeEvents() == ["will_continue", "did_fail handoffFailed"])
    #expect(editor.receipts.isEmpty)
  }

  @Test func `who may not see it does not get it, whatever it knows of it (R6.2)`() throws {
    let (world, editor, viewer, _) = try world()
    let offer = viewer.engine.offers.all[0]
    let others = [world.open("stranger", team: "OTHER"), world.open("mail", types: ["com.example.mail"])]
    for other in others {
      world.tell(other) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
      #expect(other.takeEvents() == ["ready", "will_continue", "did_fail handoffFailed"])
    }
    #expect(editor.takeEvents().isEmpty, "nor does its origin hear of it")
  }

  @Test func `an app is of the team that it says, whoever made it (R6.6)`() throws {
    let (world, editor, _, _) = try world()
    let (member, stranger) = (world.open("reader"), world.open("editor.next", team: "OTHER"))
    #expect(member.engine.offers.all.map { $0.appName } == [editor.engine.identity.name])
    #expect(stranger.engine.offers.all.isEmpty)
  }

  @Test func `an outcome is told once, however often it is said (R3.6)`() throws {
    let (world, editor, viewer, _) = try world()
    let continuation = try world.continue(in: viewer)
    world.tell(viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    world.tell(viewer) { $0.answer(continuation, handled: false, restored: false, $1) }
    world.wait(60_000)
    #expect(editor.takeEvents() == ["will_save", "was_continued", "ended restored"])
  }

  @Test func `not handled is declined, not restored is failed (R3.4, R3.6)`() throws {
    let (world, editor, viewer, _) = try world()
    viewer.handles = false
    _ = try world.continue(in: viewer)
    viewer.handles = true
    viewer.restores = false
    _ = try world.continue(in: viewer)
    #expect(editor.takeEvents() == ["will_save", "ended declined", "will_save", "ended failed"])
  }

  @Test func `a second continuation cancels the first (R3.3)`() throws {
    let (world, editor, viewer, _) = try world()
    editor.answersSaves = false
    _ = try world.continue(in: viewer)
    editor.answersSaves = true
    _ = try world.continue(in: viewer)
    #expect(viewer.takeEvents() == ["will_continue", "did_fail userCancelled", "will_continue"])
    world.tell(editor) { $0.saved(editor.pendingSaves[0], $1) }
    #expect(viewer.takeEvents() == ["continue"])
    #expect(editor.receipts.map { $0.outcome } == [.failed, .restored])
  }

  /// A viewer that answers continue later, and has got the activity.
  private func unanswered() throws -> (world: World, editor: TestApp, viewer: TestApp, continuation: Identifier) {
    let (world, editor, viewer, _) = try world()
    viewer.answersContinue = false
    let continuation = try world.continue(in: viewer)
    #expect(viewer.takeEvents() == ["will_continue", "continue"])
    return (world, editor, viewer, continuation)
  }

  private func cancel(_ continuation: Identifier, in viewer: TestApp, of world: World) {
    world.tell(viewer) { $0.cancel(continuation, SegueError(.userCancelled, "the user cancelled"), $1) }
  }

  @Test func `without an answer both ends hear at the deadline that it has failed (R3.2, R3.9)`() throws {
    let (world, editor, viewer, continuation) = try unanswered()
    world.wait(19_000)
    #expect(viewer.takeEvents().isEmpty && editor.receipts.isEmpty)
    world.wait(1_000)
    #expect(viewer.takeEvents() == ["opening failed remoteApplicationTimedOut"])
    #expect(editor.receipts.map { $0.status } == [.remoteApplicationTimedOut])
    world.tell(viewer) { engine, now in
      #expect(!engine.isAwaited(continuation) && !engine.beginRestoring(continuation))
      engine.answer(continuation, handled: true, restored: true, now)
    }
    #expect(editor.receipts.count == 1 && viewer.engine.leak == nil)
  }

  @Test func `a cancel ends what continue has not answered, once at both ends (R3.9)`() throws {
    let (world, editor, viewer, continuation) = try unanswered()
    cancel(continuation, in: viewer, of: world)
    #expect(viewer.takeEvents() == ["opening failed userCancelled"])
    #expect(editor.receipts.map { $0.status } == [.userCancelled])
    world.tell(viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    cancel(continuation, in: viewer, of: world)
    world.wait(30_000)
    #expect(viewer.takeEvents().isEmpty && editor.receipts.count == 1 && viewer.engine.leak == nil)
  }

  @Test func `a second continuation cancels one that is not answered yet (R3.3)`() throws {
    let (world, editor, viewer, _) = try unanswered()
    viewer.answersContinue = true
    _ = try world.continue(in: viewer)
    #expect(viewer.takeEvents() == ["opening failed userCancelled", "will_continue", "continue"])
    #expect(editor.receipts.map { $0.outcome } == [.failed, .restored])
  }

  @Test func `what was answered is not cancelled, while its objects are being restored (R3.3, R3.4)`() throws {
    let (world, editor, viewer, continuation) = try unanswered()
    world.tell(viewer) { engine, _ in #expect(engine.beginRestoring(continuation)) }
    cancel(continuation, in: viewer, of: world)
    viewer.answersContinue = true
    _ = try world.continue(in: viewer)
    #expect(viewer.takeEvents() == ["will_continue", "continue"])
    world.tell(viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    #expect(editor.receipts.map { $0.outcome } == [.restored, .restored])
  }

  @Test func `objects that are not restored in time fail at both ends (R3.6, R3.9)`() throws {
    let (world, editor, viewer, continuation) = try unanswered()
    world.tell(viewer) { engine, _ in #expect(engine.beginRestoring(continuation)) }
    world.wait(20_000)
    #expect(viewer.takeEvents() == ["opening failed remoteApplicationTimedOut"])
    #expect(editor.receipts.map { $0.status } == [.remoteApplicationTimedOut])
  }

  @Test func `closing an app ends what it has not answered (R3.14)`() throws {
    let (world, editor, viewer, _) = try unanswered()
    world.close(viewer)
    #expect(viewer.takeEvents().contains("opening failed cancelled"))
    #expect(editor.receipts.map { $0.status } == [.cancelled])
  }

  @Test func `will_save unanswered for 5 s: the last snapshot, marked stale, or an error (R2.4)`() throws {
    let (world, editor, viewer, id) = try world()
    editor.answersSaves = false
    _ = try world.continue(in: viewer)
    world.wait(5_100)
    #expect(viewer.takeEvents() == ["will_continue", "did_fail remoteApplicationTimedOut"])
    editor.answersSaves = true
    _ = try world.continue(in: viewer)
    editor.answersSaves = false
    editor.change(id) { $0.markNeedsSave(true) }
    _ = try world.continue(in: viewer)
    world.wait(5_100)
    #expect(editor.receipts.last?.isStale == true)
    #expect(viewer.continued.last?.from.isStale == true)
  }

  /// Keywords have no limit of their own, so a document can be too large although user_info is not.
  @Test func `an activity that cannot be saved: the receiver hears why, and no older state passes for it (R2.2)`()
    throws
  {
    let (world, editor, viewer, id) = try world()
    _ = try world.continue(in: viewer)
    #expect(viewer.takeEvents() == ["will_continue", "continue"])
    let keywords = try Value.set([.string(String(repeating: "k", count: Limits.value - 100))])
    let userInfo = try Value.dictionary([(key: .string("a"), value: .data([UInt8](repeating: 1, count: 128 * 1024)))])
    try editor.change(id) {
      try $0.setUserInfo(userInfo, limit: Limits.value)
      try $0.setKeywords(keywords)
    }
    for _ in 0..<2 {
      _ = try world.continue(in: viewer)
      #expect(viewer.takeEvents() == ["will_continue", "did_fail limitExceeded"])
      #expect(editor.receipts.last?.outcome == .failed)
      #expect(editor.receipts.last?.status == .limitExceeded)
    }
    try editor.change(id) { try $0.setKeywords(nil) }
    _ = try world.continue(in: viewer)
    #expect(viewer.takeEvents() == ["will_continue", "continue"])
  }

  @Test func `a continuation has one deadline (R3.9)`() throws {
    var limits = Limits()
    limits.save = 60_000
    let (world, editor, viewer, _) = try world(limits: limits)
    editor.answersSaves = false
    _ = try world.continue(in: viewer)
    world.wait(19_900)
    #expect(viewer.takeEvents() == ["will_continue"])
    world.wait(200)
    #expect(viewer.takeEvents() == ["did_fail remoteApplicationTimedOut"])
    #expect(editor.receipts.map { $0.outcome } == [.failed])
  }

  @Test func `the origin dies: did_fail; the receiver dies: one receipt (R3.2, R3.6)`() throws {
    let (world, editor, viewer, _) = try world()
    editor.answersSaves = false
    _ = try world.continue(in: viewer)
    world.kill(editor)
    #expect(viewer.takeEvents().prefix(2) == ["will_continue", "gone Draft"])
    let second = world.open("second")
    _ = try world.offer("Again", by: second)
    viewer.answersContinue = false
    _ = try world.continue(in: viewer)
    world.kill(viewer)
    #expect(second.takeEvents().last == "ended unknown", "it had all of it, and said nothing")
  }

  @Test func `the hub dies: the next one goes on under the same name, or 4609 within 2 s (R3.14)`() throws {
    let (world, editor, viewer, _) = try world()
    editor.answersSaves = false
    let continuation = try world.continue(in: viewer)
    world.killHub()
    world.wait(500)
    world.startHub()
    world.tell(editor) { $0.saved(editor.pendingSaves[0], $1) }
    #expect(viewer.takeEvents().filter { $0 != "searching" && $0 != "ready" } == ["will_continue", "continue"])
    #expect(editor.receipts.map { $0.continuation } == [continuation])
    editor.answersSaves = true
    world.killHub()
    _ = try world.continue(in: viewer)
    world.wait(2_100)
    #expect(viewer.takeEvents().last == "did_fail connectionUnavailable")
  }

  /// Makes an activity larger than the window of a channel: it does not go out at once.
  private func enlarge(_ id: Identifier, of app: TestApp, in world: World) throws {
    let text = String(repeating: "a", count: 2 * FramedConnection.window)
    try app.change(id) {
      try $0.setUserInfo(try Value.dictionary([(.string("text"), .string(text))]), limit: Limits.value)
    }
  }

  @Test func `states that were on their way go out again through the next hub, none in place of another (R3.14)`()
    throws
  {
    let (world, editor, _, id) = try world()
    try enlarge(id, of: editor, in: world)
    let continuations = (0..<2).map { _ in
      Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: id)
    }
    let requesters = continuations.map { _ in world.identifier() }
    // They do not read: the bytes stay in flight.
    func ask(in order: [Int]) throws {
      for index in order {
        let requester = try RawPeer(app: "requester", as: requesters[index], in: world)
        try requester.say(.fetch(continuations[index], milliseconds: 10_000, receiver: nil))
      }
    }
    try ask(in: [0, 1])
    #expect(editor.engine.link?.openCount == 2)
    world.killHub()
    world.startHub()
    // In another order: the second now has the number that the first had.
    try ask(in: [1, 0])
    #expect(editor.engine.link?.openCount == 2)
  }

  @Test func `a state that waits to be asked for again does not get into another (R3.14)`() throws {
    let (world, editor, viewer, id) = try world()
    try enlarge(id, of: editor, in: world)
    let requester = try RawPeer(app: "requester", in: world)
    let continuation = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: id)
    try requester.say(.fetch(continuation, milliseconds: 10_000, receiver: nil))
    let channels = editor.engine.link?.openCount
    world.killHub()
    world.startHub()
    // On the channel whose number the other had.
    _ = try world.continue(in: viewer)
    #expect(channels == 1 && viewer.continued.count == 1)
    #expect(viewer.continued.first?.activity.userInfo == editor.activity(id)?.userInfo)
  }

  @Test func `an outcome that the dying hub lost is told to the next (R3.6)`() throws {
    let (world, editor, viewer, _) = try world()
    viewer.answersContinue = false
    let continuation = try world.continue(in: viewer)
    world.killHub()
    world.tell(viewer) { $0.answer(continuation, handled: true, restored: true, $1) }
    world.startHub()
    #expect(editor.receipts.map { $0.outcome } == [.restored])
    world.wait(60_000)
    #expect(editor.receipts.count == 1)
  }

  @Test func `closing ends what is under way (R3.14)`() throws {
    let (world, editor, viewer, _) = try world()
    editor.answersSaves = false
    _ = try world.continue(in: viewer)
    world.close(viewer)
    #expect(viewer.takeEvents() == ["will_continue", "did_fail cancelled"])
    #expect(editor.receipts.map { $0.outcome } == [.failed])
    let other = world.open("other")
    _ = try world.continue(in: other)
    world.close(editor)
    #expect(other.takeEvents().last == "did_fail handoffFailed")
    #expect(editor.engine.leak == nil)
    let id = try world.offer("Late", by: viewer)
    #expect(viewer.activity(id) != nil && viewer.engine.currentActivity == nil, "what is closed offers nothing more")
  }

  @Test func `invalidating keeps it from who does not have it yet (R1.11)`() throws {
    let (world, editor, viewer, id) = try world()
    editor.answersSaves = false
    _ = try world.continue(in: viewer)
    editor.invalidate(id)
    world.tell(editor) { $0.invalidate(id, $1) }
    #expect(viewer.takeEvents().contains("did_fail handoffFailed"))
  }

  @Test func `of an activity that was invalidated no state is kept (R1.11)`() throws {
    let (world, editor, viewer, id) = try world()
    _ = try world.continue(in: viewer)
    editor.invalidate(id)
    world.tell(editor) { $0.invalidate(id, $1) }
    #expect(editor.engine.leak == nil)
  }

  @Test func `asking for one continuation again and again does not cost its origin the hub`() throws {
    let (world, editor, _, id) = try world()
    let requester = try RawPeer(app: "requester", in: world)
    let continuation = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: id)
    try requester.say(.fetch(continuation, milliseconds: 1_000, receiver: nil))
    // More often than there may be channels.
    try requester.say(
      (0...FramedConnection.channelLimit).map { _ in .fetch(continuation, milliseconds: 1_000, receiver: nil) })
    #expect(editor.engine.isReady)
  }
}
