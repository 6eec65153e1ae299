import SegueEngine
import SegueModel
import Testing

/// After any storm, once it is calm, everything works: a rule that only ever holds because everything failed is none.
@Suite struct CalmTests {
  @Test func `whatever happened before, in calm every continuation gets the present state (R3.1, R3.6)`() throws {
    for seed in 0..<UInt64(6) {
      var calm = Calm(seed)
      try calm.storm()
      try calm.check()
      #expect(calm.problems.isEmpty, "seed \(seed): \(calm.problems)")
    }
  }

  /// Three devices in a row, two apps on each.
  private struct Calm {
    private let devices = LinkedWorlds(3)
    private var random: Seeded
    private var apps: [(world: World, app: TestApp)] = []
    private var titles = 0
    private(set) var problems: [String] = []

    init(_ seed: UInt64) {
      random = Seeded(state: seed)
      devices.link(0, 1)
      devices.link(1, 2)
      for world in devices.worlds { for number in 0..<2 { apps.append((world, world.open("app\(number)"))) } }
    }

    mutating func storm() throws {
      for _ in 0..<Int.random(in: 0...25, using: &random) {
        let (world, app) = apps.randomElement(using: &random)!
        switch Int.random(in: 0..<10, using: &random) {
        case 0...2: _ = try offer(by: app, in: world)
        case 3...5: if !app.engine.offers.all.isEmpty { _ = try world.continue(in: app) }
        case 6: app.answersSaves.toggle()
        case 7: app.answersContinue.toggle()
        case 8:
          world.killHub()
          devices.wait(Int64.random(in: 0...3_000, using: &random))
          world.startHub()
        default: devices.cut(0, 1)
        }
        devices.wait(Int64.random(in: 0...800, using: &random))
      }
      for (_, app) in apps {
        app.answersSaves = true
        app.answersContinue = true
      }
      // A hub that died took its links with it.
      devices.cut(0, 1)
      devices.cut(1, 2)
      devices.link(0, 1)
      devices.link(1, 2)
      devices.wait(70_000)
      for (_, app) in apps { _ = app.takeEvents() }
    }

    private mutating func offer(by app: TestApp, in world: World, size: Int = 0) throws -> Identifier {
      titles += 1
      let id = world.identifier()
      var activity = try Activity(type: "com.example.note")
      try activity.setTitle("T\(titles)")
      let data = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ titles) }
      try activity.setUserInfo(.dictionary([(key: .string("d"), value: .data(data))]), limit: Limits.value)
      app.add(activity, as: id)
      world.tell(app) { $0.becomeCurrent(id, $1) }
      return id
    }

    mutating func check() throws {
      for index in apps.indices.shuffled(using: &random).prefix(2) { try check(index) }
    }

    /// One app offers, changes, is continued by every other, and withdraws.
    private mutating func check(_ index: Int) throws {
      let (world, app) = apps[index]
      let id = try offer(by: app, in: world, size: Int.random(in: 0...100_000, using: &random))
      devices.wait(1_000)
      titles += 1
      try app.change(id, at: world.now) { try $0.setTitle("T\(titles)") }
      world.settle()
      devices.wait(1_000)
      let payload = app.activity(id)?.userInfo
      for (other, viewer) in apps where viewer !== app {
        guard let offer = viewer.engine.offers[id] else {
          problems.append("an offer is not seen")
          continue
        }
        if offer.description.title != "T\(titles)" { problems.append("an old state is seen") }
        if viewer.engine.offers.all[0].description.id != id { problems.append("the last activated is not in front") }
        for outcome in [Outcome.restored, .declined, .failed] {
          try `continue`(offer, of: app, payload, by: viewer, in: other, to: outcome)
        }
      }
      devices.wait(12_000)
      if app.activity(id)?.needsSave != false { problems.append("it is not saved by itself") }
      world.tell(app) { _ = $0.explain(id, app.activity(id), $1) }
      devices.wait(100)
      if !app.reasons.isEmpty { problems.append("it is offered, and there are reasons why not") }
      world.tell(app) { $0.resignCurrent(id, $1) }
      devices.wait(1_000)
      for (_, viewer) in apps where viewer.engine.offers[id] != nil { problems.append("it is still seen") }
    }

    private mutating func `continue`(
      _ offer: Offer, of origin: TestApp, _ payload: Value?, by viewer: TestApp, in world: World, to outcome: Outcome
    ) throws {
      _ = viewer.takeEvents()
      _ = origin.takeEvents()
      viewer.declineReason = outcome == .declined ? "not now" : nil
      viewer.restores = outcome != .failed
      let name = world.identifier()
      world.tell(viewer) { $0.continue(offer, id: name, timeout: nil, $1) }
      devices.wait(2_000)
      let heard = viewer.takeEvents().filter {
        $0.hasPrefix("will_continue") || $0.hasPrefix("did_fail") || $0 == "continue"
      }
      let expected = outcome == .declined ? ["will_continue", "did_fail declined"] : ["will_continue", "continue"]
      if heard != expected { problems.append("\(outcome): the receiver heard \(heard)") }
      if outcome != .declined {
        let continued = viewer.continued.last
        if continued?.from.continuation != name { problems.append("another was continued") }
        if continued?.activity.userInfo != payload { problems.append("another payload came") }
        if continued?.activity.title != "T\(titles)" { problems.append("an old state came") }
        if continued?.from.isStale != false { problems.append("it came stale") }
      }
      let receipts = origin.receipts.filter { $0.continuation == name }
      if receipts.map({ $0.outcome }) != [outcome] { problems.append("\(outcome): the origin heard \(receipts)") }
      let told = origin.takeEvents().contains("was_continued")
      if told != (outcome == .restored) { problems.append("\(outcome): was_continued \(told)") }
      viewer.declineReason = nil
      viewer.restores = true
    }
  }
}
