import SegueModel
import SegueSystem

/// An object of the host that can be restored from a continued activity.
open class Restorable: Handled {
  /// True if it is restored.
  open func restore(_ activity: LiveActivity) -> Bool { false }
}

/// A continuation of which this app is the receiver, as the host holds it.
public final class Continuation: Handled {
  public let id: Identifier
  let offer: Offer
  private let app: App
  private let lock = Lock()
  private var isAnnouncing = false
  private var declineReason: String?
  /// The activity, from its arrival until it is answered and restored, or the continuation has ended.
  private var activity: LiveActivity?
  private var restorables: [Restorable] = []
  private var restoration = Restoration.none
  private var isRestored = true
  /// The answer of the app; nil if there is none yet.
  private var handled: Bool?
  /// Why it has failed, if that is the answer.
  private var failure: SegueError?
  private var isAnswered = false
  private var isAppClosed = false
  /// Whether it has ended after continue, without an answer in time.
  private var hasEnded = false
  private var opening = Opening.none
  /// Whether the answer "not handled" was passed on to the opening of the document.
  private var isPassedOn = false
  private var held: AnyObject?
  /// Whether continue has a handler: if its document is opened, that has declined (R3.5). Only its app uses this, on
  /// the thread of its callbacks.
  var hasContinueHandler = false
  private var lastProgress = (received: 0, total: 0)

  private enum Restoration {
    case none
    case waiting
    case done
  }

  /// The opening of its document (R3.5).
  private enum Opening {
    case none
    /// open_document runs, or its answer is awaited.
    case asked
    case answered
  }

  init(id: Identifier, offer: Offer, app: App) {
    self.id = id
    self.offer = offer
    self.app = app
  }

  // MARK: For the host

  /// The offer that it continues.
  public var heldOffer: HeldOffer { HeldOffer(offer, app.environment) }

  public func cancel() { app.cancel(id) }

  /// The received and total bytes of the payload (total is 0 until known). After the end, the last figures.
  public var progress: (received: Int, total: Int) { app.progress(of: self) ?? lock.withLock { lastProgress } }

  /// Whether `openDocument` or `openingFailed` has the last word, because continue has not handled it (R3.5). Once
  /// true, it stays so.
  public var opensDocument: Bool { lock.withLock { isPassedOn } }

  /// Declines. Throws INVALID_STATE outside of will_continue.
  public func decline(_ reason: String) throws(SegueError) {
    try Text.check(Optional(reason), "reason", atMost: Limits.identifier)
    try lock.withLock { () throws(SegueError) in
      guard isAnnouncing else {
        throw SegueError(.invalidState, "continuation: can be declined inside will_continue only")
      }
      declineReason = reason
    }
  }

