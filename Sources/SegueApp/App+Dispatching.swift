// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// Runs the callbacks of an app that are due.
extension App {
  /// Whether this thread is inside one of the app's callbacks.
  public var isInCallback: Bool { dispatcher.isRunningHere }

  /// Runs the callbacks that are due, after waiting for the first of them (SEGUE_DELIVER_HOST).
  /// - Parameter timeout: milliseconds; negative: no limit.
  /// - Returns: the number of callbacks that ran.
  public func dispatch(timeout: Int32) throws(SegueError) -> Int {
    guard !isInCallback else { throw SegueError(.busy, "app: dispatch cannot run inside one of its callbacks") }
    return try environment.dispatch(self, timeout: timeout)
  }

  /// Makes `dispatch` return. Safe in a signal handler.
  public func wake() { environment.wake() }

  /// Readable while `dispatch` has something to do. The callbacks run in `dispatch` only from now on.
  public func descriptor() throws(SegueError) -> Int32 {
    monitor.lock()
    defer { monitor.unlock() }
    try checkDeliversToHost()
    let descriptor = try environment.giveDescriptor()
    if !due.isEmpty { environment.signalDue() }
    return descriptor
  }

  /// Whether callbacks are due. Called with the lock, like the next ones.
  public var hasDueCallbacks: Bool { !due.isEmpty }

  public func checkIsOpen() throws(SegueError) {
    if !isOpen { throw notOpen }
  }

  private func checkDeliversToHost() throws(SegueError) {
    try checkIsOpen()
    guard case .host = settings.delivery else {
      throw SegueError(.invalidState, "app: its callbacks run on a thread of the library")
    }
  }

  public func checkMayDispatch() throws(SegueError) {
    try checkDeliversToHost()
    guard !dispatcher.isBusy else { throw SegueError(.busy, "app: another thread is in dispatch") }
  }

  /// Runs the due callbacks (all: also those that follow from them), each without the lock.
  /// - Returns: the number of callbacks of the host that ran.
  @discardableResult
  public func runDue(all: Bool) -> Int {
    var left = due.count
    var count = 0
    while all || left > 0, let item = due.popFirst() {
      left -= 1
      do {
        // Releases its contents at the end of this scope, before the lock is taken: that may call the host, too.
        let turn = turn(of: item)
        unlockAndLog()
        if turn() { count += 1 }
      }
      monitor.lock()
      if !all, !isOpen { break }
    }
    return count
  }
}
