// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// An object of the host that can be restored from a continued activity.
open class Restorable: HandleObject {
  /// True if it is restored.
  open func restore(_ activity: LiveActivity) -> Bool { false }
}

/// A continuation of which this app is the receiver, as the host holds it.
public final class Continuation: HandleObject {
  public let id: Identifier
  let offer: Offer
  private let app: App
  private let lock = Lock()
  private var phase = Phase.begun
  /// From its arrival until the activity is answered and restored, or the continuation has ended.
  private var activity: LiveActivity?
  private var restoration = Restoration.none
  /// Whether the answer "not handled" has left the rest to the opening of the document.
  private var isLeftToOpening = false
  private var held: AnyObject?
  /// Whether continue has a handler: if its document is opened, that has declined (R3.5). Set with the lock, before any
  /// answer counts.
  private(set) var hasContinueHandler = false
  private var lastProgress = (received: 0, total: 0)

  private enum Phase {
    /// continue has not run.
    case begun
    /// will_continue runs; why the app declines, if it does.
    case announcing(decline: String?)
    /// continue runs, or its answer is awaited.
    case arrived
    /// open_document runs, or its answer is awaited (R3.5).
    case opening
    /// The host has not handled it, or has answered open_document: nothing is to be answered, for now or ever.
    case passedOn
    /// The host has handled it, or its document is open: the engine gets that answer once the objects are restored.
    case handled
    /// The engine has the answer.
    case answered
    /// It has failed after continue, or the app was closed after that.
    case ended
  }

  private enum Answer {
    case handled
    case notHandled
    case failed(SegueError)
  }

  private enum Restoration {
    case none
    /// Objects are left to restore, or the last of them is being restored; whether all before were restored.
    case waiting([Restorable], isRestored: Bool)
    case done(isRestored: Bool)
  }

  /// An answer of *handled*, as the app has it.
  enum Handling {
    /// Its objects are being restored.
    case restoring
    case answered(isRestored: Bool)
  }

  init(id: Identifier, offer: Offer, app: App) {
    self.id = id
    self.offer = offer
    self.app = app
  }

  // MARK: For the host

  /// The offer that it continues.
  public var heldOffer: OfferObject { OfferObject(offer, app.environment) }

  public func cancel() { app.cancel(id) }

  /// The received and total bytes of the payload (total is 0 until known). After the end, the last figures.
  public var progress: (received: Int, total: Int) { app.progress(of: self) ?? lock.withLock { lastProgress } }

  /// Whether `openDocument` or `openingFailed` has the last word, because continue has not handled it (R3.5): to be
  /// asked after `complete`. False if that has thrown.
  public var opensDocument: Bool { lock.withLock { isLeftToOpening } }

  /// Declines. Throws INVALID_STATE outside of will_continue.
  public func decline(_ reason: String) throws(SegueError) {
    try Text.check(Optional(reason), "reason", atMost: Limits.identifier)
    try lock.withLock { () throws(SegueError) in
      guard case .announcing = phase else {
        throw SegueError(.invalidState, "continuation: can be declined inside will_continue only")
      }
      phase = .announcing(decline: reason)
    }
  }

  /// Restores these objects where the app's callbacks run. Throws INVALID_STATE before continue, or the second time;
  /// REMOTE_APPLICATION_TIMED_OUT after its end; INVALIDATED when the app is closed, and releases the objects.
  public func restore(_ restorables: [Restorable]) throws(SegueError) {
    try app.checkTakesAnswers()
    try lock.withLock { () throws(SegueError) in
      if case .ended = phase { throw App.tooLate }
      guard case .none = restoration else { throw SegueError(.invalidState, "continuation: was restored already") }
      guard activity != nil else {
        throw SegueError(.invalidState, "continuation: there is no activity to restore from yet")
      }
      restoration = .waiting(restorables, isRestored: true)
    }
    do throws(SegueError) {
      try app.restoreSoon(self)
    } catch {
      end()
      throw error
    }
  }

  /// Answers continue. Throws INVALID_STATE before continue, or the second time; INVALIDATED when the app is closed;
  /// REMOTE_APPLICATION_TIMED_OUT after its end.
  public func complete(handled: Bool) throws(SegueError) { try answer(handled ? .handled : .notHandled) }

