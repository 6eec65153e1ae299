// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import Synchronization

/// The state of running an app's callbacks. Guarded by the app's lock, except `holder`; a class, since in a struct a
/// change of another field would be an access to `holder`, too.
public final class Dispatcher {
  private let thread = Atomic<pthread_t>(0)
  /// It sleeps until a callback is due, and reads the socket itself meanwhile.
  public private(set) var isWaiting = false
  /// The uptime at which it last woke up.
  private var wokeAt = Int64.min / 2
  /// The uptime at which to check that a thread that has kept the socket has come back; nil: none has.
  public private(set) var loanEndsAt: Int64?
  /// A callback released the last handle of the app.
  public var shallClose = false

  public var isBusy: Bool { holder != nil }

  /// The thread in dispatch. A thread that checks for itself needs no lock.
  var holder: pthread_t? {
    let thread = self.thread.load(ordering: .relaxed)
    return thread == 0 ? nil : thread
  }

  /// This thread is in dispatch, so it needs no wake-up.
  public var isRunningHere: Bool { holder == pthread_self() }

  public func enter() { thread.store(pthread_self(), ordering: .relaxed) }
  public func leave() { thread.store(0, ordering: .relaxed) }

  // MARK: The reader of the socket

  /// Milliseconds for which a thread that dispatches may be away from the socket and keep it.
  private static let loanTime: Int64 = 10

  public func sleep() { isWaiting = true }

  /// - Returns: whether it was here just now, and so probably comes back soon.
  public func wakeUp(at uptime: Int64) -> Bool {
    isWaiting = false
    let wasHere = uptime - wokeAt < Self.loanTime
    wokeAt = uptime
    return wasHere
  }

  /// The thread keeps the socket while it is away.
  public func beginLoan() { loanEndsAt = loanEndsAt ?? wokeAt + Self.loanTime }

  /// - Returns: whether the library thread has to take the socket back.
  public func endLoan(_ uptime: Int64) -> Bool {
    guard let end = loanEndsAt, end <= uptime else { return false }
    let isAway = !isWaiting && wokeAt + Self.loanTime <= uptime
    loanEndsAt = isWaiting || isAway ? nil : wokeAt + Self.loanTime
    return isAway
  }
}
