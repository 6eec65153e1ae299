// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Activities that can be searched reach the agent, and deletions remove them there (R8.1, R8.2).
@Suite struct SearchUpdatesTests {
  private let world = World()
  private let agent: TestAgent
  private let editor: TestApp

  init() {
    agent = world.startAgent()
    editor = world.open("editor")
  }

  /// Makes a new activity current.
  @discardableResult private func show(
    _ title: String, name: String? = nil, by app: TestApp? = nil, _ change: (inout Activity) throws -> Void = { _ in }
  ) throws -> Identifier {
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    try activity.setTitle(title)
    try activity.setPersistentIdentifier(name)
    activity.setEligible(.search, true)
    try change(&activity)
    let app = app ?? editor
    app.add(activity, as: id)
    world.tell(app) { $0.becomeCurrent(id, $1) }
    return id
  }

  private func delete(_ names: [String]?, by app: TestApp? = nil) -> UInt64 {
    var number: UInt64 = 0
    world.tell(app ?? editor) { number = $0.deleteSaved(names.map { try! .set($0.map { .string($0) }) }, $1) }
    return number
  }

  private var titles: [String] { agent.saved.map { $0.record.state.title ?? "" } }

  private func count(_ app: TestApp) throws -> Int64? {
    let answer = try #require(app.answers.last)
    return answer.error == nil ? try Value(cbor: answer.bytes)["count"]?.int64 : nil
  }

  @Test func `R8.1: an activity is saved when it becomes current, and each time that it is saved`() throws {
    let id = try show("one")
    #expect(agent.changes == ["save one"] && editor.takeEvents().contains("will_save"))
    world.wait(60_000)
    #expect(agent.changes == ["save one"], "nothing has changed")
    try editor.change(id) { try $0.setTitle("two") }
    world.wait(2_500)
    #expect(agent.changes == ["save one", "save two"] && titles == ["two"])
    #expect(agent.saved.map { $0.app } == ["com.example.editor"])
  }

  @Test func `R8.1: what is not eligible for search is never saved`() throws {
    let id = try show("one") { $0.setEligible(.search, false) }
    world.tell(editor) { $0.resignCurrent(id, $1) }
    world.close(editor)
    #expect(agent.changes.isEmpty)
    let viewer = world.open("viewer")
    world.killAgent()
    try show("two", by: viewer) { $0.setEligible(.search, false) }
    #expect(viewer.engine.heldBytes == 0)
  }

  @Test func `R10.2: what is private is not saved, and is again when it is private no longer`() throws {
    let id = try show("one") { $0.setPrivate(true) }
    world.tell(editor) { $0.resignCurrent(id, $1) }
    #expect(agent.changes.isEmpty)
    editor.change(id) { $0.setPrivate(false) }
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    #expect(titles == ["one"])
  }

  @Test(arguments: ["a", nil], [true, false])
  func `R10.2: what was saved is deleted when the activity becomes private`(name: String?, isCurrent: Bool) throws {
    let id = try show("one", name: name)
    let other = try show("two")
    world.wait(200)
    if isCurrent { world.tell(editor) { $0.becomeCurrent(id, $1) } }
    world.wait(200)
    try editor.change(id) {
      $0.setPrivate(true)
      try $0.setTitle("harmless")
    }
    world.wait(5_000)
    #expect(titles == ["two"])
    try editor.change(id) { try $0.setTitle("changed") }
    world.wait(5_000)
    #expect(agent.changes.count { $0.hasPrefix("delete") } == 1, "once")
    editor.change(id) { $0.setPrivate(false) }
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.wait(200)
    #expect(Set(titles) == ["two", "changed"])
    editor.change(other) { $0.setEligible(.search, false) }
    world.wait(5_000)
    #expect(titles.contains("two"), "that alone deletes nothing")
    editor.change(other) { $0.setPrivate(true) }
    world.settle()
    #expect(titles == ["changed"])
  }

  @Test func `R10.2: what waits to be saved is not, and what an earlier process has saved is deleted`() throws {
    let former = world.open("editor")
    try show("former", name: "a", by: former)
    world.kill(former)
    agent.isStuck = true
    try show("first")
    let id = try show("one", name: "a")
    editor.change(id) { $0.setPrivate(true) }
    agent.isStuck = false
    world.wait(5_000)
    #expect(titles == ["first"])
  }

