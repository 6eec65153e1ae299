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
    guard answer() else { throw SegueError(.invalidState, "save: was answered already") }
  }

  /// Nobody is left who could answer.
  public override func lastHandleReleased() { _ = answer() }

  var isOver: Bool { lock.withLock { isAnswered } }

  /// False: it was answered before.
  @discardableResult
  func answer() -> Bool {
    let isFirst = lock.withLock {
      defer { isAnswered = true }
      return !isAnswered
    }
    guard isFirst else { return false }
    activity.endSaving(isAnsweredLater: false)
    app.saved(number)
    return true
  }
}
