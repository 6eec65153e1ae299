import CLinux
import SegueModel

/// A lock on which threads can also wait for each other; not recursive.
public final class Monitor {
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

  /// Gives the lock up until somebody notifies; look again at what you wait for.
  public func wait() { pthread_cond_wait(condition, mutex) }
  public func notifyAll() { pthread_cond_broadcast(condition) }
}