  @Test func `R10.2: a save that has begun, and an activity that is then invalidated`() throws {
    editor.answersSaves = false
    let id = try show("one")
    editor.change(id) { $0.setPrivate(true) }
    editor.invalidate(id)
    world.tell(editor) { $0.invalidate(id, $1) }
    world.wait(5_000)
    #expect(titles.isEmpty && !agent.changes.contains("save one"))
  }

  @Test func `R10.2: the next agent hears it, also from an app that closes`() throws {
    let id = try show("one")
    agent.isStuck = true
    try show("two")
    editor.change(id) { $0.setPrivate(true) }
    world.close(editor)
    agent.isStuck = false
    world.settle()
    #expect(titles == ["two"])
    let viewer = world.open("viewer")
    let other = try show("three", by: viewer)
    world.killAgent()
    viewer.change(other) { $0.setPrivate(true) }
    let next = world.startAgent()
    world.wait(1_000)
    #expect(next.changes == ["delete activity"])
  }

  @Test func `R10.2: what is private and was never for search asks nothing of the agent`() throws {
    let id = try show("one") { $0.setEligible(.search, false) }
    editor.change(id) { $0.setPrivate(true) }
    world.wait(5_000)
    #expect(agent.changes.isEmpty)
  }

  @Test func `R10.2: a private activity that becomes current deletes what has its name, eligible or not`() throws {
    let former = world.open("editor")
    try show("former", name: "a", by: former)
    world.kill(former)
    let id = try show("one", name: "a") {
      $0.setEligible(.search, false)
      $0.setPrivate(true)
    }
    world.wait(1_000)
    #expect(titles.isEmpty && agent.changes.last == "delete a activity")
    let count = agent.changes.count
    editor.change(id) { $0.setEligible(.search, true) }
    world.wait(1_000)
    #expect(agent.changes.count == count, "it has been deleted")
    try editor.change(id) { try $0.setPersistentIdentifier("b") }
    world.wait(1_000)
    #expect(agent.changes.last == "delete b activity")
  }

  @Test func `R10.2: a bounded number of private activities waits for an agent`() throws {
    world.killAgent()
    world.startHub()
    for number in 0..<SearchUpdates.privateLimit + 10 {
      let id = try show("\(number)")
      editor.change(id) { $0.setPrivate(true) }
    }
    world.settle()
    #expect(editor.engine.brokenInvariant == nil)
    #expect(editor.logs.count { $0.contains("stays saved for search") } == 10)
  }

  @Test func `R8.1: it needs no offer, and outlives its activity and its app`() throws {
    let viewer = world.open("viewer")
    let id = try show("one") { $0.setEligible(.handoff, false) }
    #expect(viewer.engine.offers.all.isEmpty)
    editor.invalidate(id)
    world.tell(editor) { $0.invalidate(id, $1) }
    world.kill(editor)
    #expect(titles == ["one"])
  }

  @Test func `R8.1: it is saved although it is invalidated before will_save has answered`() throws {
    editor.answersSaves = false
    let id = try show("one")
    #expect(agent.changes.isEmpty)
    editor.invalidate(id)
    world.tell(editor) { $0.invalidate(id, $1) }
    #expect(agent.changes == ["save one"])
  }

  @Test func `R1.3: only the required keys of user_info are saved, and no attachment`() throws {
    try show("one") {
      let info = try Value.dictionary([
        (key: .string("page"), value: .integer(3)), (key: .string("draft"), value: .string("secret")),
        (key: .integer(1), value: .integer(1)),
      ])
      try $0.setUserInfo(info, limit: Limits().userInfo)
      try $0.setRequiredUserInfoKeys(try .array([.string("page")]))
      try $0.attach(Attachment(name: "file", size: 3))
    }
    let state = try #require(agent.saved.first?.record.state)
    #expect(state.userInfo?.count == 1 && state.userInfo?["page"]?.int64 == 3)
    #expect(state.attachments.isEmpty && state.persistentIdentifier == nil)
  }

  @Test func `R1.6: what has expired is not saved`() throws {
    try show("one") { try $0.setExpirationDate(world.now.date - 1) }
    #expect(agent.changes.isEmpty)
  }

  @Test func `R8.1: what was saved without an agent reaches the next one, each activity once`() throws {
    world.killAgent()
    world.startHub()
    let id = try show("one")
    try editor.change(id) { try $0.setTitle("two") }
    world.wait(30_000)
    try show("three")
    editor.invalidate(id)
    world.tell(editor) { $0.invalidate(id, $1) }
    let next = world.startAgent()
    world.wait(1_000)
    #expect(next.changes == ["save two", "save three"])
  }