  /// Restores these objects where the app's callbacks run. Throws INVALID_STATE before continue, or the second time;
  /// REMOTE_APPLICATION_TIMED_OUT after its end; INVALIDATED when the app is closed, and releases the objects.
  public func restore(_ restorables: [Restorable]) throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      try checkAppIsOpen()
      guard case .none = restoration else { throw SegueError(.invalidState, "continuation: was restored already") }
      guard activity != nil else { throw unavailable("there is no activity to restore from yet") }
      restoration = .waiting
      self.restorables = restorables
    }
    do throws(SegueError) {
      try app.restoreSoon(self)
    } catch {
      end(isAppClosed: true)
      throw error
    }
  }

  /// Answers continue. Throws INVALID_STATE before continue, or the second time; INVALIDATED when the app is closed;
  /// REMOTE_APPLICATION_TIMED_OUT after its end.
  public func complete(handled: Bool) throws(SegueError) { try answer(handled) }

  /// Answers continue: the app broke. Throws as `complete` does.
  public func fail(_ reason: String?) throws(SegueError) {
    let reason: DiagnosticText = reason.map { DiagnosticText(of: $0) } ?? "the app broke"
    try answer(true, failure: SegueError(.handoffFailed, reason))
  }

  private func answer(_ handled: Bool, failure: SegueError? = nil) throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      try checkAppIsOpen()
      guard activity != nil || self.handled != nil else {
        if hasEnded { self.handled = handled }
        throw unavailable("there is nothing to answer yet")
      }
      guard self.handled == nil else { throw SegueError(.invalidState, "continuation: was answered already") }
      self.handled = handled
      self.failure = failure
    }
    if let error = answerIfDue() { throw error }
  }

  /// Answers open_document: the document is open, or cannot be opened, for that reason. Throws INVALID_STATE before
  /// open_document, or the second time; INVALID_ARGUMENT, INVALIDATED; REMOTE_APPLICATION_TIMED_OUT after the deadline.
  public func completeOpening(_ document: LiveDocument?, _ reason: String?) throws(SegueError) {
    if let document, document.app !== app {
      throw SegueError(.invalidArgument, "document: is another app's document")
    }
    let activity = try lock.withLock { () throws(SegueError) in
      try checkAppIsOpen()
      guard case .asked = opening else {
        throw SegueError(.invalidState, "continuation: there is no document to open, or it was answered already")
      }
      opening = .answered
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
      lock.withLock { opening = .asked }
      throw error
    }
    lock.withLock {
      handled = true
      isAnswered = false
      restoration = .waiting
      restorables = document.responder.restores ? [ResponderRestorable(document.responder)] : []
    }
    try app.restoreSoon(self)
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
      opening = .asked
      return self.activity
    }
    var reply: Reply?
    if let delegate, let activity, let url = activity.continuedFrom?.documentURL {
      reply = delegate.call { delegate.openDocument(app, url, activity, self) }
    }
    if case .later? = reply { return true }
    if reply == nil, let activity { endUnseen(activity) }
    let isUnanswered = lock.withLock { if case .asked = opening { true } else { false } }
    if isUnanswered { try? completeOpening(nil, nil) }
    return reply != nil
  }

  func beginAnnouncing() { lock.withLock { isAnnouncing = true } }

  /// - Returns: why the app declines, if it does.
  func endAnnouncing() -> String? {
    lock.withLock {
      isAnnouncing = false
      return declineReason
    }
  }

  func arrived(_ activity: LiveActivity) { lock.withLock { self.activity = activity } }

  func progressed(_ progress: (received: Int, total: Int)) { lock.withLock { lastProgress = progress } }

  /// Runs the host's functions, on the thread of its callbacks.
  func runRestoration() {
    let (activity, restorables) = lock.withLock {
      defer { self.restorables = [] }
      return (self.activity, self.restorables)
    }
    guard let activity else { return }
    var isRestored = true
    for restorable in restorables { isRestored = restorable.restore(activity) && isRestored }
    lock.withLock {
      self.isRestored = isRestored
      restoration = .done
    }
    // A thread that answered meanwhile knows whether it was in time.
    _ = answerIfDue()
  }

  /// It has failed, or its app is closed: nothing more is restored.
  func end(isAppClosed: Bool) {
    let held = lock.withLock {
      defer {
        self.isAppClosed = isAppClosed
        hasEnded = activity != nil
        restorables = []
        activity = nil
      }
      return (restorables, activity)
    }
    // The host's functions destroy contexts, so this happens without the lock.
    withExtendedLifetime(held) {}
    hold(nil)
  }

  /// Called with the lock.
  private func checkAppIsOpen() throws(SegueError) {
    guard !isAppClosed else { throw SegueError(.invalidated, "continuation: its app is closed") }
  }

  /// The error of a call that needs the activity, which is not there yet, or no longer. Called with the lock.
  private func unavailable(_ why: DiagnosticText) -> SegueError {
    hasEnded ? App.tooLate : SegueError(.invalidState, "continuation: \(why)")
  }

  /// - Returns: why the answer of the host comes too late; nil if it does not, or there is none yet.
  private func answerIfDue() -> SegueError? {
    let (handled, isRestored, isWaiting) = lock.withLock {
      let isWaiting = if case .waiting = restoration { true } else { false }
      let handled = isAnswered ? nil : self.handled
      if handled != nil, !isWaiting { isAnswered = true }
      return (handled, self.isRestored, isWaiting)
    }
    guard let handled else { return nil }
    if isWaiting { return app.noteAnswer(of: self) }
    if !handled, passOn() { return nil }
    defer {
      letGoIfDone()
      hold(nil)
    }
    return app.answer(self, handled: handled, restored: isRestored, lock.withLock { failure })
  }

  /// Nothing was handled: the document of the activity is opened, or cannot be (R3.5).
  /// - Returns: false if the app declines.
  private func passOn() -> Bool {
    guard let activity = lock.withLock({ activity }) else { return false }
    let next = app.afterDeclining(activity, isHandlerThere: hasContinueHandler)
    if case .declined = next { return false }
    // Before the first callback that follows from it.
    lock.withLock { isPassedOn = true }
    let isInTime = app.beginOpening(self, next)
    if !isInTime { lock.withLock { isPassedOn = false } }
    if case .opening = next, isInTime { return true }
    endUnseen(activity)
    return isInTime
  }

  /// The host has never seen what no callback was called with: no handle of it will be released.
  private func endUnseen(_ activity: LiveActivity) { if !hasContinueHandler { activity.invalidate() } }

  /// Answered and restored: releases the activity.
  private func letGoIfDone() {
    let held: LiveActivity? = lock.withLock {
      guard isAnswered, case .done = restoration else { return nil }
      return activity.take()
    }
    withExtendedLifetime(held) {}
  }
}
