// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The random events of continued activities in a workload: in every other one, receivers write into them and release
/// them, and origins take their state back (R3.10).
struct ResumptionFaults {
  private var trigger: RandomTrigger

  init(seed: UInt64) { trigger = RandomTrigger(seed: seed, salt: 0xbac5_bac5_bac5_bac5, share: 0.5) }

  /// Once per event of the workload.
  /// - Parameter number: draws a new number to write.
  mutating func act(on apps: [ScriptedApp], _ number: () -> Int) throws(SegueError) {
    guard let app = trigger.app(of: apps, 0.3) else { return }
    switch trigger.random.below(8) {
    case 0..<3:
      let count = app.activities.kept.count
      guard count > 0 else { return }
      try app.editKept(trigger.random.below(count), number(), isReported: trigger.random.chance(0.5))
    case 3:
      let count = app.activities.kept.count
      if count > 0 { app.releaseKept(trigger.random.below(count)) }
    default:
      guard app.activityCount > 0 else { return }
      app.resumeBack(trigger.random.below(app.activityCount), trigger.random.identifier())
    }
  }
}
