// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// An app's responders, and the saves that ask them (R4).
extension App {
  /// Throws INVALID_STATE before the app is open, INVALIDATED after it is closed.
  public func add(_ responder: LiveResponder) throws(SegueError) {
    try perform { engine, _ in responder.engineResponder = engine.addResponder(responder, updates: responder.updates) }
  }

  /// After this the engine does not know it.
  func remove(_ responder: LiveResponder) {
    guard let engineResponder = responder.engineResponder else { return }
    performIfOpen { $0.removeResponder(engineResponder, $1) }
  }

  /// Throws INVALID_ARGUMENT if the activity is another app's, or no app's; INVALIDATED.
  public func setActivity(_ activity: LiveActivity?, of responder: LiveResponder) throws(SegueError) {
    if let activity {
      guard activity.app === self else {
        throw SegueError(.invalidArgument, "activity: must be one of the responder's app")
      }
      guard activity.isStillValid else {
        throw SegueError(.invalidated, "activity: was invalidated, which is for ever")
      }
    }
    guard let engineResponder = responder.engineResponder else { return }
    try perform { $0.setActivity(activity?.id, of: engineResponder, $1) }
  }

  /// Nil if it has none.
  public func activity(of responder: LiveResponder) -> LiveActivity? {
    monitor.lock()
    defer { monitor.unlock() }
    guard let engine, let engineResponder = responder.engineResponder else { return nil }
    return engine.activity(of: engineResponder).flatMap { activities[$0] }
  }

  /// Throws INVALID_ARGUMENT for a loop, or another app's responder.
  public func setNext(_ next: LiveResponder?, of responder: LiveResponder) throws(SegueError) {
    try checkIsOurs(next, "next")
    guard let engineResponder = responder.engineResponder else { return }
    var error: SegueError?
    try perform { error = $0.setNext(next?.engineResponder, of: engineResponder, $1) }
    if let error { throw error }
  }

  /// Throws INVALID_ARGUMENT for another app's responder.
  public func setMainResponder(_ responder: LiveResponder?) throws(SegueError) {
    try checkIsOurs(responder, "responder")
    try perform { $0.setMainResponder(responder?.engineResponder, $1) }
  }

  private func checkIsOurs(_ responder: LiveResponder?, _ name: StaticString) throws(SegueError) {
    guard responder.map({ $0.app === self }) ?? true else {
      throw SegueError(.invalidArgument, "\(name): is another app's responder")
    }
  }

  /// Whether the engine decides when the activity ends (R4.4).
  func manages(_ activity: LiveActivity) -> Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.manages(activity.id) ?? false
  }

  // MARK: Saves

  /// A save is due. Called with the lock.
  func save(_ id: Identifier, _ number: UInt64) -> CallbackInvocation {
    // Otherwise the activity was invalidated, or the save given up: no object is asked.
    guard let activity = activities[id], let plan = engine?.saveBegan(number) else {
      return {
        self.performIfOpen { $0.saved(number, $1) }
        return false
      }
    }
    let sequence = SaveSequence(number, of: activity, plan, self)
    return {
      activity.beginSaving(number, plan)
      return sequence.run()
    }
  }

  func isSaving(_ number: UInt64) -> Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.isSaving(number) ?? false
  }

  func delegate(of activity: LiveActivity) -> ActivityDelegate? {
    monitor.lock()
    defer { monitor.unlock() }
    return activities.delegate(of: activity)
  }

  /// The responder that a save asks next; nil if it no longer has the activity.
  func responder(_ responder: Responder, in save: UInt64) -> LiveResponder? {
    monitor.lock()
    defer { monitor.unlock() }
    guard engine?.isSaving(save, responder: responder) ?? false else { return nil }
    // No other objects are added. With an activity it was not removed, so the object is there.
    return unsafeDowncast(responder.host, to: LiveResponder.self)
  }

  /// The URL of the document whose activity it is, where that is now; nil: of none.
  func documentURL(of activity: LiveActivity) -> String? {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.documentURL(of: activity.id)
  }

  var answersDidUpdate: Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return hasDidUpdate
  }

  /// Called with the lock.
  var hasDidUpdate: Bool { delegate.map { $0.isAttached && $0.answersDidUpdate } ?? false }

  /// - Returns: whether there is such a callback.
  func tellUpdated(_ activity: LiveActivity) -> Bool {
    monitor.lock()
    let delegate = self.delegate
    monitor.unlock()
    return delegate.flatMap { delegate in delegate.call { delegate.didUpdate(self, activity) } } ?? false
  }

  /// The last answer of a save; what was given up keeps the former `user_info`.
  func endSave(_ sequence: SaveSequence, _ answer: SaveAnswer) {
    performIfOpen { engine, now in
      switch answer {
      case .upToDate:
        // The last steps may have removed it, too, and a step that is answered later has no other after it.
        if let url = engine.documentURL(of: sequence.activity.id) {
          sequence.activity.putBack(documentURL: url, in: sequence.number)
        }
        sequence.activity.endSaving(sequence.number, keepsDraft: engine.isSaving(sequence.number))
        engine.saved(sequence.number, now)
      case .failed(let reason):
        sequence.activity.endSaving(sequence.number, keepsDraft: false)
        engine.saveFailed(sequence.number, because: reason, now)
      }
    }
    // The app may have closed meanwhile.
    sequence.activity.endSaving(sequence.number, keepsDraft: false)
  }

  /// The rest of a save runs where the app's callbacks run.
  func resumeSoon(_ sequence: SaveSequence) {
    monitor.lock()
    defer { monitor.unlock() }
    guard engine?.isClosed == false else { return }
    due.append(.save(sequence))
    environment.signalDue()
  }

  // MARK: Deliveries

  func orphaned(_ id: Identifier) -> CallbackInvocation {
    guard let activity = activities[id] else { return { false } }
    return {
      var hasEnded = false
      self.performIfOpen { hasEnded = $0.decide(id, $1) }
      if hasEnded { activity.invalidate() }
      return false
    }
  }
}
