// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The answer to a step of a save, and to a save.
enum SaveAnswer {
  case upToDate
  /// The reason is the host's, for people.
  case failed(String?)
}

/// The callbacks of one save, in order (R4.2): will_save, then update_state of the responders, then did_update. A step
/// that is answered later suspends it; the first failure ends it. A save that the engine has given up has no effect.
final class SaveSequence {
  let activity: LiveActivity
  let number: UInt64
  private let app: App
  private let plan: SavePlan
  private let lock = Lock()
  /// The step that runs, or whose answer is awaited: 0 is will_save, 1 the first responder, and so on.
  private var step = 0
  private var isAnswered = false
  /// The step has returned, and its answer comes later.
  private var isSuspended = false
  private var isOver = false

  private enum Effect {
    case nothing
    case next
    case resumption
    case end
  }

  init(_ number: UInt64, of activity: LiveActivity, _ plan: SavePlan, _ app: App) {
    self.number = number
    self.activity = activity
    self.plan = plan
    self.app = app
  }

  /// Runs the steps from the current one on, where the app's callbacks run.
  /// - Returns: whether a callback of the host ran.
  func run() -> Bool {
    activity.resumeSaving(number)
    var hasRun = false
    while true {
      let index = lock.withLock { step }
      // The host's will_save may have replaced user_info.
      if index == 1 { putDocumentBack() }
      guard index <= plan.responders.count else { break }
      let reply = call(index)
      if reply != nil { hasRun = true }
      switch returned(reply) {
      case .next: continue
      case .nothing, .resumption, .end:
        // The engine may have given it up before it was suspended.
        if !app.isSaving(number) { activity.giveUpSaving(number) }
        return hasRun
      }
    }
    if app.isSaving(number), app.tellUpdated(activity) { hasRun = true }
    end()
    return hasRun
  }

  /// The URL of the activity's document is in `user_info` again (R4.2).
  private func putDocumentBack() {
    guard plan.documentURL != nil, let url = app.documentURL(of: activity) else { return }
    activity.putBack(documentURL: url, in: number)
  }

  /// Nil if there is no such callback.
  private func call(_ index: Int) -> Reply? {
    if index == 0 {
      guard let delegate = app.delegate(of: activity) else { return nil }
      return delegate.call { delegate.willSave(activity, PendingSave(self, step: 0)) }
    }
    guard let responder = app.responder(plan.responders[index - 1], in: number) else { return nil }
    return responder.call { responder.update(activity, PendingSave(self, step: index)) }
  }

  /// The callback of the current step has returned.
  private func returned(_ reply: Reply?) -> Effect {
    lock.withLock {
      guard !isOver else { return .end }
      // An answer of another thread comes before or after this, not in between.
      if !isAnswered, case .later? = reply {
        isSuspended = true
        activity.continueSaving(number)
        return .nothing
      }
      isAnswered = false
      step += 1
      return .next
    }
  }

  /// The host answers a step by its handle.
  /// - Returns: false if it was answered before.
  func answer(_ step: Int, _ answer: SaveAnswer) -> Bool {
    let effect: Effect? = lock.withLock {
      guard step == self.step, !isAnswered, !isOver else { return nil }
      isAnswered = true
      if case .failed = answer { isOver = true }
      if step == plan.responders.count, !app.answersDidUpdate { isOver = true }
      guard !isOver else { return .end }
      guard isSuspended else { return .nothing }
      isSuspended = false
      isAnswered = false
      self.step += 1
      return .resumption
    }
    switch effect {
    case nil: return false
    case .end?: app.endSave(self, answer)
    case .resumption?: app.resumeSoon(self)
    case .nothing?, .next?: break
    }
    return true
  }

  private func end() {
    lock.withLock { isOver = true }
    app.endSave(self, .upToDate)
  }
}
