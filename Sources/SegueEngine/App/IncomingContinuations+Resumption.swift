// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// States of this app's activities that have come back (R3.10): each is compared, then the host is asked.
extension IncomingContinuations {
  /// The next activity of this app whose state has come back, and is to be compared with what was sent: the
  /// continuation back, the activity, the continuation by which it had gone, and whether a save was asked for.
  func nextComparison(
    after id: Identifier?
  ) -> (id: Identifier, activity: Identifier, sent: Identifier, isSaving: Bool)? {
    var mayReturn = id == nil
    for continuation in continuations {
      defer { if continuation.id == id { mayReturn = true } }
      guard mayReturn, case .comparing(_, _, let isSaving) = continuation.phase, let own = continuation.own
      else { continue }
      return (continuation.id, own, continuation.continuation.activity, isSaving)
    }
    return nil
  }

  /// A save of the activity was asked for, so that it can be compared.
  func noteSave(for id: Identifier) {
    guard let index = index(of: id), case .comparing(let state, let isStale, _) = continuations[index].phase
    else { return }
    continuations[index].phase = .comparing(state, isStale: isStale, isSaving: true)
  }

  /// The activity was compared: its delegate is asked (R3.10).
  func ask(_ id: Identifier, _ comparison: OriginComparison, _ now: Instant) {
    guard let index = index(of: id), case .comparing(let state, let isStale, _) = continuations[index].phase
    else { return }
    continuations[index].phase = .asking(
      state, isStale: isStale, comparison, isAnnounced: false, until: now.uptime + app.limits.save)
    app.deliver(.continuation(id))
  }

  /// will_resume_back was answered; nil: it was not, in time. Without an answer, only what has not changed is replaced.
  /// A change after it was told "not changed" counts, up to the replacement, where it is looked for.
  func answerResumption(_ id: Identifier, _ answer: Bool?, _ now: Instant) {
    guard let index = index(of: id),
      case .asking(let state, let isStale, let comparison, isAnnounced: true, _) = continuations[index].phase
    else { return }
    guard answer ?? !comparison.hasChanged else {
      let error = answer == nil ? Self.unsaved : comparison.hasChanged ? Self.keptUnsaved : Self.kept
      return fail(at: index, error, report: .declined, now)
    }
    continuations[index].phase = .agreed(
      state, isStale: isStale, changeCount: comparison.hasChanged ? nil : comparison.changeCount)
    app.deliver(.continuation(id))
  }

  /// Whether an activity of this app had changed when it was compared, or may have since.
  func hasChanged(_ activity: Identifier, since comparison: OriginComparison) -> Bool {
    comparison.hasChanged || app.owner.changeCount(of: activity) != comparison.changeCount
  }

  /// Returns the state that is to replace an activity of this app, and the continuation by which that activity had been
  /// sent; nil if there is none.
  func replacement(
    by id: Identifier
  ) -> (activity: Identifier, state: Activity, changeCount: UInt64?, sent: Identifier)? {
    guard let index = index(of: id), case .agreed(let state, _, let changeCount) = continuations[index].phase,
      let own = continuations[index].own
    else { return nil }
    return (own, state, changeCount, continuations[index].continuation.activity)
  }

  /// The activity has changed since the host agreed that what is unchanged may be replaced: it stays.
  func declineChanged(_ id: Identifier, _ now: Instant) {
    if let index = index(of: id) { fail(at: index, Self.unsaved, report: .declined, now) }
  }

  // The app that asks, and the one that is asked, read the same text.
  private static var unsaved: SegueError { SegueError(.declined, "the app that takes it back has unsaved changes") }
  private static var keptUnsaved: SegueError {
    SegueError(.declined, "the app that takes it back keeps its unsaved changes")
  }
  private static var kept: SegueError { SegueError(.declined, "the app that takes it back keeps its own state") }
}
