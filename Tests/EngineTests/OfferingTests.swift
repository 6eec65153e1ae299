// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

@Suite struct OfferingTests {
  @Test func `a current activity is offered to apps of the team that declare its type (R1.11, R2.6)`() throws {
    let world = World(hasHub: true)
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
    let world = World(hasHub: true)
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
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = viewer.takeEvents()
    let id = try world.offer("Draft", by: editor)
    editor.change(id) { $0.setEligible(.handoff, false) }
    world.wait(200)
    #expect(viewer.takeEvents() == ["appeared Draft", "gone Draft"])
    editor.change(id) { $0.setEligible(.handoff, true) }
    let date = world.now.date + 60
    try editor.change(id) { try $0.setExpirationDate(date) }
    world.wait(30_000)
    #expect(viewer.takeEvents().first == "appeared Draft")
    // The origin stops: its word is not needed.
    editor.process.stall()
    world.wait(31_000)
    #expect(viewer.takeEvents() == ["gone Draft"])
  }

  @Test func `an activity that has expired is not told of, and wakes nobody (R1.6)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let chooser = world.open("chooser", chooser: true)
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    try activity.setExpirationDate(world.now.date - 1)
    editor.add(activity, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.wait(20_000)
    #expect(chooser.takeEvents() == ["ready"])
    #expect(editor.engine.nextDeadline == nil)
  }

  /// An activity that expires in an hour, and a viewer of its offer.
  private func expiring(_ world: World) throws -> (editor: TestApp, viewer: TestApp, id: Identifier) {
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    let id = try world.offer("Draft", by: editor)
    let date = world.now.date + 3_600
    try editor.change(id) { try $0.setExpirationDate(date) }
    world.wait(1_000)
    _ = viewer.takeEvents()
    return (editor, viewer, id)
  }

  @Test func `a date that jumps ahead and back leaves an activity offered (R1.6, R1.11)`() throws {
    let world = World(hasHub: true)
    let (editor, viewer, id) = try expiring(world)
    world.device.clockOffset += 400 * 86_400
    // A change shows that the date is past.
    try editor.change(id) { try $0.setTitle("Draft 2") }
    world.wait(5_000)
    #expect(viewer.takeEvents() == ["gone Draft"])
    world.device.clockOffset -= 400 * 86_400
    world.wait(8_000)
    #expect(viewer.takeEvents() == ["appeared Draft 2"])
    world.wait(3_600_000)
    #expect(viewer.takeEvents() == ["gone Draft 2"])
    #expect(editor.engine.nextDeadline == nil, "it has expired at its time")
  }

  @Test func `a date that stays ahead costs ever fewer looks, and none once the hour is over (R1.6)`() throws {
    let world = World(hasHub: true)
    let (editor, viewer, id) = try expiring(world)
    world.device.clockOffset += 400 * 86_400
    try editor.change(id) { try $0.setTitle("Draft 2") }
    var looks = 0
    while let next = editor.engine.nextDeadline, looks < 100 {
      world.wait(max(1, next - world.now.uptime))
      looks += 1
    }
    #expect(4...20 ~= looks && viewer.takeEvents() == ["gone Draft"])
  }

  @Test func `who asks why has it looked at again (R6.5)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    try activity.setTitle("Draft")
    try activity.setExpirationDate(world.now.date + 3_600)
    editor.add(activity, as: id)
    // It is made current under a wrong date: nothing says when it is to expire.
    world.device.clockOffset += 400 * 86_400
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.device.clockOffset -= 400 * 86_400
    #expect(!viewer.takeEvents().contains("appeared Draft"))
    world.tell(editor) { engine, now in _ = engine.explain(id, editor.activity(id), now) }
    #expect(viewer.takeEvents().contains("appeared Draft"))
  }

  @Test func `who asked why is answered also when the hub dies over it (R6.5)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let id = try world.offer("Draft", by: editor)
    // The question is in flight.
    _ = editor.engine.explain(id, editor.activity(id), world.now)
    world.killHub()
    #expect(editor.reasons.map { $0.reason } == ["no hub"])
  }

  @Test func `what takes its place need not be offered itself (R1.12, R1.8)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = try world.offer("One", by: editor)
    let id = world.identifier()
    var hidden = try Activity(type: "com.example.note")
    hidden.setEligible(.handoff, false)
    editor.add(hidden, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    #expect(viewer.takeEvents() == ["ready", "appeared One", "gone One"])
  }

  @Test func `a connection without hello ends after 5 s, or when its process has 64 others (A19)`() throws {
    let world = World(hasHub: true)
    let silent = try RawPeer(in: world)
    world.wait(4_900)
    #expect(silent.isConnected)
    world.wait(200)
    #expect(!silent.isConnected)
    // Each app of a crowd has a process of its own.
    let crowd = try (0..<200).map { _ in try RawPeer(in: world) }
    let process = world.process("silent app")
    let peers = try (0..<65).map { _ in try RawPeer(in: world, of: process) }
    #expect(!peers[0].isConnected, "the one that has been silent for longest goes")
    #expect(peers[1...].allSatisfy { $0.isConnected })
    #expect(crowd.allSatisfy { $0.isConnected })
    let app = world.open("app")
    #expect(app.takeEvents() == ["ready"])
  }

  @Test func `the most recently activated is the frontmost (R1.12, R2.7)`() throws {
    let world = World(hasHub: true)
    let one = world.open("one")
    let two = world.open("two")
    let viewer = world.open("viewer")
    _ = try world.offer("One", by: one)
    _ = try world.offer("Two", by: two)
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["Two", "One"])
    world.tell(one) { $0.setForeground(true, $1) }
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["One", "Two"])
  }

  /// An earlier message is still in flight: the app would wait for ever if it treated that as an answer.
  @Test func `a hub that falls silent is noticed, although it was heard of after our last word (R3.14)`() throws {
    let hub = try RawHub()
    try hub.say(.ready(settling: 0))
    _ = try hub.world.offer("One", by: hub.app)
    hub.world.wait(1)
    try hub.say(.gone(hub.world.identifier(), nil))
    _ = try hub.heard()
    hub.world.wait(500)
    guard case .ping(let number) = try hub.heard().last else {
      Issue.record("the hub is not asked")
      return
    }
    let asked = hub.world.now.uptime
    // Neither is this an answer.
    try hub.say(.gone(hub.world.identifier(), nil))
    #expect(hub.app.engine.nextDeadline.map { $0 > asked && $0 <= asked + 500 } ?? false)
    // Something else is said while the answer is awaited: it needs one of its own.
    hub.tell { $0.setForeground(true, $1) }
    _ = try hub.heard()
    hub.world.wait(400)
    try hub.say(.pong(number))
    hub.world.wait(500)
    guard case .ping = try hub.heard().last else {
      Issue.record("the hub is not asked again")
      return
    }
    #expect(hub.departure == nil)
    hub.world.wait(510)
    #expect(hub.departure?.message.contains("does not answer") ?? false, "a silent hub is believed")
  }

  @Test func `a hub that refuses an app, or talks nonsense, is left (A19)`() throws {
    for isWelcoming in [true, false] {
      let hub = try RawHub(welcoming: isWelcoming)
      try hub.say(.goodbye(SegueError(.unsupportedVersion, "too old")))
      #expect(hub.departure?.status == .unsupportedVersion)
    }
    let other = try RawHub()
    // A channel that no message has named.
    let channel = other.link.open()
    other.link.write([1, 2, 3], to: channel)
    try other.say(.pong(1))
    #expect(other.departure?.status == .malformed)
  }

  /// With a search through all for each, it would take minutes.
  @Test(.timeLimit(.minutes(1))) func `a chooser sees thousands of offers come, change and go (R2.6, R2.7)`() throws {
    let count: UInt64 = 10_000
    let now = Instant(uptime: 1_000_000, date: 1_700_000_000)
    var list = OfferList()
    var appeared = 0
    var changed = 0
    var gone: [UInt64] = []
    func put(_ number: UInt64, title: String, rank: UInt64) throws {
      let description = OfferDescription(
        id: Identifier(high: 0, low: number), type: "com.example.note", title: title, payloadVersion: 0, sizeHint: 0,
        expirationDate: nil, supportsContinuationStreams: false)
      let offer = Offer(
        description: description, origin: Identifier(high: 1, low: number), appName: "a", bundleIdentifier: "a",
        deviceName: "here", rank: rank, activatedAt: 0)
      let expires = number % 2 == 0 ? now.date + Double(number) / 1000 : nil
      let timing = OfferTiming(activatedAt: now.uptime, expirationDate: expires, now: now)
      list.put(offer, timing, now) { event, _ in
        if event == .appeared { appeared += 1 } else { changed += 1 }
      }
    }
    // In an order of ranks that comes neither from the front nor from the back.
    for number in 0..<count { try put(number, title: "one", rank: number * 7_919 % count) }
    #expect(list.all.map { $0.rank } == (0..<count).reversed())
    for number in 0..<count { try put(number, title: "two", rank: number) }
    #expect(
      list.all.map { $0.description.id.bytes } == (0..<count).reversed().map { Identifier(high: 0, low: $0).bytes })
    #expect(appeared == Int(count) && changed == Int(count))
    // Half of them expire, in their order.
    let later = Instant(uptime: now.uptime + Int64(count), date: now.date + Double(count) / 1000)
    list.tick(later) { _, offer in gone.append(offer.rank) }
    #expect(gone == stride(from: 0, to: count, by: 2).map { $0 })
    gone = []
    // Another hub knows one of the others, which stays in front; the rest goes after a while, frontmost first.
    list.hubLost(later)
    try put(5, title: "two", rank: 1)
    list.hubReady(later)
    #expect(list.all.first?.description.id == Identifier(high: 0, low: 5))
    list.tick(Instant(uptime: later.uptime + 1_500, date: later.date)) { _, offer in gone.append(offer.rank) }
    #expect(gone == stride(from: 1, to: count, by: 2).reversed().filter { $0 != 5 })
    #expect(list.all.count == 1)
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
    world.killHub()
    #expect(one.reasons.map { $0.reason } == ["not frontmost"], "what was answered is not answered again")
  }

  @Test func `a hub that does not say welcome within 500 ms is silent (R3.14)`() throws {
    let hub = try RawHub(welcoming: false)
    let time = try #require(hub.app.engine.nextDeadline) - hub.world.now.uptime
    #expect(time > 490 && time <= 500)
    hub.world.wait(470)
    #expect(hub.departure == nil)
    hub.world.wait(30)
    #expect(hub.departure?.message.contains("does not answer") ?? false, "it is waited for")
  }

  @Test(arguments: [ProtocolVersion.current + 1, 1 << 63, .max])
  func `a hub that chooses a version which the app does not speak is left (A14)`(version: UInt64) throws {
    let hub = try RawHub(welcoming: false)
    try hub.say(.welcome(version: version, generation: 1, deviceName: "here"))
    #expect(hub.departure?.status == .malformed && hub.app.engine.hubGeneration != 1)
  }

  @Test func `a hub that sends neither offers nor ready is left, one that still sends offers is not (R3.14)`() throws {
    let hub = try RawHub()
    let world = hub.world
    let offer = Offer(
      description: OfferDescription(world.identifier(), "Draft"), origin: world.identifier(), appName: "editor",
      bundleIdentifier: "com.example.editor", deviceName: "here", rank: 1, activatedAt: 0)
    var last: Int64 = 0
    for _ in 0..<4 {
      world.wait(9_000)
      #expect(hub.departure == nil, "it is slow")
      last = world.now.uptime
      try hub.say(.offer(offer, OfferTiming(age: 0, remaining: nil), nil))
    }
    world.wait(last + 9_950 - world.now.uptime)
    try hub.say(.pong(1))
    #expect(hub.departure == nil)
    world.wait(100)
    #expect(hub.departure?.message.contains("does not say which activities are offered") ?? false)
  }

  @Test func `a hub that is ready may be silent about offers (R3.14)`() throws {
    let hub = try RawHub()
    try hub.say(.ready(settling: 0))
    #expect(hub.app.engine.isReady)
    hub.world.wait(60_000)
    #expect(hub.departure == nil && hub.app.engine.hubGeneration == 1)
  }

  @Test func `an app that connects again is known once, and its former connection ends`() throws {
    let world = World(hasHub: true)
    let viewer = world.open("viewer")
    let (secret, activity) = (world.identifier(), world.identifier())
    func connect() throws -> RawPeer {
      let editor = try RawPeer(app: "editor", as: secret, in: world)
      try editor.say(
        .publish(OfferDescription(activity, "Draft"), OfferTiming(age: 0, remaining: nil), activation: 1))
      return editor
    }
    // Its connection died, and only the app has noticed.
    let (former, editor) = (try connect(), try connect())
    #expect(!former.isConnected && editor.isConnected)
    #expect(world.hub?.appCount == 2)
    #expect(editor.heard.contains { if case .ready = $0 { true } else { false } })
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["Draft"])
  }

  @Test func `an offer whose date a clock has put off again is there until then (R1.6)`() {
    let now = Instant(uptime: 1_000_000, date: 1_700_000_000)
    var list = OfferList()
    let description = OfferDescription(
      id: Identifier(high: 0, low: 1), type: "com.example.note", title: "Draft", payloadVersion: 0, sizeHint: 0,
      expirationDate: nil, supportsContinuationStreams: false)
    let offer = Offer(
      description: description, origin: Identifier(high: 0, low: 2), appName: "a", bundleIdentifier: "a",
      deviceName: "here", rank: 1, activatedAt: 0)
    list.put(offer, OfferTiming(activatedAt: now.uptime, expirationDate: now.date + 10, now: now), now) { _, _ in }
    var gone = 0
    // Ten seconds have passed, and the clock was set back by five.
    list.tick(Instant(uptime: now.uptime + 10_000, date: now.date + 5)) { _, _ in gone += 1 }
    #expect(gone == 0)
    #expect(list.nextDeadline == now.uptime + 15_000)
    list.tick(Instant(uptime: now.uptime + 15_000, date: now.date + 10)) { _, _ in gone += 1 }
    #expect(gone == 1)
  }

  @Test func `an app that is asked for a sign of life gives one`() throws {
    let hub = try RawHub()
    try hub.say(.ping(3))
    #expect(try hub.heard().contains { if case .pong(3) = $0 { true } else { false } })
  }

  @Test func `another hub changes nothing that a user sees (R2.8)`() throws {
    let world = World(hasHub: true)
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
