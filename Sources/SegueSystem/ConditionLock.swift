import CLinux
import SegueModel

/// A lock with a condition; not recursive.
public final class ConditionLock {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

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

  public func lock() { pthread_mutex_lock(mutex) }
  public func unlock() { pthread_mutex_unlock(mutex) }

  /// Releases the lock until a notification; check the condition again afterwards.
  public func wait() { pthread_cond_wait(condition, mutex) }

  public func notifyAll() { pthread_cond_broadcast(condition) }
}
