import CLinux
import SegueModel

/// A lock with a condition; not recursive. A thread that holds it is not cancelled; several are released in reverse
/// order.
public final class ConditionLock {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  /// The state of the holding thread.
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

  /// Releases the lock until a notification; check the condition again afterwards.
  public func wait() {
    let former = formerCancellation
    pthread_cond_wait(condition, mutex)
    formerCancellation = former
  }

  public func notifyAll() { pthread_cond_broadcast(condition) }
}
