import CLinux
import SegueModel
import SegueTransport

/// The threads of this process that close an app and wait for its callbacks to return. Two of them could wait for each
/// other for ever, each inside a callback that the other waits for.
final class CloseDeadlockGuard: @unchecked Sendable {
  static let shared = CloseDeadlockGuard()

  private struct Waiting {
    let thread: pthread_t
    /// Kept by the call that waits.
    unowned(unsafe) let app: App
  }

  private let lock = Lock()
  /// Guarded by `lock`. Each thread is in it once at most.
  private var waiting: [Waiting] = []

  /// This thread is going to wait until nobody is in a callback of `app`; `ended` follows. Throws BUSY, and nothing
  /// follows, if whoever is in one waits, perhaps by way of others, for a callback in which this thread is.
  func wait(for app: App) throws(SegueError) {
    let here = pthread_self()
    try lock.withLock { () throws(SegueError) in
      // A circle shows to the last who joins it, since all others are here by then; so it is never passed through twice.
      var holder = app.dispatcher.holder
      while let thread = holder {
        guard thread != here else {
          throw SegueError(.busy, "app: a callback of it waits for the callback that this call is made in")
        }
        holder = waiting.first { $0.thread == thread }?.app.dispatcher.holder
      }
      waiting.append(Waiting(thread: here, app: app))
    }
  }

  func ended() {
    let here = pthread_self()
    lock.withLock { waiting.removeAll { $0.thread == here } }
  }
}
