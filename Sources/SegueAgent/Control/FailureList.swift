import SegueModel

/// The last failures of apps of which no host was told, since the agent has started (R3.13): its hub may be replaced
/// meanwhile.
final class FailureList {
  /// The oldest first.
  private(set) var failures: [UnheardFailure] = []

  /// Adds a failure, which may be older than others: it has waited for an agent. One that was told before keeps the
  /// later date. If there are too many, the process with the most of them loses its oldest: what an app is called, it
  /// says itself.
  func add(_ failure: UnheardFailure) {
    // Each activity has a type (R1.1): a report without one tells users nothing, and no app of Segue sends it.
    guard !failure.type.utf8.isEmpty else { return }
    var last = failure
    if let index = failures.firstIndex(where: { $0.isSame(as: failure) }) {
      let known = failures.remove(at: index)
      if known.date > failure.date { last = known }
    }
    failures.insert(last, at: failures.firstIndex { $0.date > last.date } ?? failures.count)
    failures.shorten(to: UnheardFailure.limit) { $0.account == $1.account }
  }
}
