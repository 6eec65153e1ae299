// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The windows of apps in a workload: in a quarter of all workloads, their activities belong to responders, which come,
/// go, and share and move them (R4).
struct ResponderFaults {
  private var trigger: RandomTrigger

  init(seed: UInt64) { trigger = RandomTrigger(seed: seed, salt: 0x7e59_7e59_7e59_7e59, share: 0.25) }

  /// Once per event of the workload.
  mutating func act(on apps: [ScriptedApp]) {
    guard let app = trigger.app(of: apps, 0.4) else { return }
    let count = app.responders.all.count
    guard count > 0 else { return app.addResponder(updates: trigger.random.chance(0.7)) }
    let one = trigger.random.below(count)
    switch trigger.random.below(10) {
    case 0, 1: if count < ScriptedResponders.limit { app.addResponder(updates: trigger.random.chance(0.7)) }
    case 2: app.removeResponder(one)
    case 3..<7:
      let isGiven = trigger.random.chance(0.8)
      app.giveActivity(isGiven ? trigger.random.below(2 * ScriptedActivities.limit) : nil, to: one)
    case 7, 8: app.linkResponder(one, to: trigger.random.chance(0.8) ? trigger.random.below(count) : nil)
    default: app.setMainResponder(trigger.random.chance(0.9) ? one : nil)
    }
  }
}
