// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// The continued activities that a scripted app keeps (R3.12), and the state that its origin takes back (R3.10).
extension ScriptedApp {
  func keep(_ activity: LiveActivity, _ from: ContinuedFrom) {
    if activities.kept.count == ScriptedActivities.limit { releaseKept(0) }
    let known = KnownActivity(activity)
    activities.keep(known)
    observe(.kept(from, known.activity))
  }

  func releaseKept(_ index: Int) {
    let known = activities.kept[index]
    process.does("releases what it has continued")
    drop(known.id)
    known.live.invalidate()
  }

  /// Its user writes into what it has continued. An app that is asked to save at each pull need not report that (R2.9).
  func editKept(_ index: Int, _ number: Int, isReported: Bool) throws(SegueError) {
    let known = activities.kept[index]
    if case .whenPulled = savePolicy, isAnswered(known), !isReported { return try edit(known, number) }
    try change(known) { (activity) throws(SegueError) in try Self.write(number, to: &activity) }
  }

  /// Whether the app has answered the continuation of an activity that it keeps: before that it is not saved (R4.2).
  func isAnswered(_ known: KnownActivity) -> Bool { !pendingAnswers.contains { $0 == known.from?.continuation } }

  /// Takes back the state of one of its own activities.
  /// - Returns: why it does not begin, or nil.
  @discardableResult func resumeBack(_ index: Int, _ id: Identifier, timeout: Int64? = nil) -> SegueError? {
    let known = activities.own[index]
    observe(.resumes(id, known.id))
    draw(id)
    do throws(SegueError) {
      try ScriptedResumption(known.live).ask(timeout: timeout)
      return nil
    } catch {
      return error
    }
  }

  /// - Returns: nil if it has no such callback.
  func willResumeBack(_ activity: LiveActivity, hasChanged: Bool, _ request: ResumeBack) -> Reply? {
    guard let known = known(activity.id) else { return .no }
    known.permission = (answers.replaces ?? !hasChanged, known.changeCount)
    switch answers.replaces {
    case true?:
      // Either way, by the callback or by its handle.
      guard known.changeCount & 1 == 0 else { return .yes }
      try? request.complete(true)
      return .later
    case false?: return .no
    case nil: return nil
    }
  }

  /// A state that has come back replaces the one here only with permission, and not what has changed since (R3.10).
  func checkReplaced(_ known: KnownActivity) {
    guard let permission = known.permission.take() else { return }
    if !permission.mayReplace || permission.changeCount != known.changeCount {
      process.complain("R3.10: a state that comes back overwrites what has changed, and may not")
    }
  }
}
