// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// A request for the state of an activity from the app that has continued it (R3.10).
open class ResumeBack: Request {
  /// The continuation back; written once, with the app's lock.
  private var continuation: Identifier?
  private let lock = Lock()
  /// Whether the host has been asked, and has not answered.
  private var isAsked = false

  public init(_ activity: LiveActivity) { super.init(activity) }

  /// Called once, without locks.
  open func ended(_ activity: LiveActivity, isStale: Bool, _ error: SharedBox<SegueError>?) {}

  final func ended(isStale: Bool, _ error: SegueError?) {
    ended(activity, isStale: isStale, error.map { SharedBox($0) })
    forget()
  }

  // MARK: For the host

  /// Asks for the state. Throws NOT_FOUND, INVALID_STATE, INVALIDATED.
  /// - Parameter timeout: milliseconds; nil for the limit of a continuation.
  public final func ask(timeout: Int64?) throws(SegueError) {
    guard let app = activity.app else { throw SegueError(.invalidState, "activity: was made without an app") }
    try app.resumeBack(self, timeout: timeout)
  }

  final func begin(_ continuation: Identifier) { self.continuation = continuation }

  /// Asks the host whether the state here may be replaced.
  /// - Returns: whether a callback of the host ran.
  final func ask(_ delegate: ActivityDelegate?, hasChanged: Bool) -> Bool {
    lock.withLock { isAsked = true }
    let reply = delegate?.call { delegate?.willResumeBack(activity, hasChanged: hasChanged, self) }.flatMap { $0 }
    switch reply {
    case .later?: break
    case .yes?: answer(true)
    case .no?: answer(false)
    case nil: answer(nil)
    }
    return reply != nil
  }

  public final override func complete(_ answer: Bool) throws(SegueError) {
    guard self.answer(answer) else {
      throw SegueError(.invalidState, "request: will_resume_back has not begun, or was answered already")
    }
  }

  /// - Parameter answer: nil if there is no such callback.
  /// - Returns: false if it is not to be answered.
  @discardableResult
  private func answer(_ answer: Bool?) -> Bool {
    let isDue = lock.withLock {
      defer { isAsked = false }
      return isAsked
    }
    guard isDue, let continuation else { return false }
    activity.app?.performIfOpen { engine, now in engine.answerResumption(continuation, answer, now) }
    return true
  }

  public final override func cancel() {
    guard let continuation else { return }
    activity.app?.cancel(continuation)
  }
}