  @Test func `an app keeps a bounded number of states for an agent that never comes`() throws {
    world.killAgent()
    world.startHub()
    for index in 0..<200 { try show("\(index)") }
    let large = [UInt8](repeating: 7, count: 200 * 1024)
    for index in 0..<40 {
      try show("large \(index)") {
        try $0.setUserInfo(try .dictionary([(key: .string("k"), value: .data(large))]), limit: Limits.value)
      }
    }
    #expect(editor.engine.heldBytes <= SearchUpdates.saveBytes + 1024)
    let next = world.startAgent()
    world.wait(10_000)
    #expect(next.changes.count == 20 && next.changes.last == "save large 39")
  }

  @Test func `what is not answered by a dying agent is sent to the next`() throws {
    agent.isStuck = true
    try show("one")
    #expect(agent.changes == ["save one"] && titles.isEmpty)
    world.killAgent()
    let next = world.startAgent()
    #expect(next.changes == ["save one"])
  }

  @Test func `a busy app is saved ten times a second at most`() throws {
    let id = try show("0")
    for index in 1...50 {
      try editor.change(id) { try $0.setTitle("\(index)") }
      world.tell(editor) { $0.becomeCurrent(id, $1) }
      world.wait(10)
    }
    world.wait(200)
    #expect((5...8).contains(agent.changes.count) && titles == ["50"])
  }

  @Test func `an app that closes sends what it has saved last`() throws {
    agent.isStuck = true
    try show("one")
    try show("two")
    world.close(editor)
    agent.isStuck = false
    world.settle()
    #expect(Set(titles) == ["one", "two"])
  }

  @Test func `R8.2: an app deletes by persistent identifier, and hears how many`() throws {
    try show("one", name: "a")
    world.wait(200)
    try show("two", name: "b")
    world.wait(200)
    let number = delete(["a", "none"])
    #expect(titles == ["two"])
    #expect(editor.answers.map { $0.number } == [number])
    #expect(try count(editor) == 1)
  }

  @Test func `R8.2: an app deletes all of its own, and nothing of others`() throws {
    let viewer = world.open("viewer")
    try show("one")
    world.wait(200)
    try show("two")
    world.wait(200)
    try show("three", by: viewer)
    world.wait(200)
    _ = delete(nil)
    #expect(titles == ["three"])
    #expect(try count(editor) == 2)
  }

  @Test func `R8.2: nothing that was saved before a deletion comes after it`() throws {
    agent.isStuck = true
    try show("one", name: "a")
    try show("two", name: "a")
    try show("three", name: "b")
    _ = delete(["a"])
    try show("four", name: "a")
    agent.isStuck = false
    world.wait(1_000)
    #expect(agent.changes == ["save one", "save three", "delete a", "save four"])
    #expect(titles == ["three", "four"])
    #expect(try count(editor) == 1)
  }

  @Test func `R8.2: without an agent a deletion fails at once, and says why`() throws {
    world.killAgent()
    world.startHub()
    try show("one", name: "a")
    _ = delete(["a"])
    #expect(editor.answers.map { $0.error?.status } == [.connectionUnavailable])
    let next = world.startAgent()
    world.wait(1_000)
    #expect(next.changes.isEmpty, "what waited is deleted")
  }

  @Test func `R8.2: a deletion ends by its deadline`() throws {
    agent.isStuck = true
    _ = delete(nil)
    world.wait(19_000)
    #expect(editor.answers.isEmpty)
    world.wait(2_000)
    #expect(editor.answers.map { $0.error?.status } == [.remoteApplicationTimedOut])
    world.killHub()
    _ = delete(nil)
    world.wait(21_000)
    #expect(editor.answers.last?.error?.status == .connectionUnavailable && editor.answers.count == 2)
  }

  @Test func `R8.2: an app that closes ends its deletions`() {
    agent.isStuck = true
    _ = delete(nil)
    _ = delete(["a"])
    world.close(editor)
    #expect(editor.answers.map { $0.error?.status } == [.cancelled, .cancelled])
  }

  @Test func `a disk that refuses is an error`() throws {
    agent.changeFailure = SegueError(.system, "search.db: the disk is full")
    _ = delete(nil)
    #expect(editor.answers.map { $0.error?.message } == ["search.db: the disk is full"])
    try show("one")
    world.wait(60_000)
    #expect(agent.changes == ["delete all", "save one"])
  }

