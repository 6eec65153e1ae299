// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The saves of apps in a workload: in a quarter of all workloads, some fail, and apps say by themselves what needs
/// saving, and what does not (R2.3, R2.4).
struct SaveFaults {
  private var trigger: RandomTrigger

  init(seed: UInt64) { trigger = RandomTrigger(seed: seed, salt: 0x5afe_5afe_5afe_5afe, share: 0.25) }

  /// Once per event of the workload.
  mutating func act(on apps: [ScriptedApp]) {
    guard let app = trigger.app(of: apps, 0.3) else { return }
    let count = app.activityCount
    switch trigger.random.below(4) {
    case 0: app.answers.failsSaves.toggle()
    case 1:
      guard count > 0 else { return }
      let index = trigger.random.below(count)
      if app.activities.own[index].hasAll { app.declareSaved(index) }
    default: if count > 0 { app.noteChange(trigger.random.below(count)) }
    }
  }
}
