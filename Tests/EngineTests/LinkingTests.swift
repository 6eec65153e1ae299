import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Devices whose hubs are linked.
@Suite struct LinkingTests {
  private func titles(_ app: TestApp) -> [String] { app.engine.offers.all.map { $0.description.title ?? "" } }

  @Test func `an activity is offered and continued on a linked device (R2.1, R3.6)`() throws {
    let devices = LinkedWorlds(2)
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[1].open("viewer")
    _ = try devices.worlds[0].offer("Draft", by: editor)
    devices.link(0, 1)
    devices.wait(1_000)
    #expect(titles(viewer) == ["Draft"])
    #expect(viewer.engine.offers.all[0].deviceName == "device 1")
    _ = try devices.worlds[1].continue(in: viewer)
    devices.wait(1_000)
    #expect(viewer.continued.map { $0.activity.title } == ["Draft"])
    #expect(editor.receipts.map { $0.outcome } == [.restored])
    #expect(editor.receipts.map { $0.receiver.deviceName } == ["device 2"])
  }

  @Test func `offers pass a chain of hubs, and so do continuations, declines and receipts (R3.7)`() throws {
    let devices = LinkedWorlds(4)
    for index in 0..<3 { devices.link(index, index + 1) }
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[3].open("viewer")
    _ = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    viewer.declineReason = "too old"
    _ = try devices.worlds[3].continue(in: viewer)
    devices.wait(1_000)
    #expect(editor.receipts.map { $0.outcome } == [.declined])
    #expect(editor.receipts.map { $0.reason } == ["too old"])
    viewer.declineReason = nil
    _ = try devices.worlds[3].continue(in: viewer)
    devices.wait(1_000)
    #expect(editor.receipts.map { $0.outcome } == [.declined, .restored])
  }

  @Test func `a withdrawal outruns what others still say (R1.11)`() throws {
    let devices = LinkedWorlds(6)
    devices.linkAll()
    let editor = devices.worlds[0].open("editor")
    let viewers = (1..<6).map { devices.worlds[$0].open("viewer") }
    let id = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    for viewer in viewers { #expect(titles(viewer) == ["Draft"]) }
    editor.invalidate(id)
    devices.worlds[0].tell(editor) { $0.invalidate(id, $1) }
    devices.wait(3 * devices.delay)
    for viewer in viewers {
      #expect(titles(viewer).isEmpty)
      #expect(viewer.takeEvents().filter { $0.hasSuffix("Draft") } == ["appeared Draft", "gone Draft"])
    }
  }

  @Test func `what was said before a withdrawal, and comes after it, is not believed (R1.11)`() throws {
    let devices = LinkedWorlds(3)
    devices.linkAll()
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[2].open("viewer")
    devices.wait(1_000)
    let id = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(devices.delay / 2)
    // What the second device now passes on to the third takes a while.
    let delay = devices.delay
    devices.delay = 5_000
    devices.wait(delay)
    devices.delay = delay
    #expect(titles(viewer) == ["Draft"])
    editor.invalidate(id)
    devices.worlds[0].tell(editor) { $0.invalidate(id, $1) }
    devices.wait(4 * delay)
    #expect(titles(viewer).isEmpty)
    devices.wait(6_000)
    #expect(viewer.takeEvents() == ["ready", "appeared Draft", "gone Draft"])
  }

  @Test func `loops and two ways to one hub do no harm, and the shorter way is taken over when one breaks`() throws {
    let devices = LinkedWorlds(3)
    devices.linkAll()
    devices.link(0, 1)
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[1].open("viewer")
    let id = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    _ = viewer.takeEvents()
    devices.cut(0, 1)
    #expect(titles(viewer) == ["Draft"], "it comes by the third device now, and nobody sees a difference")
    #expect(viewer.takeEvents().isEmpty)
    _ = try devices.worlds[1].continue(in: viewer)
    devices.wait(1_000)
    #expect(editor.receipts.map { $0.outcome } == [.restored])
    devices.worlds[0].tell(editor) { $0.resignCurrent(id, $1) }
    devices.wait(1_000)
    #expect(titles(viewer).isEmpty)
  }

  @Test func `a link to itself is refused (A12)`() throws {
    let devices = LinkedWorlds(1)
    devices.link(0, 0)
    devices.wait(1_000)
    #expect(devices.worlds[0].links.isEmpty)
  }

  @Test func `offers of a device that is cut off vanish at once, of one that falls silent within 30 s`() throws {
    let devices = LinkedWorlds(3)
    devices.link(0, 1)
    devices.link(1, 2)
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[2].open("viewer")
    _ = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    #expect(titles(viewer) == ["Draft"])
    devices.silence(0, 1)
    devices.wait(29_000)
    #expect(titles(viewer) == ["Draft"])
    devices.wait(2_000)
    #expect(titles(viewer).isEmpty)
    devices.link(0, 1)
    devices.wait(1_000)
    #expect(titles(viewer) == ["Draft"])
    devices.cut(0, 1)
    devices.wait(3 * devices.delay)
    #expect(titles(viewer).isEmpty)
  }

  @Test func `a link that is cut again and again goes on where it was, without loss or repetition (R7.4)`() throws {
    for seed in 0..<UInt64(25) {
      var random = Seeded(state: seed)
      let devices = LinkedWorlds(2)
      devices.delay = 40
      devices.link(0, 1)
      let editor = devices.worlds[0].open("editor")
      let viewer = devices.worlds[1].open("viewer")
      let id = try devices.worlds[0].offer("Draft", by: editor)
      let text = String(repeating: "Once upon a time. ", count: 12_000)
      try editor.change(id, at: devices.worlds[0].now) {
        try $0.setUserInfo(try Value.dictionary([(.string("text"), .string(text))]), limit: Limits.value)
      }
      devices.wait(1_000)
      _ = viewer.takeEvents()
      _ = try devices.worlds[1].continue(in: viewer)
      for _ in 0..<8 {
        devices.wait(Int64.random(in: 1...200, using: &random))
        if devices.worlds[0].links.isEmpty {
          devices.link(0, 1)
        } else {
          devices.cut(0, 1, after: Int.random(in: 0...40_000, using: &random))
        }
      }
      if devices.worlds[0].links.isEmpty { devices.link(0, 1) }
      devices.wait(5_000)
      let told = viewer.takeEvents().filter { !$0.hasSuffix("Draft") }
      #expect(told == ["will_continue", "continue"], "seed \(seed)")
      #expect(viewer.continued.first?.activity.userInfo?.encoding.count ?? 0 > text.utf8.count, "seed \(seed)")
      #expect(editor.receipts.map { $0.outcome } == [.restored], "seed \(seed)")
      #expect(titles(viewer) == ["Draft"], "seed \(seed)")
    }
  }

  @Test func `a continuation whose way breaks for good fails, and its origin does not guess (R3.2, R3.6)`() throws {
    let devices = LinkedWorlds(2)
    devices.link(0, 1)
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[1].open("viewer")
    _ = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    editor.answersSaves = false
    _ = try devices.worlds[1].continue(in: viewer)
    devices.wait(100)
    devices.cut(0, 1)
    devices.wait(21_000)
    #expect(
      viewer.takeEvents().filter { !$0.hasSuffix("Draft") } == [
        "ready", "will_continue", "did_fail remoteApplicationTimedOut",
      ])
    #expect(editor.receipts.map { $0.outcome } == [.failed])
  }

