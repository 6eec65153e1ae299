// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The publicity of activities in a workload (R13.1): in half of all workloads, some become public, so that apps of the
/// other team see them, and cease to be.
struct PublicityChanges {
  private var trigger: RandomTrigger

  init(seed: UInt64) { trigger = RandomTrigger(seed: seed, salt: 0x9b11_c9b1_1c9b_11c9, share: 0.5) }

  /// Once per event of the workload.
  mutating func act(on apps: [ScriptedApp]) throws(SegueError) {
    guard let app = trigger.app(of: apps, 0.3), app.activityCount > 0 else { return }
    let isPublic = trigger.random.chance(0.6)
    try app.change(trigger.random.below(app.activityCount)) { $0.setPublic(isPublic) }
  }
}
