// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The documents of apps in a workload (R5): in a quarter of all workloads, apps open, move and close files, whose
/// activities are those of their documents.
struct DocumentFaults {
  private var trigger: RandomTrigger

  init(seed: UInt64) { trigger = RandomTrigger(seed: seed, salt: 0xd0c5_d0c5_d0c5_d0c5, share: 0.25) }

  /// Once per event of the workload.
  /// - Parameter number: draws a new number to write.
  mutating func act(on apps: [ScriptedApp], _ number: () -> Int) throws(SegueError) {
    guard let app = trigger.app(of: apps, 0.3) else { return }
    let count = app.documents.count
    switch trigger.random.below(6) {
    case 0..<2: try app.openDocument(number())
    case 2: if count > 0 { app.closeDocument(trigger.random.below(count)) }
    case 3:
      guard count > 0 else { return }
      let one = trigger.random.below(count)
      try app.moveDocument(one, isInside: trigger.random.chance(0.6), number())
    default: app.makeDocumentCurrent(trigger.random.below(max(1, count)))
    }
  }
}
