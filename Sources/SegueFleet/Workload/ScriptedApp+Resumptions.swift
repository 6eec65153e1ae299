import SegueApp
import SegueEngine
import SegueModel

/// What a scripted app has continued and keeps (R3.12), and the state that its origin takes back (R3.10).
extension ScriptedApp {
  func keep(_ state: Activity, _ from: ContinuedFrom) {
    if kept.count == Self.activityLimit { releaseKept(0) }
    // Derived, so that the randomness of a workload is not affected.
    kept.append(KnownActivity(Identifier(ofSecret: from.continuation), state, process.now.uptime, from: from))
    observe(.kept(from, state))
  }

  func releaseKept(_ index: Int) {
    let id = kept[index].id
    process.does("releases what it has continued")
    drop(id)
    perform { $0.invalidate(id, $1) }
  }

  /// Its user writes into what it has continued. An app that is asked to save at each pull need not report that (R2.9).
  func editKept(_ index: Int, _ number: Int, isReported: Bool) throws(SegueError) {
    let known = kept[index]
    if case .whenPulled = savePolicy, isAnswered(known), !isReported { return try edit(known, number) }
    try change(known) { (activity) throws(SegueError) in try Self.write(number, to: &activity) }
  }

  /// Whether the app has answered the continuation of an activity that it keeps: before that it is not saved (R4.2).
  func isAnswered(_ known: KnownActivity) -> Bool { !pendingAnswers.contains { $0 == known.from?.continuation } }

  /// Takes back the state of one of its own activities.
  /// - Returns: why it does not begin, or nil.
  @discardableResult func resumeBack(_ index: Int, _ id: Identifier, timeout: Int64? = nil) -> SegueError? {
    let activity = identifier(of: index)
    var objection: SegueError?
    observe(.resumes(id, activity))
    perform { engine, now in
      objection = engine.resumeBack(activity, id: id, timeout: timeout, now)
      guard objection == nil else { return }
      process.began(.resumption(id), deadline: now.uptime + (timeout ?? engine.limits.continuation))
    }
    return objection
  }

  func replace(_ known: KnownActivity, with state: Activity) {
    known.activity.replace(with: state)
    known.draft = nil
    known.changedAt = process.now.uptime
    observe(.replaced(known.id, known.activity))
  }
}