  /// Answers continue: the app broke. Throws as `complete` does.
  public func fail(_ reason: String?) throws(SegueError) {
    let reason: DiagnosticText = reason.map { DiagnosticText(of: $0) } ?? "the app broke"
    try answer(.failed(SegueError(.handoffFailed, reason)))
  }

  /// Only *handled* waits for the objects that are being restored, since their results count for it.
  private func answer(_ answer: Answer) throws(SegueError) {
    try app.checkTakesAnswers()
    try lock.withLock { () throws(SegueError) in
      switch phase {
      case .arrived: if case .handled = answer { phase = .handled } else { phase = .passedOn }
      case .begun, .announcing: throw SegueError(.invalidState, "continuation: there is nothing to answer yet")
      case .opening, .passedOn, .handled, .answered:
        throw SegueError(.invalidState, "continuation: was answered already")
      case .ended: throw App.tooLate
      }
    }
    let error: SegueError?
    switch answer {
    case .handled: error = answerHandled()
    case .failed(let failure): error = pass(failure)
    case .notHandled: error = leaveToOpening() ? nil : pass(nil)
    }
    guard let error else { return }
    // It was no answer, and neither is the next one.
    lock.withLock { phase = .ended }
    throw error
  }

  /// Answers open_document: the document is open, or cannot be opened, for that reason. Throws INVALID_STATE before
  /// open_document, or the second time; INVALID_ARGUMENT, INVALIDATED; REMOTE_APPLICATION_TIMED_OUT after the deadline.
  public func completeOpening(_ document: LiveDocument?, _ reason: String?) throws(SegueError) {
    if let document, document.app !== app {
      throw SegueError(.invalidArgument, "document: is another app's document")
    }
    try app.checkTakesAnswers()
    let activity = try lock.withLock { () throws(SegueError) in
      switch phase {
      case .opening: phase = .passedOn
      case .ended: throw App.tooLate
      case .begun, .announcing, .arrived, .passedOn, .handled, .answered:
        throw SegueError(.invalidState, "continuation: there is no document to open, or it was answered already")
      }
      return self.activity
    }
    guard let activity else { throw App.tooLate }
    guard let document else {
      let reason: DiagnosticText = reason.map { DiagnosticText(of: $0) } ?? "the document cannot be opened"
      return app.failOpening(self, SegueError(.handoffFailed, reason))
    }
    do throws(SegueError) {
      try app.adopt(document, activity, self)
    } catch {
      // The host may answer with another one.
      lock.withLock { if case .passedOn = phase { phase = .opening } }
      throw error
    }
    lock.withLock {
      if case .passedOn = phase { phase = .handled }
      let own: [Restorable] = document.responder.restores ? [ResponderRestorable(document.responder)] : []
      switch restoration {
      case .none: restoration = .waiting(own, isRestored: true)
      case .waiting(let left, let isRestored): restoration = .waiting(left + own, isRestored: isRestored)
      case .done(let isRestored): restoration = .waiting(own, isRestored: isRestored)
      }
    }
    do throws(SegueError) {
      try app.restoreSoon(self)
    } catch {
      end()
      throw error
    }
  }

  /// Holds something in place of the former until the answer, or the end.
  public func hold(_ object: AnyObject?) {
    let former = lock.withLock {
      defer { held = object }
      return held
    }
    // The host's functions destroy contexts, so this happens without the lock.
    withExtendedLifetime(former) {}
  }

  // MARK: For its app

  /// Opens its document, on the thread of the app's callbacks.
  /// - Returns: whether a callback of the host ran.
  func runOpening(_ delegate: AppDelegate?) -> Bool {
    let activity = lock.withLock {
      if case .passedOn = phase { phase = .opening }
      return self.activity
    }
    var reply: Reply?
    if let delegate, let activity, let url = activity.continuedFrom?.documentURL {
      reply = delegate.call { delegate.openDocument(app, url, activity, self) }
    }
    if case .later? = reply { return true }
    if reply == nil, let activity { endUnseen(activity) }
    let isUnanswered = lock.withLock { if case .opening = phase { true } else { false } }
    if isUnanswered { try? completeOpening(nil, nil) }
    return reply != nil
  }

  func beginAnnouncing() {
    lock.withLock { if case .begun = phase { phase = .announcing(decline: nil) } }
  }

  /// - Returns: why the app declines, if it does.
  func endAnnouncing() -> String? {
    lock.withLock {
      guard case .announcing(let reason) = phase else { return nil }
      phase = .begun
      return reason
    }
  }

