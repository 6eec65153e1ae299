// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
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

  /// Does the same, for at most so many milliseconds. Time for which the system sleeps does not count.
  /// - Returns: false if the time is up.
  public func wait(atMost milliseconds: Int64) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    end.tv_sec += Int(milliseconds / 1000)
    end.tv_nsec += Int(milliseconds % 1000) * 1_000_000
    if end.tv_nsec >= 1_000_000_000 {
      end.tv_sec += 1
      end.tv_nsec -= 1_000_000_000
    }
    return pthread_cond_timedwait(condition, mutex, &end) != ETIMEDOUT
  }

  public func notifyAll() { pthread_cond_broadcast(condition) }
}
