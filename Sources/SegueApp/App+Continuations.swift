// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// An app as the receiver of continuations.
extension App {
  /// - Parameter timeout: milliseconds; nil for the limit.
  public func `continue`(_ offer: Offer, timeout: Int64?) throws(SegueError) -> Continuation {
    let continuation = Continuation(id: try newIdentifier(), offer: offer, app: self)
    try perform { engine, now in
      pending.add(continuation.id, .continuation(continuation))
      observer?.began(
        .continuation(continuation.id, offer), deadline: now.uptime + (timeout ?? engine.limits.continuation))
      engine.continue(offer, id: continuation.id, timeout: timeout, now)
    }
    return continuation
  }

  func cancel(_ continuation: Identifier) {
    let error = SegueError(.userCancelled, "the user cancelled")
    performIfOpen { $0.cancel(continuation, error, $1) }
  }

  /// Throws NOT_FOUND, INVALID_STATE, INVALIDATED.
  /// - Parameter timeout: milliseconds; nil for the limit.
  func resumeBack(_ request: ResumeBack, timeout: Int64?) throws(SegueError) {
    let (id, activity) = (try newIdentifier(), request.activity.id)
    var rejection: SegueError?
    try perform { engine, now in
      rejection = engine.resumeBack(activity, id: id, timeout: timeout, now)
      guard rejection == nil else { return }
      request.begin(id)
      pending.add(id, .resumption(request))
      observer?.began(.resumption(id), deadline: now.uptime + (timeout ?? engine.limits.continuation))
    }
    if let rejection { throw rejection }
  }

  /// Nil if it has ended.
  func progress(of continuation: Continuation) -> (received: Int, total: Int)? {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.progress(of: continuation.id)
  }

  /// Throws INVALIDATED once the app is closed: no further callback runs.
  func restoreSoon(_ continuation: Continuation) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    // While the app closes, due callbacks still run.
    guard engine?.isClosed == false else { throw SegueError(.invalidated, "app: is closed") }
    due.append(.restoration(continuation))
    environment.signalDue()
  }

  /// Throws INVALIDATED once the app closes: no answer of the host counts any longer.
  func checkTakesAnswers() throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard engine?.isClosed == false else { throw Self.isOver }
  }

  /// - Parameter failure: nil: the host has not handled it.
  /// - Returns: why the answer comes too late; nil if it counts.
  func answer(_ continuation: Continuation, failure: SegueError?) -> SegueError? {
    ifAwaited(continuation) { engine, now in
      pending.remove(continuation.id)
      observer?.answered(continuation.id)
      engine.answer(continuation.id, handled: failure != nil, restored: true, failure: failure, now)
    }
  }

  /// The host has handled it, or has restored its objects: answers once both are so. Until then no cancel ends it.
  /// - Returns: why the answer comes too late; nil if it counts, or there is none.
  func answerHandled(_ continuation: Continuation) -> SegueError? {
    ifAwaited(continuation) { engine, now in
      let handling = continuation.handling()
      if handling != nil { observer?.answered(continuation.id) }
      switch handling {
      case .restoring?: _ = engine.beginRestoring(continuation.id)
      case .answered(let isRestored)?:
        pending.remove(continuation.id)
        engine.answer(continuation.id, handled: true, restored: isRestored, now)
      case nil: break
      }
    }
  }

  /// The error for an answer after the end.
  static var tooLate: SegueError {
    SegueError(
      .remoteApplicationTimedOut,
      "continuation: it has ended, by its deadline or a cancel, and the origin was told that it failed")
  }

  private static var isOver: SegueError { SegueError(.invalidated, "continuation: its app is closed") }

  private func ifAwaited(_ continuation: Continuation, _ body: (AppEngine, Instant) -> Void) -> SegueError? {
    var isClosed = true
    var error: SegueError?
    performIfOpen { engine, now in
      guard !engine.isClosed else { return }
      isClosed = false
      guard engine.isAwaited(continuation.id) else {
        // Otherwise a last step is due.
        if engine.progress(of: continuation.id) == nil { pending.remove(continuation.id) }
        error = Self.tooLate
        return
      }
      body(engine, now)
    }
    return isClosed ? Self.isOver : error
  }
}
