import SegueEngine
import SegueModel
import Testing

@Suite struct RandomWorldTests {
  /// R3.2, R3.6, R3.14 under everything that can happen to a device, in 300 orders. The engines' own invariants are
  /// checked after each step.
  @Test func `each continuation ends exactly once, whatever happens (R3.2)`() throws {
    for seed in 0..<UInt64(300) {
      let story = try Story(seed)
      #expect(story.problems.isEmpty, "seed \(seed): \(story.problems)")
    }
  }

  /// A random run of one device.
  private struct Story {
    var problems: [String] = []

    init(_ seed: UInt64) throws {
      var random = Seeded(state: seed)
      let world = World()
      if Bool.random(using: &random) { world.startHub() }
      var apps = (0..<4).map { world.open("app\($0)") }
      var current: [Identifier?] = [nil, nil, nil, nil]
      for _ in 0..<40 {
        let index = Int.random(in: 0..<apps.count, using: &random)
        let app = apps[index]
        switch Int.random(in: 0..<16, using: &random) {
        case 0...3: current[index] = try world.offer("T\(index)", by: app)
        case 4...8: if !app.engine.offers.all.isEmpty { _ = try world.continue(in: app) }
        case 9: app.answersSaves.toggle()
        case 10: app.answersContinue.toggle()
        case 11: app.declineReason = app.declineReason == nil ? "no" : nil
        case 12: world.killHub()
        case 13: world.startHub()
        case 14:
          if let id = current[index] {
            app.invalidate(id)
            world.tell(app) { $0.invalidate(id, $1) }
          }
        default:
          if Bool.random(using: &random) { world.kill(app) } else { world.close(app) }
          check(app, hasLived: !app.isOpen && app.engine.isClosed)
          apps[index] = world.open("app\(index)")
          current[index] = nil
        }
        world.wait(Int64.random(in: 0...700, using: &random))
      }
      // Longer than any deadline.
      world.wait(60_000)
      for app in apps { check(app, hasLived: true) }
    }

    /// A killed process gets nothing more; every other one learns of each end.
    private mutating func check(_ app: TestApp, hasLived: Bool) {
      guard hasLived else { return }
      let events = app.takeEvents()
      var isWaiting = false
      for event in events {
        if event == "will_continue" {
          if isWaiting { problems.append("two at a time") }
          isWaiting = true
        } else if event == "continue" || event.hasPrefix("did_fail") {
          if !isWaiting { problems.append("\(event) out of nothing") }
          isWaiting = false
        }
      }
      if isWaiting { problems.append("will_continue, and then nothing") }
      let ids = app.receipts.map { $0.continuation }
      if Set(ids).count != ids.count { problems.append("two receipts of one continuation") }
    }
  }
}
