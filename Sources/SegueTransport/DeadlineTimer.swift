// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A descriptor that becomes readable at an uptime, which includes the time in which the system sleeps.
///
/// Guarded by its owner's lock, except `fd`.
final class DeadlineTimer {
  let fd: Int32
  private var deadline: Int64?
  /// The uptime at which the last deadline was unset.
  private var unsetAt = Int64.min / 2

  /// Milliseconds in which another wake-up is likely.
  private static let soon: Int64 = 1_000
  /// Deadlines that are unset within that many milliseconds after each other are a burst.
  private static let burst: Int64 = 100

  convenience init() throws(SegueError) {
    let fd = linux_timerfd()
    guard fd >= 0 else { throw .system("timer") }
    self.init(Descriptors.own(fd))
  }

  private init(_ fd: Int32) { self.fd = fd }

  deinit { Descriptors.close(fd) }

  /// - Parameter deadline: uptime in milliseconds; nil: none. A deadline later than the current one is not set, and one
  ///   that comes soon anyway is not unset: one early wake-up costs less than a system call each time. But an idle
  ///   process is never woken needlessly.
  func set(_ deadline: Int64?) {
    if let deadline {
      guard self.deadline.map({ deadline < $0 }) ?? true else { return }
      return arm(deadline)
    }
    let uptime = Clock.uptime
    guard let set = self.deadline, set - uptime > Self.soon else { return }
    // In a burst one early wake-up, after which nothing may be due, costs less than to set and to unset each deadline.
    arm(uptime - unsetAt < Self.burst ? uptime + 2 * Self.burst : nil)
    unsetAt = uptime
  }

  private func arm(_ deadline: Int64?) {
    self.deadline = deadline
    var time = itimerspec()
    // Zero unsets it.
    let at = deadline.map { max(1, $0) } ?? 0
    time.it_value = timespec(tv_sec: Int(at / 1000), tv_nsec: Int(at % 1000) * 1_000_000)
    timerfd_settime(fd, Int32(TFD_TIMER_ABSTIME), &time, nil)
  }

  /// Unsets the deadline if it has passed.
  func clear(_ uptime: Int64) {
    guard let deadline, deadline <= uptime else { return }
    self.deadline = nil
    Descriptors.reset(fd)
  }
}
