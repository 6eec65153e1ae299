import SegueModel
import SegueTransport

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
  private var isAnswered = false
  private var isAppClosed = false
  private var lastProgress = (received: 0, total: 0)

  private enum Restoration {
    case none
    case waiting
    case done
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
  /// INVALIDATED when the app is closed, and releases the objects.
  public func restore(_ restorables: [Restorable]) throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      try checkAppIsOpen()
      guard case .none = restoration else { throw SegueError(.invalidState, "continuation: was restored already") }
      guard activity != nil else {
        throw SegueError(.invalidState, "continuation: there is no activity to restore from yet")
      }
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
  /// REMOTE_APPLICATION_TIMED_OUT after the deadline.
  public func complete(handled: Bool) throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      try checkAppIsOpen()
      guard activity != nil || self.handled != nil else {
        throw SegueError(.invalidState, "continuation: there is nothing to answer yet")
      }
      guard self.handled == nil else { throw SegueError(.invalidState, "continuation: was answered already") }
      self.handled = handled
    }
    if let error = answerIfDue() { throw error }
  }

  // MARK: For its app

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
        restorables = []
        activity = nil
      }
      return (restorables, activity)
    }
    // The host's functions destroy contexts, so this happens without the lock.
    withExtendedLifetime(held) {}
  }

  /// Called with the lock.
  private func checkAppIsOpen() throws(SegueError) {
    guard !isAppClosed else { throw SegueError(.invalidated, "continuation: its app is closed") }
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
    if isWaiting { return app.lateness(of: self) }
    defer { letGoIfDone() }
    return app.answer(self, handled: handled, restored: isRestored)
  }

  /// Answered and restored: releases the activity.
  private func letGoIfDone() {
    let held: LiveActivity? = lock.withLock {
      guard isAnswered, case .done = restoration else { return nil }
      return activity.take()
    }
    withExtendedLifetime(held) {}
  }
}