  /// - Parameter hasHandler: whether continue is called with the activity.
  func arrived(_ activity: LiveActivity, hasHandler: Bool) {
    lock.withLock {
      guard case .begun = phase else { return }
      phase = .arrived
      hasContinueHandler = hasHandler
      self.activity = activity
    }
  }

  func progressed(_ progress: (received: Int, total: Int)) { lock.withLock { lastProgress = progress } }

  /// Runs the host's functions, on the thread of its callbacks.
  func runRestoration() {
    var isRestored = true
    while let (activity, objects) = lock.withLock({ nextRestoration(isRestored) }) {
      for object in objects { isRestored = object.restore(activity) && isRestored }
    }
    // A thread that answers meanwhile learns whether it was in time.
    _ = answerHandled()
  }

  /// Called with the lock.
  /// - Parameter isLastRestored: whether the objects of the call before were restored.
  /// - Returns: what is to be restored; nil if nothing is left.
  private func nextRestoration(_ isLastRestored: Bool) -> (LiveActivity, [Restorable])? {
    guard let activity, case .waiting(let objects, let wasRestored) = restoration else { return nil }
    let isRestored = wasRestored && isLastRestored
    restoration = objects.isEmpty ? .done(isRestored: isRestored) : .waiting([], isRestored: isRestored)
    return objects.isEmpty ? nil : (activity, objects)
  }

  /// It has failed, or its app is closed: nothing more is restored.
  func end() {
    let held = lock.withLock {
      defer {
        if activity != nil { phase = .ended }
        if case .waiting = restoration { restoration = .done(isRestored: false) }
        activity = nil
      }
      return (restoration, activity)
    }
    // The host's functions destroy contexts, so this happens without the lock.
    withExtendedLifetime(held) {}
    hold(nil)
  }

  /// The engine awaits the answer. Called with the app's lock: what the host has answered, and what its objects have,
  /// is looked at, noted and passed on at once, whichever thread comes first.
  /// - Returns: nil if it was not handled, or the engine has the answer.
  func handling() -> Handling? {
    lock.withLock {
      guard case .handled = phase else { return nil }
      var isRestored = true
      switch restoration {
      case .none: break
      case .waiting: return .restoring
      case .done(let isAll): isRestored = isAll
      }
      phase = .answered
      return .answered(isRestored: isRestored)
    }
  }

  /// The host has handled it, or its objects are restored: passes the answer on if both are so.
  /// - Returns: why the answer of the host comes too late; nil if it counts, or there is none yet.
  private func answerHandled() -> SegueError? {
    let error = app.answerHandled(self)
    // The thread that has restored the objects may have passed it on meanwhile.
    guard lock.withLock({ if case .answered = phase { true } else { false } }) else { return error }
    letGo()
    return nil
  }

  /// Gives the engine an answer that waits for no object.
  /// - Parameter failure: nil: it was not handled.
  /// - Returns: why it comes too late; nil if it counts.
  private func pass(_ failure: SegueError?) -> SegueError? {
    let error = app.answer(self, failure: failure)
    lock.withLock { if case .passedOn = phase { phase = .answered } }
    letGo()
    return error
  }

  /// Nothing was handled: the document of the activity is opened, or cannot be (R3.5).
  /// - Returns: false if the app declines, or it is too late.
  private func leaveToOpening() -> Bool {
    guard let activity = lock.withLock({ activity }) else { return false }
    let next = app.afterDeclining(activity, isHandlerThere: hasContinueHandler)
    if case .declined = next { return false }
    // Before the first callback that follows from it.
    lock.withLock { isLeftToOpening = true }
    let isInTime = app.beginOpening(self, next)
    if !isInTime { lock.withLock { isLeftToOpening = false } }
    if case .opening = next, isInTime { return true }
    endUnseen(activity)
    return isInTime
  }

  /// The host has never seen what no callback was called with: no handle of it will be released.
  private func endUnseen(_ activity: LiveActivity) { if !hasContinueHandler { activity.invalidate() } }

  /// Answered: releases what is held, and the activity if everything is restored.
  private func letGo() {
    let held: LiveActivity? = lock.withLock {
      if case .done = restoration { activity.take() } else { nil }
    }
    withExtendedLifetime(held) {}
    hold(nil)
  }
}
