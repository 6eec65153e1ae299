// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Users of a workload who change their minds: in a quarter of all workloads, they cancel continuations before
/// `continue`, and before its answer (R3.3).
struct CancelFaults {
  private var trigger: RandomTrigger

  init(seed: UInt64) { trigger = RandomTrigger(seed: seed, salt: 0xca2c_e1ca_2ce1_ca2c, share: 0.25) }

  /// Once per event of the workload.
  mutating func act(on apps: [ScriptedApp]) {
    guard trigger.fires(0.2) else { return }
    let busy = apps.filter { $0.isAwake && $0.continuationCount > 0 }
    guard !busy.isEmpty else { return }
    let app = busy[trigger.random.below(busy.count)]
    app.cancel(at: trigger.random.below(app.continuationCount))
  }
}
