import SegueModel

/// The last failures of apps of which no host was told, since the agent has started (R3.13): its hub may be replaced
/// meanwhile.
final class FailureList {
  /// The oldest first.
  private(set) var failures: [UnheardFailure] = []

  /// Adds a failure. One that was told before takes its later date. If there are too many, the app with the most of
  /// them loses its oldest.
  func add(_ failure: UnheardFailure) {
    guard !failure.type.utf8.isEmpty else { return }
    failures.removeAll { known in
      Text.isSame(known.bundleIdentifier, failure.bundleIdentifier) && Text.isSame(known.type, failure.type)
        && known.error.status == failure.error.status && Text.isSame(known.error.message, failure.error.message)
    }
    failures.append(failure)
    while failures.count > UnheardFailure.limit, let index = oldestOfMost { failures.remove(at: index) }
  }

  private var oldestOfMost: Int? {
    let counts = failures.map { each in
      failures.count { Text.isSame($0.bundleIdentifier, each.bundleIdentifier) }
    }
    return counts.max().flatMap { counts.firstIndex(of: $0) }
  }
}
