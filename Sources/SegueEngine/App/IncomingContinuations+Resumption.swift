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
  func ask(_ id: Identifier, hasChanged: Bool, _ now: Instant) {
    guard let index = index(of: id), case .comparing(let state, let isStale, _) = continuations[index].phase
    else { return }
    continuations[index].phase = .asking(
      state, isStale: isStale, hasChanged: hasChanged, isTold: false, until: now.uptime + app.limits.save)
    app.deliver(.continuation(id))
  }

  /// will_resume_back was answered; nil: it was not, in time. Without an answer, only what has not changed is replaced.
  /// A change after it was asked for counts, unless the answer was about changes.
  func answerResumption(_ id: Identifier, _ answer: Bool?, _ now: Instant) {
    guard let index = index(of: id),
      case .asking(let state, let isStale, let hadChanged, isTold: true, _) = continuations[index].phase
    else { return }
    let hasChanged = hadChanged || continuations[index].own.map { needsSave($0) } ?? false
    guard answer ?? !hasChanged, hadChanged || !hasChanged else {
      return fail(at: index, hasChanged ? Self.unsaved : Self.kept, report: .declined, now)
    }
    continuations[index].phase = .arrived(state, isStale: isStale)
    app.deliver(.continuation(id))
  }

  private func needsSave(_ activity: Identifier) -> Bool { app.owner.activity(activity)?.needsSave ?? true }

  private static var unsaved: SegueError { SegueError(.declined, "the origin has unsaved changes") }
  private static var kept: SegueError { SegueError(.declined, "the origin keeps its own state") }
}
