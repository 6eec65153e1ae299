// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CLoaded
import SegueApp
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport
import Synchronization

/// The library is loaded. No thread of the process uses it yet, so nothing is half done in a fork.
@_cdecl("library_loaded") @implementation
public func library_loaded() { ProcessState.load() }

/// The setup of the library at the first call in a process, and whether the process is still the same one.
enum ProcessState {
  private static let untouched: UInt8 = 0
  private static let ready: UInt8 = 1
  private static let forked: UInt8 = 2

  private static let stage = Atomic<UInt8>(0)
  /// Whether a thread sets the library up, or forks.
  private static let isStarting = Atomic<Bool>(false)
  /// Whether forks are handled: without memory they are not. Constant after `load`.
  nonisolated(unsafe) private static var handlesFork = false
  /// The hash value whose computation drew the seed of hash tables; nothing reads it.
  nonisolated(unsafe) private static var seed = 0
  /// Set by the thread that sets the library up; constant once `stage` says ready.
  nonisolated(unsafe) private(set) static var slots: SlotStore?

  // Both are safe in a signal handler.
  /// Whether the library is set up, and the process not forked.
  static var isReady: Bool { stage.load(ordering: .acquiring) == ready }
  static var isForked: Bool { stage.load(ordering: .acquiring) == forked }

  /// Checks the process. Each exported function that can fail calls this first.
  /// - Parameter evenInFork: whether the call concerns values only.
  @inline(__always)
  static func check(evenInFork: Bool = false) throws(SegueError) {
    if stage.load(ordering: .acquiring) != ready { try start(evenInFork) }
  }

  @inline(never)
  private static func start(_ evenInFork: Bool) throws(SegueError) {
    guard stage.load(ordering: .acquiring) != forked else {
      if evenInFork { return }
      throw SegueError(
        .forked, "this process was forked from one that has opened an app: open apps after fork only, or exec")
    }
    becomeStarter()
    defer { isStarting.store(false, ordering: .releasing) }
    guard stage.load(ordering: .relaxed) == untouched else { return }
    SlotStore.prepareOutOfMemory()
    Memory.canAllocate = { linux_can_allocate($0) == 1 }
    guard handlesFork else { throw SlotStore.outOfMemory }
    slots = try SlotStore()
    Log.readEnvironment()
    stage.store(ready, ordering: .releasing)
  }

  /// Not a lock: that would be an object, which a thread would have to make first.
  private static func becomeStarter() {
    while isStarting.exchange(true, ordering: .acquiring) { sched_yield() }
  }

  /// Does what a fork in the middle of it would leave half done for ever. The standard library draws the seed of all
  /// hash tables; where the system refuses random numbers that would end the process, and no app can open. Each fork
  /// then waits for the locks that belong to no object, as in the child no thread would release them.
  fileprivate static func load() {
    if (try? Randomness.identifier()) != nil {
      var hasher = Hasher()
      hasher.combine(0)
      seed = hasher.finalize()
    }
    let result = pthread_atfork(
      {
        ProcessState.becomeStarter()
        Library.lockForFork()
        ProcessState.slots?.lockForFork()
        Descriptors.lockForFork()
      },
      { ProcessState.unlockAfterFork() },
      {
        // Without an app there is no thread and no connection that the child would lack.
        if Library.hasOpened {
          ProcessState.stage.store(ProcessState.forked, ordering: .relaxed)
          Descriptors.closeAllInChild()
        }
        ProcessState.unlockAfterFork()
      })
    handlesFork = result == 0
  }

  private static func unlockAfterFork() {
    Descriptors.unlockAfterFork()
    slots?.unlockAfterFork()
    Library.unlockAfterFork()
    isStarting.store(false, ordering: .releasing)
  }
}
