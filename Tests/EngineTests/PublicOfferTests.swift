// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// Activities that apps of other teams continue, too (R13.1), and the labels of apps (R13.6).
@Suite struct PublicOfferTests {
  private let world = World(hasHub: true)
  private let editing = "SegueActivityTypeEditingText"

  /// - Parameter isPublic: nil: what its type says.
  private func offer(_ isPublic: Bool?, type: String, title: String, by app: TestApp) throws -> Identifier {
    let id = world.identifier()
    var activity = try Activity(type: type)
    try activity.setTitle(title)
    activity.setPublic(isPublic)
    app.add(activity, as: id)
    world.tell(app) { $0.becomeCurrent(id, $1) }
    world.wait(200)
    return id
  }

  @Test(arguments: ["SegueActivityTypeEditingText", "NSUserActivityTypeBrowsingWeb", "com.example.note"])
  func `a public activity reaches apps of other teams that declare its type, others never (R13.1)`(
    _ type: String
  ) throws {
    let (editor, ours) = (world.open("editor", types: [type]), world.open("ours", types: [type]))
    let stranger = world.open("stranger", types: ["com.example.mail", type], team: "OTHER")
    let deaf = world.open("deaf", types: ["com.example.mail"], team: "OTHER")
    for app in [ours, stranger, deaf] { _ = app.takeEvents() }
    let isPublic = type != "com.example.note"
    let id = try offer(nil, type: type, title: "Draft", by: editor)
    #expect(ours.takeEvents() == ["appeared Draft"])
    #expect(stranger.takeEvents() == (isPublic ? ["appeared Draft"] : []))
    #expect(ours.engine.offers.all.map { $0.description.isPublic } == [isPublic])
    // The origin decides for both kinds.
    editor.change(id) { $0.setPublic(!isPublic) }
    world.wait(200)
    #expect(stranger.takeEvents() == (isPublic ? ["gone Draft"] : ["appeared Draft"]))
    editor.change(id) { $0.setPublic(isPublic) }
    world.wait(200)
    #expect(stranger.takeEvents() == (isPublic ? ["appeared Draft"] : ["gone Draft"]))
    #expect(!ours.takeEvents().contains { $0.hasPrefix("gone") || $0.hasPrefix("appeared") }, "R2.8: no flicker")
    #expect(deaf.takeEvents() == [])
    world.tell(editor) { $0.resignCurrent(id, $1) }
    #expect(world.hub?.brokenInvariant == nil)
    #expect(ours.engine.offers.all.isEmpty && stranger.engine.offers.all.isEmpty)
  }

  @Test func `an app that opens later sees what is public, and no other (R13.1)`() throws {
    let (one, two) = (world.open("one"), world.open("two"))
    _ = try offer(true, type: "com.example.note", title: "Public", by: one)
    _ = try offer(false, type: "com.example.note", title: "Ours", by: two)
    let stranger = world.open("stranger", team: "OTHER")
    #expect(stranger.engine.offers.all.map { $0.description.title } == ["Public"])
    let ours = world.open("ours")
    #expect(Set(ours.engine.offers.all.map { $0.description.title }) == ["Public", "Ours"])
  }

  @Test func `an app of another team continues it, unless it ceases to be public (R13.1)`() throws {
    let editor = world.open("editor")
    let stranger = world.open("stranger", team: "OTHER")
    let id = try offer(true, type: "com.example.note", title: "Draft", by: editor)
    _ = try world.continue(in: stranger)
    #expect(stranger.continued.map { $0.activity.isPublic } == [true])
    let offer = try #require(stranger.engine.offers.all.first)
    editor.change(id) { $0.setPublic(false) }
    world.wait(200)
    world.tell(stranger) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
    #expect(stranger.takeEvents().contains("did_fail handoffFailed"))
    #expect(stranger.continued.count == 1)
  }

  @Test func `an app of an earlier version says nothing: its offer is for its team alone (R13.1)`() throws {
    let ours = world.open("ours", types: [editing])
    let stranger = world.open("stranger", types: [editing], team: "OTHER")
    let editor = try RawPeer(app: "editor", as: world.identifier(), in: world)
    let timing = OfferTiming(age: 0, remaining: nil)
    let description = OfferDescription(world.identifier(), "Draft", type: editing)
    try editor.say(.publish(description, timing, activation: 1))
    #expect(ours.engine.offers.all.count == 1 && stranger.engine.offers.all.isEmpty)
    try editor.say(
      .publish(description.marked(isPrivate: false, webOrigin: nil, isPublic: true), timing, activation: 1))
    #expect(stranger.engine.offers.all.count == 1)
    try editor.say(.publish(description, timing, activation: 1))
    #expect(ours.engine.offers.all.count == 1 && stranger.engine.offers.all.isEmpty)
  }

  @Test func `an app whose team has no name is another team like any other (R6.2, R13.1)`() throws {
    let editor = world.open("editor", team: "")
    let stranger = world.open("stranger", team: "OTHER")
    _ = try offer(false, type: "com.example.note", title: "Draft", by: editor)
    #expect(stranger.engine.offers.all.isEmpty)
  }