  @Test func `the team is asked for on other devices too (R6.2), and a chooser sees all (R2.6)`() throws {
    let devices = LinkedWorlds(2)
    devices.link(0, 1)
    let editor = devices.worlds[0].open("editor")
    let stranger = devices.worlds[1].open("stranger", team: "OTHER")
    let chooser = devices.worlds[1].open("chooser", types: [], team: "OTHER", chooser: true)
    _ = try devices.worlds[0].offer("Draft", by: editor)
    devices.wait(1_000)
    #expect(titles(stranger).isEmpty)
    #expect(titles(chooser) == ["Draft"])
  }

  @Test func `a change is told everywhere, and alone does not change the rank (R2.8)`() throws {
    let devices = LinkedWorlds(3)
    devices.link(0, 1)
    devices.link(1, 2)
    let editor = devices.worlds[0].open("editor")
    let viewer = devices.worlds[2].open("viewer")
    let id = try devices.worlds[0].offer("One", by: editor)
    devices.wait(1_000)
    let rank = viewer.engine.offers.all[0].rank
    try editor.change(id, at: devices.worlds[0].now) { try $0.setTitle("Two") }
    devices.worlds[0].settle()
    devices.wait(1_000)
    #expect(titles(viewer) == ["Two"])
    #expect(viewer.engine.offers.all[0].rank == rank)
  }

  @Test func `a hub that hears all, but never says that it came, is given up`() throws {
    let world = World()
    world.startHub()
    let hub = try RawPeer(hubIn: world)
    let editor = try RawPeer(app: "editor", in: world)
    let title = String(repeating: "a", count: Limits.title)
    let offer = OfferDescription(
      id: world.identifier(), type: "com.example.note", title: title, payloadVersion: 0, sizeHint: 0,
      expirationDate: nil, supportsContinuationStreams: false)
    for activation in 0..<UInt64(HubEngine.backlogLimit / Limits.title) {
      try editor.say(.publish(offer, OfferTiming(age: 0, remaining: nil), activation: activation))
      world.settle()
    }
    #expect(!hub.isConnected)
  }
}
