// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Continuations after continue has run, until they are answered.
extension IncomingContinuations {
  /// - Returns: the activity of this app whose state has come back, if that was it.
  func answer(_ id: Identifier, handled: Bool, _ failure: SegueError?, _ now: Instant) -> Identifier? {
    guard let index = index(of: id), continuations[index].isAwaited else { return nil }
    let own = continuations[index].own
    if !handled {
      finish(at: index, .declined, SegueError(.declined, "not handled"), now)
    } else if let failure {
      finish(at: index, .failed, failure, now)
    } else {
      finish(at: index, .restored, nil, now)
    }
    return own
  }

  /// continue was answered with "not handled", and the app opens the document (R3.5).
  /// - Returns: false if the answer came too late.
  func beginOpening(_ id: Identifier) -> Bool {
    guard let index = index(of: id), case .continued = continuations[index].phase else { return false }
    continuations[index].phase = .opening
    return true
  }

  func isAwaited(_ id: Identifier) -> Bool { index(of: id).map { continuations[$0].isAwaited } ?? false }

  /// The app has handled it, or has opened its document, and restores objects: no cancel ends it from now on.
  /// - Returns: false if the answer came too late.
  func beginRestoring(_ id: Identifier) -> Bool {
    guard let index = index(of: id), continuations[index].isAwaited else { return false }
    continuations[index].phase = .restoring
    return true
  }

  /// The document is not opened, or no longer: no effect if it is.
  func failOpening(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    if let index = index(of: id), case .opening = continuations[index].phase { failToRestore(at: index, error, now) }
  }

  /// It has failed after continue: did_fail does not run (R3.2).
  func failToRestore(at index: Int, _ error: SegueError, _ now: Instant) {
    // The host was told all about an activity of its own.
    guard continuations[index].own == nil else { return finish(at: index, .failed, error, now) }
    continuations[index].phase = .unrestored(error)
    report(continuations[index], .failed, error, now)
    app.deliver(.continuation(continuations[index].id))
  }

  private func finish(at index: Int, _ outcome: Outcome, _ error: SegueError?, _ now: Instant) {
    let continuation = continuations.remove(at: index)
    finished.append(continuation.id)
    report(continuation, outcome, error, now)
  }
}
