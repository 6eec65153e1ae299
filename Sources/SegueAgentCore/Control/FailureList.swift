// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The last failures of apps of which no host was told, since the agent has started (R3.13): its hub may be replaced
/// meanwhile.
final class FailureList {
  /// The oldest first. `other`: the last process besides the one of its principal that has reported it, too.
  private var entries: [(failure: UnheardFailure, other: Identifier?)] = []

  /// The oldest first.
  var failures: [UnheardFailure] { entries.map { $0.failure } }

  /// Adds a failure, which may be older than others: it has waited for an agent. One that was told before keeps the
  /// later date, and the principal of the process that was the first to tell it. If there are too many, the process
  /// with the most of them loses its oldest: what an app is called, it says itself. If another process has told the
  /// same, the failure is then charged to that one. So no process takes another's failure away by repeating it, or by
  /// saying it before.
  func add(_ failure: UnheardFailure) {
    // Each activity has a type (R1.1): a report without one tells users nothing, and no app of Segue sends it.
    guard !failure.type.utf8.isEmpty else { return }
    var entry: (failure: UnheardFailure, other: Identifier?) = (failure, nil)
    if let index = entries.firstIndex(where: { $0.failure.isSame(as: failure) }) {
      entry = entries.remove(at: index)
      entry.failure.date = max(entry.failure.date, failure.date)
      if failure.principal != entry.failure.principal { entry.other = failure.principal }
    }
    entries.insert(entry, at: entries.firstIndex { $0.failure.date > entry.failure.date } ?? entries.count)
    while entries.count > UnheardFailure.limit {
      let index = entries.firstOfLargestGroup { $0.failure.principal == $1.failure.principal }
      if let other = entries[index].other {
        (entries[index].failure.principal, entries[index].other) = (other, nil)
      } else {
        entries.remove(at: index)
      }
    }
  }
}
