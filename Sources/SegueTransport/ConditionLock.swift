import CLinux
import SegueModel

/// A lock on which threads can also wait for each other; not recursive. Who holds it is not cancelled; several are given up
/// last first.
public final class ConditionLock {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  /// Of the thread that holds it.
  private var formerCancellation: Int32 = 0

  public init() {
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  @inline(never)
  public func lock() {
    let former = Cancellation.disable()
    pthread_mutex_lock(mutex)
    formerCancellation = former
  }

  @inline(never)
  public func unlock() {
    let former = formerCancellation
    pthread_mutex_unlock(mutex)
    Cancellation.restore(former)
  }

  /// Gives the lock up until somebody notifies; look again at what you wait for.
  public func wait() {
    let former = formerCancellation
    pthread_cond_wait(condition, mutex)
    formerCancellation = former
  }

  public func notifyAll() { pthread_cond_broadcast(condition) }
}
