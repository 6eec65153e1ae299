// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueTransport
import Synchronization

/// The descriptor that tells a host to dispatch: readable while a callback is due, or after `wake`. Guarded by the
/// app's lock, except `wake`.
///
/// Writing and reading cost a system call each, so it is written only if a thread may poll it.
public final class WakeUp {
  public init() {}

  private let descriptor = Atomic<Int32>(-1)
  private let request = Atomic<Bool>(false)
  /// A callback is due.
  private var isSignalled = false
  /// Whether it is known to be readable: `wake` does not record that.
  private var isReadable = false
  /// Whether the host has it, and may watch it at any time.
  public private(set) var isGiven = false

  /// Negative: it is not open.
  var fd: Int32 { descriptor.load(ordering: .relaxed) }

  public func open() throws(SegueError) {
    guard fd < 0 else { return }
    descriptor.store(try Descriptors.eventDescriptor(), ordering: .relaxed)
  }

  /// Not earlier: another thread may be in `wake`, and the number may then be another file's.
  deinit { Descriptors.close(fd) }

  /// Returns the descriptor for the host's event loop.
  public func give() -> Int32 {
    isGiven = true
    if isSignalled, !isReadable { write() }
    return fd
  }

  /// A callback is due. `isAwaited`: a thread sleeps until then.
  public func signal(isAwaited: Bool) {
    guard !isSignalled else { return }
    isSignalled = true
    if isGiven || isAwaited { write() }
  }

  /// Callbacks of an app are due, which runs them by itself if this is one of its callbacks.
  func signalDue(in app: App) {
    if !app.dispatcher.isRunningHere { signal(isAwaited: app.dispatcher.isWaiting) }
  }

  /// Makes a waiting host check its condition again.
  func notify(if isWaiting: Bool) { if isWaiting { write() } }

  /// Whether the host has asked to be woken since `clear`. Without the lock, too.
  public var isRequested: Bool { request.load(ordering: .relaxed) }

  /// It was found readable.
  func foundReadable() { isReadable = true }

  /// Wakes on request of the host. Safe in a signal handler: takes no lock, allocates nothing, keeps `errno`.
  public func wake() {
    let errno = linux_errno()
    request.store(true, ordering: .relaxed)
    add()
    linux_set_errno(errno)
  }

  /// No callback is due.
  /// - Returns: whether the host asked to be woken.
  public func clear() -> Bool {
    let wasRequested = request.exchange(false, ordering: .relaxed)
    isSignalled = false
    // If `wake` has not written yet, the next sleeper finds its write.
    if isReadable || wasRequested { read() }
    return wasRequested
  }

  /// No callback is due any longer; a request of the host stays.
  func clearSignal() {
    isSignalled = false
    guard isReadable else { return }
    read()
    if isRequested { add() }
  }

  private func write() {
    isReadable = true
    add()
  }

  private func read() {
    isReadable = false
    Descriptors.reset(fd)
  }

  private func add() { Descriptors.raise(fd) }
}
