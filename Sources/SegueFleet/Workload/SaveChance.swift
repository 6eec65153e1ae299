import SegueModel

/// The saves of apps in a workload: in a quarter of all workloads, some fail, and apps say by themselves what needs
/// saving, and what does not (R2.3, R2.4).
struct SaveChance {
  private var random: SeededRandom
  private let isOn: Bool

  init(seed: UInt64) {
    random = SeededRandom(seed: seed ^ 0x5afe_5afe_5afe_5afe)
    isOn = random.chance(0.25)
  }

  /// Once per event of the workload.
  mutating func act(on apps: [ScriptedApp]) {
    guard isOn, random.chance(0.3), !apps.isEmpty else { return }
    let app = apps[random.below(apps.count)]
    guard app.isAwake else { return }
    let count = app.activityCount
    switch random.below(4) {
    case 0: app.failsSaves.toggle()
    case 1:
      guard count > 0 else { return }
      let index = random.below(count)
      if app.activities[index].hasAll { app.declareSaved(index) }
    default: if count > 0 { app.noteChange(random.below(count)) }
    }
  }
}
