import CLinux
import Synchronization

/// The state of running an app's callbacks. Guarded by the app's lock, except `holder`; a class, since in a struct a
/// change of another field would be an access to `holder`, too.
final class Dispatcher {
  private let thread = Atomic<pthread_t>(0)
  /// It sleeps until a callback is due, and reads the socket itself meanwhile.
  var isWaiting = false
  /// A callback released the last handle of the app.
  var shallClose = false

  var isBusy: Bool { holder != nil }

  /// The thread in dispatch. A thread that checks for itself needs no lock.
  var holder: pthread_t? {
    let thread = self.thread.load(ordering: .relaxed)
    return thread == 0 ? nil : thread
  }

  /// This thread is in dispatch, so it needs no wake-up.
  var isRunningHere: Bool { holder == pthread_self() }

  func enter() { thread.store(pthread_self(), ordering: .relaxed) }
  func leave() { thread.store(0, ordering: .relaxed) }
}
