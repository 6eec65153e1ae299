import SegueModel

/// The windows of apps in a workload: in a quarter of all workloads, their activities belong to responders, which come,
/// go, and share and move them (R4).
struct ResponderChance {
  private var random: SeededRandom
  private let isOn: Bool

  init(seed: UInt64) {
    random = SeededRandom(seed: seed ^ 0x7e59_7e59_7e59_7e59)
    isOn = random.chance(0.25)
  }

  /// Once per event of the workload.
  mutating func act(on apps: [ScriptedApp]) {
    guard isOn, random.chance(0.4), !apps.isEmpty else { return }
    let app = apps[random.below(apps.count)]
    guard app.isAwake else { return }
    let count = app.responders.all.count
    guard count > 0 else { return app.addResponder(updates: random.chance(0.7)) }
    let one = random.below(count)
    switch random.below(10) {
    case 0, 1: if count < ScriptedResponders.limit { app.addResponder(updates: random.chance(0.7)) }
    case 2: app.removeResponder(one)
    case 3..<7: app.giveActivity(random.chance(0.8) ? random.below(2 * ScriptedApp.activityLimit) : nil, to: one)
    case 7, 8: app.linkResponder(one, to: random.chance(0.8) ? random.below(count) : nil)
    default: app.setMainResponder(random.chance(0.9) ? one : nil)
    }
  }
}
