import SegueModel

/// The last failures of apps of which no host was told, since the agent has started (R3.13): its hub may be replaced
/// meanwhile.
final class FailureList {
  /// The oldest first.
  private(set) var failures: [UnheardFailure] = []

  func add(_ failure: UnheardFailure) {
    if failures.count == UnheardFailure.limit { failures.removeFirst() }
    failures.append(failure)
  }
}