  @Test func `a private public activity is for all teams of this device, and crosses no link (R10.2, R13.1)`() throws {
    let device = Identifier(high: 0xd0, low: 1)
    let peer = try world.linkHub(device: device).peer
    let editor = world.open("editor")
    let stranger = world.open("stranger", types: ["com.example.note", editing], team: "OTHER")
    func heard() -> [String?] {
      peer.heard.compactMap { if case .offer(let offer, _, _) = $0 { offer.description.title } else { nil } }
    }
    let id = world.identifier()
    var activity = try Activity(type: editing)
    activity.setPrivate(true)
    editor.add(activity, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.wait(200)
    #expect(heard().isEmpty && stranger.engine.offers.all.map { $0.description.id } == [id])
    _ = try offer(true, type: "com.example.note", title: "Letter", by: editor)
    #expect(heard() == ["Letter"])
    let last = peer.heard.last { if case .offer = $0 { true } else { false } }
    guard case .offer(let told, _, let origin?)? = last else {
      Issue.record("no offer")
      return
    }
    #expect(told.description.isPublic && origin.team == "TEAM")
    _ = try offer(nil, type: "com.example.note", title: "Ours", by: editor)
    #expect(stranger.engine.offers.all.isEmpty)
  }

  @Test func `what another device tells is public if it says so (R13.1)`() throws {
    let device = Identifier(high: 0xd0, low: 1)
    let (peer, hub) = try world.linkHub(device: device)
    let stranger = world.open("stranger", team: "OTHER")
    let ours = world.open("ours")
    let id = world.identifier()
    func tell(_ isPublic: Bool, _ number: UInt64) throws {
      let message = Message.offered(id, "Letter", of: hub, number)
      guard case .offer(let offer, let timing, let from) = message else { return }
      let description = offer.description.marked(
        isPrivate: false, webOrigin: nil, isPublic: isPublic, contentType: "text/plain")
      try peer.say(.offer(offer.described(description), timing, from))
    }
    try tell(false, 1)
    #expect(stranger.engine.offers.all.isEmpty && ours.engine.offers.all.count == 1)
    try tell(true, 2)
    #expect(stranger.engine.offers.all.map { $0.description.contentType } == ["text/plain"])
    _ = ours.takeEvents()
    try tell(false, 3)
    #expect(stranger.engine.offers.all.isEmpty && ours.engine.offers.all.count == 1)
    #expect(ours.takeEvents() == ["changed Letter"], "R2.8: no flicker")
  }

  @Test func `only a public offer carries a content type, and only a valid one (R13.1)`() throws {
    let (editor, viewer) = (world.open("editor"), world.open("viewer"))
    let id = try offer(false, type: "com.example.note", title: "Draft", by: editor)
    func contentType(_ text: String, isPublic: Bool = true) throws -> String? {
      try editor.change(id) {
        $0.setPublic(isPublic)
        try $0.setUserInfo(.dictionary([(.string("contentType"), .string(text))]), limit: Limits.value)
      }
      world.wait(200)
      return viewer.engine.offers.all.first?.description.contentType
    }
    #expect(try contentType("text/plain", isPublic: false) == nil)
    #expect(try contentType("text/x-c++src") == "text/x-c++src")
    for wrong in ["text", "/plain", "text/", "text/plain; charset=x", "a/b/c", "text/pl\u{e4}in", ""] {
      #expect(try contentType(wrong) == nil, "\(wrong)")
    }
    #expect(try contentType("a/" + String(repeating: "b", count: 254)) == nil)
  }

  @Test func `explain names apps of other teams only for what is not public (R6.5, R13.1)`() throws {
    let editor = world.open("editor")
    _ = world.open("stranger", team: "OTHER")
    _ = world.open("deaf", types: [], team: "OTHER")
    func reasons(_ id: Identifier) -> [String] {
      world.tell(editor) { _ = $0.explain(id, editor.activity(id), $1) }
      world.wait(100)
      return editor.reasons.map { "\($0.app ?? ""): \($0.message)" }
    }
    let id = try offer(false, type: "com.example.note", title: "Draft", by: editor)
    let differs = "it is an app of another team, and the activity is not public"
    #expect(reasons(id) == ["stranger: \(differs)", "deaf: \(differs)"])
    editor.change(id) { $0.setPublic(true) }
    world.wait(200)
    #expect(reasons(id) == ["deaf: it does not declare the type of the activity"])
  }

  @Test func `an offer carries the label that its app has now (R13.6)`() throws {
    let (editor, viewer) = (world.open("editor"), world.open("viewer"))
    world.tell(editor) { $0.setLabel("window 1", $1) }
    _ = try offer(nil, type: "com.example.note", title: "Draft", by: editor)
    func label() -> String? { viewer.engine.offers.all.first?.description.label }
    #expect(label() == "window 1")
    _ = viewer.takeEvents()
    world.tell(editor) { $0.setLabel("window 2", $1) }
    world.wait(200)
    #expect(label() == "window 2")
    #expect(viewer.takeEvents() == ["changed Draft"])
    world.tell(editor) { $0.setLabel(nil, $1) }
    world.wait(200)
    #expect(label() == nil)
  }
}