  @Test func `too many identifiers are refused`() {
    _ = delete((0..<20_000).map { "an identifier of some length, to fill the request: \($0)" })
    #expect(editor.answers.map { $0.error?.status } == [.limitExceeded] && agent.changes.isEmpty)
  }

  @Test func `a chooser saves nothing`() throws {
    let chooser = world.open("chooser", chooser: true)
    try show("one", by: chooser)
    _ = delete(nil, by: chooser)
    #expect(agent.changes.isEmpty && chooser.answers.map { $0.error?.status } == [.declined])
  }

  /// Asks the agent itself, as an app does or a linked hub.
  /// - Parameter app: whom a hub names; nil: it is an app.
  /// - Returns: the status of the answer; nil without one, OK with bytes.
  private func ask(
    _ question: [UInt8], announcing size: Int? = nil, by peer: RawPeer, for app: Identifier? = nil
  ) throws -> Status? {
    let participant = try #require(agent.description.participant)
    let name = world.identifier()
    try peer.write(question, total: UInt64(question.count)) {
      .request(
        1, .init(id: name, origin: participant, activity: participant), from: app ?? name, milliseconds: 5_000,
        channel: $0, size: UInt64(size ?? question.count))
    }
    world.settle()
    for case .response(_, let continuation, _, _, _, let error) in peer.heard where continuation.id == name {
      return error?.status ?? .ok
    }
    return nil
  }

  private static func question(_ entries: (String, Value)...) throws -> [UInt8] {
    try Value.dictionary(entries.map { (key: .string($0.0), value: $0.1) }).encoding
  }

