// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The threads of this process that close an app and wait for its callbacks to return. Two of them could deadlock, each
/// inside a callback for which the other waits.
public final class CloseDeadlockGuard: @unchecked Sendable {
  public static let shared = CloseDeadlockGuard()

  private struct Waiting {
    let thread: pthread_t
    /// The dispatcher of the app for which the thread waits.
    let dispatcher: Dispatcher
  }

  private let lock = Lock()
  /// Guarded by `lock`. Invariant: each thread is in it at most once.
  private var waiting: [Waiting] = []

  /// Begins to wait until no thread is in a callback of `app`; call `ended` afterwards. Throws BUSY, without a wait, if
  /// a thread in such a callback waits, directly or through others, for a callback in which this thread is.
  func wait(for app: App) throws(SegueError) {
    let here = pthread_self()
    try lock.withLock { () throws(SegueError) in
      // The last thread of a cycle detects it, since all others are here by then; so the walk never passes a cycle
      // twice.
      var holder = app.dispatcher.holder
      while let thread = holder {
        guard thread != here else {
          throw SegueError(.busy, "app: cannot be closed in this callback, for whose end a callback of the app waits")
        }
        holder = waiting.first { $0.thread == thread }?.dispatcher.holder
      }
      waiting.append(Waiting(thread: here, dispatcher: app.dispatcher))
    }
  }

  public func lockForFork() { lock.lock() }
  public func unlockAfterFork() { lock.unlock() }

  func ended() {
    let here = pthread_self()
    lock.withLock { waiting.removeAll { $0.thread == here } }
  }
}
