// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// Callbacks of the host, as one object. When its last handle is released, no further callback starts; its contents are
/// destroyed after a running one has returned (R1.15). One that was left serves until the library has no use for it.
open class Delegate: HandleObject {
  private let lock = Lock()
  private var running = 0
  private var isDetached = false
  private var isDestroyed = false
  private var isGiven = false
  /// The host has left it to the objects that have it.
  private var isLeft = false

  /// Destroys the host's context; called exactly once.
  open func destroy() {}

  /// Whether it is in use, so that its functions must not change.
  public final func give() { lock.withLock { isGiven = true } }

  /// Changes its functions. Throws INVALID_STATE if it is in use.
  public final func configure(_ change: () -> Void) throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      guard !isGiven else {
        throw SegueError(
          .invalidState, "delegate: is in use; set its functions before you give it to an app or an activity")
      }
      change()
    }
  }

  /// Whether its callbacks can still run.
  final var isAttached: Bool { lock.withLock { !isDetached } }

  /// Runs a callback unless the delegate is detached.
  final func call<Result>(_ body: () -> Result) -> Result? {
    let mayRun = lock.withLock {
      if !isDetached { running += 1 }
      return !isDetached
    }
    guard mayRun else { return nil }
    let result = body()
    lock.withLock { running -= 1 }
    destroyIfDue()
    return result
  }

  /// The release of its last handle will not detach it.
  public final func leave() { lock.withLock { isLeft = true } }

  open override func lastHandleReleased() {
    lock.withLock { isDetached = !isLeft }
    destroyIfDue()
  }

  private func destroyIfDue() {
    let isDue = lock.withLock {
      guard isDetached, running == 0, !isDestroyed else { return false }
      isDestroyed = true
      return true
    }
    if isDue { destroy() }
  }
}

/// The answer of a callback that may also answer later. Raw values are those of `segue_reply`.
public enum Reply: Int32, Sendable {
  case no = 0
  case yes = 1
  case later = 2
}

/// The delegate of activities; all of its callbacks are optional.
open class ActivityDelegate: Delegate {
  /// Whether `willSave` does anything.
  open var answersWillSave: Bool { false }
  open func willSave(_ activity: LiveActivity, _ save: PendingSave) -> Reply { .yes }
  /// False if there is no such callback.
  open func wasContinued(_ activity: LiveActivity, _ receipt: SharedBox<Receipt>) -> Bool { false }
  open func continuationEnded(_ activity: LiveActivity, _ receipt: SharedBox<Receipt>) -> Bool { false }
  /// Nil if there is no such callback.
  open func willResumeBack(_ activity: LiveActivity, hasChanged: Bool, _ request: ResumeBack) -> Reply? { nil }
  open func didResumeBack(_ activity: LiveActivity, isStale: Bool) -> Bool { false }
  /// Whether `didReceiveStream` does anything.
  open var takesStreams: Bool { false }
  open func didReceiveStream(_ activity: LiveActivity, _ stream: LiveStream) -> Bool { false }
  /// Whether `didReceiveRequest` does anything.
  open var takesRequests: Bool { false }
  open func didReceiveRequest(_ activity: LiveActivity, _ request: Request, _ bytes: [UInt8]) -> Bool { false }
}

/// The delegate of an app. A result of false or nil means that there is no such callback.
open class AppDelegate: Delegate {
  open func offer(_ app: App, _ event: Int32, _ offer: OfferObject) -> Bool { false }
  open func connection(_ app: App, isReady: Bool) -> Bool { false }
  /// Whether `continue` does anything.
  open var continues: Bool { false }
  open func willContinue(_ app: App, type: String, _ continuation: Continuation) -> Bool { false }
  open func `continue`(_ app: App, _ activity: LiveActivity, _ continuation: Continuation) -> Reply? { nil }
  /// Whether `openDocument` does anything.
  open var opensDocuments: Bool { false }
  open func openDocument(_ app: App, _ url: String, _ activity: LiveActivity, _ continuation: Continuation) -> Reply {
    .no
  }
  open func openingFailed(_ app: App, type: String, _ error: SharedBox<SegueError>, _ continuation: Continuation)
    -> Bool
  {
    false
  }
  open func didFail(_ app: App, type: String, _ error: SharedBox<SegueError>, _ continuation: Continuation) -> Bool {
    false
  }
  /// Whether `didUpdate` does anything.
  open var answersDidUpdate: Bool { false }
  open func didUpdate(_ app: App, _ activity: LiveActivity) -> Bool { false }
}