  @Test func `the agent refuses what it does not understand, and takes what it does`() throws {
    let peer = try RawPeer(app: "raw", in: world)
    let (ask, id) = (Value.string("save"), world.identifier())
    var activity = try Activity(type: "com.example.note")
    let hidden = Value.data(try ActivityDocument.encode(activity, .none))
    activity.setEligible(.search, true)
    let document = Value.data(try ActivityDocument.encode(activity, .none))
    let cases: [([UInt8], Status)] = [
      ([0xff], .malformed), (try Self.question(("ask", .string("what"))), .unsupportedVersion),
      (try Self.question(("ask", ask)), .malformed),
      (try Self.question(("ask", ask), ("activity", .uuid(id)), ("document", .data([1, 2]))), .malformed),
      (try Self.question(("ask", ask), ("activity", .uuid(id)), ("document", hidden)), .declined),
      (try Self.question(("ask", .string("delete")), ("persistent_identifiers", .integer(1))), .malformed),
      (
        try Self.question(
          ("ask", .string("delete")), ("persistent_identifiers", try .array([])), ("activities", try .array([ask]))),
        .malformed
      ),
      (
        try Self.question(("ask", .string("delete")), ("persistent_identifiers", try .array([.integer(1)]))),
        .malformed
      ),
    ]
    for (question, status) in cases { #expect(try self.ask(question, by: peer) == status) }
    #expect(try self.ask([1], announcing: 2, by: peer) == .handoffFailed)
    #expect(try self.ask([1, 2], announcing: 1, by: peer) == .handoffFailed)
    #expect(try self.ask([1], announcing: 1 << 30, by: peer) == .limitExceeded)
    #expect(agent.changes.isEmpty)
    let right = try Self.question(("ask", ask), ("activity", .uuid(id)), ("document", document))
    #expect(try self.ask(right, by: peer) == .ok)
    #expect(agent.saved.map { $0.app } == ["com.example.raw"])
  }

  @Test func `the apps of a process have 128 questions at a time at the agent, and others have room`() throws {
    agent.isStuck = true
    let process = world.process("raw")
    let peers = try (0..<2).map { try RawPeer(app: "raw\($0)", of: process, in: world) }
    let other = try RawPeer(app: "other", in: world)
    let question = try Self.question(("ask", .string("delete")))
    for number in 0..<128 { #expect(try ask(question, by: peers[number % 2]) == nil) }
    for peer in peers { #expect(try ask(question, by: peer) == .busy) }
    #expect(try ask(question, by: other) == nil)
  }

  @Test func `R8.1: the agent stores ten activities a second of a process, whatever its apps say`() throws {
    let process = world.process("raw")
    let peers = try (0..<2).map { try RawPeer(app: "raw\($0)", of: process, in: world) }
    var activity = try Activity(type: "com.example.note")
    activity.setEligible(.search, true)
    let question = try Self.question(
      ("ask", .string("save")), ("activity", .uuid(world.identifier())),
      ("document", .data(try ActivityDocument.encode(activity, .none))))
    let start = world.now.uptime
    var saved: Int64 = 0
    while try ask(question, by: peers[Int(saved % 2)]) == .ok { saved += 1 }
    let later = (world.now.uptime - start) / SearchUpdates.savePause
    #expect(saved == Int64(SaveQuota.burst) + later)
    #expect(try ask(question, by: peers[Int((saved + 1) % 2)]) == .busy, "another app of the process")
    #expect(try ask(question, by: try RawPeer(app: "other", in: world)) == .ok)
    world.wait(1_000)
    let count = try (0..<20).count { _ in try ask(question, by: peers[0]) == .ok }
    #expect(9...11 ~= count)
  }

  @Test func `R8.1, R3.10: what came back from another app is saved as it is now`() throws {
    let viewer = world.open("viewer", savePolicy: .whenPulled)
    let id = try show("one")
    _ = try world.continue(in: viewer)
    let (state, from) = try #require(viewer.continued.first)
    let kept = viewer.keep(state, from, in: world)
    try viewer.change(kept) { try $0.setTitle("two") }
    world.tell(editor) { _ = $0.resumeBack(id, id: world.identifier(), timeout: nil, $1) }
    world.wait(2_500)
    #expect(editor.activity(id)?.title == "two")
    #expect(agent.saved.filter { $0.app == "com.example.editor" }.map { $0.record.state.title } == ["two"])
  }

  @Test func `R8.2: another device changes nothing in the name of an app`() throws {
    try show("one")
    let (hub, _) = try world.linkHub()
    let participant = try #require(agent.description.participant)
    let name = world.identifier()
    let question = try Self.question(("ask", .string("delete")))
    try hub.say(
      .request(
        1, .init(id: name, origin: participant, activity: participant), from: editor.engine.identity.id,
        milliseconds: 5_000, channel: 2, size: UInt64(question.count)))
    // The data and the end of channel 2: the raw peer has the odd ones.
    let size = UInt8(question.count)
    hub.say([1, 0, 0, size, 0, 0, 0, 2] + question + [2, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, size], with: nil)
    #expect(hub.goodbye == nil && agent.changes == ["save one"])
    #expect(titles == ["one"])
  }

  @Test func `R8.3: a saved activity is continued in its app, which need not run`() throws {
    let id = try show("one", name: "a")
    world.kill(editor)
    let record = try #require(agent.saved.first?.record)
    agent.app = ChosenApp(bundleIdentifier: "com.example.editor", name: "editor", types: [])
    let request = try SavedStartRequest(
      number: 7, activity: id, document: record.document, app: "com.example.editor", team: "TEAM", appName: "Editor")
    agent.engine.open(request, world.now)
    world.settle()
    #expect(agent.launches == ["com.example.editor"] && agent.inbox.open.count == 1)
    #expect(agent.choices.map { $0.team } == ["TEAM"] && agent.choices.map { $0.wanted } == ["com.example.editor"])
    let next = world.open("editor")
    next.acceptDeliveries()
    world.settle()
    let (activity, from) = try #require(next.continued.first)
    #expect(activity.title == "one" && activity.persistentIdentifier == "a")
    #expect(from.offer.appName == "Editor" && from.offer.deviceName == "here")
    #expect(agent.outcomes == [.restored] && agent.inbox.open.isEmpty)
    #expect(agent.inbox.owed.isEmpty, "nobody waits for a receipt")
  }

  @Test func `R8.3: what the app has not answered by the deadline waits`() throws {
    let id = try show("one")
    let record = try #require(agent.saved.first?.record)
    let request = try SavedStartRequest(
      number: 7, activity: id, document: record.document, app: "com.example.editor", team: "TEAM", appName: "Editor")
    agent.engine.open(request, world.now)
    world.wait(21_000)
    #expect(agent.outcomes == [.unknown] && agent.inbox.open.count == 1 && agent.inbox.owed.isEmpty)
  }

  @Test func `R8.3: without an app that fits nothing waits`() throws {
    let id = try show("one")
    agent.app = nil
    let document = try #require(agent.saved.first?.record.document)
    let request = try SavedStartRequest(
      number: 7, activity: id, document: document, app: "com.example.editor", team: "TEAM", appName: "Editor")
    agent.engine.open(request, world.now)
    world.settle()
    #expect(agent.outcomes == [nil] && agent.inbox.entries.isEmpty)
  }
}
