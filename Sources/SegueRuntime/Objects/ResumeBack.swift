import SegueModel

/// A request for the state of an activity from the app that has continued it (R3.10).
open class ResumeBack: Request {
  /// The continuation back; written once, with the app's lock.
  private var continuation: Identifier?

  public init(_ activity: LiveActivity) { super.init(activity) }

  /// Called once, without locks.
  open func ended(_ activity: LiveActivity, isStale: Bool, _ error: Box<SegueError>?) {}

  final func ended(isStale: Bool, _ error: SegueError?) {
    ended(activity, isStale: isStale, error.map { Box($0) })
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

  public final override func cancel() {
    guard let continuation else { return }
    activity.app?.cancel(continuation)
  }
}
