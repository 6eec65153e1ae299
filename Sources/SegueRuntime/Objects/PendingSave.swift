import SegueModel
import SegueTransport

/// A will_save that waits for its answer.
public final class PendingSave: Handled {
  private let app: App
  private let activity: LiveActivity
  private let number: UInt64
  private let lock = Lock()
  private var isAnswered = false

  init(app: App, activity: LiveActivity, number: UInt64) {
    self.app = app
    self.activity = activity
    self.number = number
  }

  /// The activity is up to date. Throws INVALID_STATE the second time.
  public func complete() throws(SegueError) {
    guard answer() else { throw Self.answered }
  }

  /// The activity could not be brought up to date (R2.4). Throws INVALID_STATE the second time.
  public func fail() throws(SegueError) {
    guard takeAnswer() else { throw Self.answered }
    app.saveFailed(number)
  }

  private static var answered: SegueError { SegueError(.invalidState, "save: was answered already") }

  /// The last handle that could answer was released.
  public override func lastHandleReleased() { _ = answer() }

  /// will_save is about to run.
  func begin() {
    activity.beginSaving(number)
    app.saveBegan(number)
  }

  /// will_save has returned.
  func returned(isAnsweredLater: Bool) {
    guard isAnsweredLater else { return _ = answer() }
    // An answer of another thread comes before or after this, not in between.
    lock.withLock { if !isAnswered { activity.continueSaving(number) } }
  }

  /// False if it was answered before.
  @discardableResult
  func answer() -> Bool {
    guard takeAnswer() else { return false }
    app.saved(number)
    return true
  }

  /// False if it was answered before.
  private func takeAnswer() -> Bool {
    lock.withLock {
      defer { isAnswered = true }
      if !isAnswered { activity.endSaving(number) }
      return !isAnswered
    }
  }
}
