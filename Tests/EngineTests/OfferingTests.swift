import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

@Suite struct OfferingTests {
  @Test func `a current activity is offered to apps of the team that declare its type (R1.11, R2.6)`() throws {
    let world = World()
    world.startHub()
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
    let world = World()
    world.startHub()
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
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = viewer.takeEvents()
    let id = try world.offer("Draft", by: editor)
    editor.change(id, at: world.now) { $0.setEligible(.handoff, false) }
    world.wait(200)
    #expect(viewer.takeEvents() == ["appeared Draft", "gone Draft"])
    editor.change(id, at: world.now) { $0.setEligible(.handoff, true) }
    let date = world.now.date + 60
    try editor.change(id, at: world.now) { try $0.setExpirationDate(date) }
    world.wait(30_000)
    #expect(viewer.takeEvents().first == "appeared Draft")
    // The origin stops: its word is not needed.
    editor.isOpen = false
    world.wait(31_000)
    #expect(viewer.takeEvents() == ["gone Draft"])
  }

  @Test func `an activity that has expired is not told of, and wakes nobody (R1.6)`() throws {
    let world = World()
    world.startHub()
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

  @Test func `who asked why is answered also when the hub dies over it (R6.5)`() throws {
    let world = World()
    world.startHub()
    let editor = world.open("editor")
    let id = try world.offer("Draft", by: editor)
    // The question is in flight.
    _ = editor.engine.explain(id, editor.activity(id), world.now)
    world.killHub()
    #expect(editor.reasons.map { $0.reason } == ["no hub"])
  }

  @Test func `what takes its place need not be offered itself (R1.12, R1.8)`() throws {
    let world = World()
    world.startHub()
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

  @Test func `who does not say hello is ended after 5 s, or when 64 others wait (A19)`() throws {
    let world = World()
    world.startHub()
    let hub = try #require(world.hub)
    let silent = world.takeNumber()
    hub.connected(silent, world.now)
    world.wait(4_900)
    #expect(hub.link(of: silent) != nil)
    world.wait(200)
    #expect(hub.link(of: silent) == nil)
    let numbers = (0..<65).map { _ in world.takeNumber() }
    for number in numbers { hub.connected(number, world.now) }
    world.settle()
    #expect(hub.link(of: numbers[0]) == nil, "the one that has been silent for longest goes")
    #expect(numbers[1...].allSatisfy { hub.link(of: $0) != nil })
    let app = world.open("app")
    #expect(app.takeEvents() == ["ready"])
  }

  @Test func `the most recently activated is the frontmost (R1.12, R2.7)`() throws {
    let world = World()
    world.startHub()
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
    let world = World()
    let editor = world.open("editor")
    let engine = editor.engine!
    let hub = Link(side: .accepting)
    var now = world.now
    func hear(_ message: Message) throws {
      hub.send(try message.encoded())
      while hub.takeOutput({ bytes in
        engine.receive(Array(bytes), now)
        return bytes.count
      }) {}
    }
    func said() throws -> [Message] {
      while engine.link!.takeOutput({ bytes in
        hub.receive(Array(bytes))
        return bytes.count
      }) {}
      var messages: [Message] = []
      while case .message = try hub.nextEvent() {
        if let message = try hub.takeMessage(Message.decode) { messages.append(message) }
      }
      return messages
    }
    engine.connected(now)
    try hear(.welcome(version: ProtocolVersion.current, generation: 1, deviceName: "here"))
    try hear(.ready(settling: 0))
    _ = try world.offer("One", by: editor)
    now.uptime += 1
    try hear(.gone(world.identifier(), nil))
    _ = try said()
    now.uptime += 500
    engine.tick(now)
    guard case .ping(let number) = try said().last else {
      Issue.record("the hub is not asked")
      return
    }
    // Neither is this an answer.
    try hear(.gone(world.identifier(), nil))
    #expect(engine.nextDeadline == now.uptime + 500)
    // Something else is said while the answer is awaited: it needs one of its own.
    world.tell(editor) { engine, _ in engine.setForeground(true, now) }
    _ = try said()
    now.uptime += 400
    try hear(.pong(number))
    now.uptime += 500
    engine.tick(now)
    guard case .ping = try said().last else {
      Issue.record("the hub is not asked again")
      return
    }
    now.uptime += 500
    engine.tick(now)
    guard case .silent = engine.takeFault() else {
      Issue.record("a silent hub is believed")
      return
    }
  }

  @Test func `a hub that refuses an app, or talks nonsense, is left (A19)`() throws {
    let hub = try RawHub(for: Continued())
    try hub.say(.goodbye(SegueError(.unsupportedVersion, "too old")))
    guard case .refused(let error) = hub.app.engine.takeFault(), error.status == .unsupportedVersion else {
      Issue.record("that the hub refuses goes unnoticed")
      return
    }
    let deaf = try RawHub(for: Continued(), welcoming: false)
    try deaf.say(.goodbye(SegueError(.unsupportedVersion, "too old")))
    guard case .refused? = deaf.app.engine.takeFault() else {
      Issue.record("that a hub refuses before it welcomes goes unnoticed")
      return
    }
    let other = try RawHub(for: Continued())
    // A channel that no message has named.
    let channel = other.link.open()
    other.link.write([1, 2, 3], to: channel)
    try other.say(.pong(1))
    guard case .nonsense = other.app.engine.takeFault() else {
      Issue.record("nonsense goes unnoticed")
      return
    }
  }

  /// With a search through all for each, it would take minutes.
  @Test(.timeLimit(.minutes(1))) func `a chooser sees thousands of offers come, change and go (R2.6, R2.7)`() throws {
    let count: UInt64 = 10_000
    let now = Moment(uptime: 1_000_000, date: 1_700_000_000)
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
    let later = Moment(uptime: now.uptime + Int64(count), date: now.date + Double(count) / 1000)
    list.tick(later) { _, offer in gone.append(offer.rank) }
    #expect(gone == stride(from: 0, to: count, by: 2).map { $0 })
    gone = []
    // Another hub knows one of the others, which stays in front; the rest goes after a while, frontmost first.
    list.loseHub(later)
    try put(5, title: "two", rank: 1)
    list.meetHub(later)
    #expect(list.all.first?.description.id == Identifier(high: 0, low: 5))
    list.tick(Moment(uptime: later.uptime + 1_500, date: later.date)) { _, offer in gone.append(offer.rank) }
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
    let world = World()
    let editor = world.open("editor")
    editor.engine.connected(world.now)
    #expect(editor.engine.nextDeadline == world.now.uptime + 500)
    world.wait(499)
    #expect(editor.engine.takeFault() == nil)
    world.wait(2)
    guard case .silent = editor.engine.takeFault() else {
      Issue.record("it is waited for")
      return
    }
  }

  /// An app that a hub without an engine has welcomed.
  private func welcomed() throws -> (World, TestApp, (Message) throws -> Void) {
    let world = World()
    let app = world.open("viewer")
    app.engine.connected(world.now)
    let link = Link(side: .accepting)
    func say(_ message: Message) throws {
      link.send(try message.encoded())
      while link.takeOutput({
        app.engine.receive(Array($0), world.now)
        return $0.count
      }) {}
    }
    return (world, app, say)
  }

  @Test(arguments: [ProtocolVersion.current + 1, 1 << 63, .max])
  func `a hub that chooses a version which the app does not speak is left (A14)`(version: UInt64) throws {
    let (_, app, say) = try welcomed()
    try say(.welcome(version: version, generation: 1, deviceName: "here"))
    guard case .nonsense = app.engine.takeFault() else { return #expect(Bool(false), "it is believed") }
    #expect(app.engine.hubGeneration == nil)
  }

  @Test func `a hub that sends neither offers nor ready is left, one that still sends offers is not (R3.14)`() throws {
    let (world, app, say) = try welcomed()
    try say(.welcome(version: ProtocolVersion.current, generation: 1, deviceName: "here"))
    func isLeft() -> Bool { if case .unready = app.engine.takeFault() { true } else { false } }
    let offer = Offer(
      description: OfferDescription(
        id: world.identifier(), type: "com.example.note", title: "Draft", payloadVersion: 0, sizeHint: 0,
        expirationDate: nil, supportsContinuationStreams: false),
      origin: world.identifier(), appName: "editor", bundleIdentifier: "com.example.editor", deviceName: "here",
      rank: 1, activatedAt: 0)
    for _ in 0..<4 {
      world.wait(9_000)
      #expect(!isLeft(), "it is slow")
      try say(.offer(offer, OfferTiming(age: 0, remaining: nil), nil))
    }
    world.wait(9_999)
    try say(.pong(1))
    #expect(!isLeft())
    world.wait(1)
    #expect(isLeft())
  }

  @Test func `a hub that is ready may be silent about offers (R3.14)`() throws {
    let (world, app, say) = try welcomed()
    try say(.welcome(version: ProtocolVersion.current, generation: 1, deviceName: "here"))
    try say(.ready(settling: 0))
    #expect(app.engine.nextDeadline.map { $0 > world.now.uptime + 60_000 } ?? true || app.engine.isReady)
    world.wait(60_000)
    #expect(app.engine.takeFault() == nil)
  }

  @Test func `an app that connects again is known once, and its former connection ends`() throws {
    let world = World()
    world.startHub()
    let hub = try #require(world.hub)
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    _ = try world.offer("Draft", by: editor)
    let former = try #require(editor.number)
    // Its connection died, and only the app has noticed.
    editor.number = world.takeNumber()
    hub.connected(editor.number!, world.now)
    editor.engine.disconnected(world.now)
    editor.engine.connected(world.now)
    world.settle()
    #expect(hub.link(of: former) == nil)
    #expect(hub.appCount == 2)
    #expect(editor.engine.isReady)
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["Draft"])
  }

  @Test func `an offer whose date a clock has put off again is there until then (R1.6)`() {
    let now = Moment(uptime: 1_000_000, date: 1_700_000_000)
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
    list.tick(Moment(uptime: now.uptime + 10_000, date: now.date + 5)) { _, _ in gone += 1 }
    #expect(gone == 0)
    #expect(list.nextDeadline == now.uptime + 15_000)
    list.tick(Moment(uptime: now.uptime + 15_000, date: now.date + 10)) { _, _ in gone += 1 }
    #expect(gone == 1)
  }

  @Test func `an app that is asked for a sign of life gives one`() throws {
    let world = World()
    let editor = world.open("editor")
    let hub = Link(side: .accepting)
    editor.engine.connected(world.now)
    for message: Message in [.welcome(version: ProtocolVersion.current, generation: 7, deviceName: "here"), .ping(3)] {
      hub.send(try message.encoded())
    }
    while hub.takeOutput({ bytes in
      editor.engine.receive(Array(bytes), world.now)
      return bytes.count
    }) {}
    #expect(editor.engine.hubGeneration == 7)
    while editor.engine.link!.takeOutput({ bytes in
      hub.receive(Array(bytes))
      return bytes.count
    }) {}
    var isAnswered = false
    while case .message = try hub.nextEvent() {
      if case .pong(3) = try hub.takeMessage(Message.decode) { isAnswered = true }
    }
    #expect(isAnswered)
  }

  @Test func `another hub changes nothing that a user sees (R2.8)`() throws {
    let world = World()
    world.startHub()
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
