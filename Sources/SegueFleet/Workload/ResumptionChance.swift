import SegueModel

/// What becomes of continued activities in a workload: in every other one, receivers write into them and release them,
/// and origins take their state back (R3.10).
struct ResumptionChance {
  private var random: SeededRandom
  private let isOn: Bool

  init(seed: UInt64) {
    random = SeededRandom(seed: seed ^ 0xbac5_bac5_bac5_bac5)
    isOn = random.chance(0.5)
  }

  /// Once per event of the workload.
  /// - Parameter number: draws a new number to write.
  mutating func act(on apps: [ScriptedApp], _ number: () -> Int) throws(SegueError) {
    guard isOn, random.chance(0.3), !apps.isEmpty else { return }
    let app = apps[random.below(apps.count)]
    guard app.isAwake else { return }
    switch random.below(8) {
    case 0..<3:
      guard !app.kept.isEmpty else { return }
      try app.editKept(random.below(app.kept.count), number(), isReported: random.chance(0.5))
    case 3: if !app.kept.isEmpty { app.releaseKept(random.below(app.kept.count)) }
    default:
      guard app.activityCount > 0 else { return }
      app.resumeBack(random.below(app.activityCount), random.identifier())
    }
  }
}
