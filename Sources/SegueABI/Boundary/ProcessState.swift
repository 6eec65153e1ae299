import CLinux
import SegueModel
import SegueRuntime
import SegueTransport
import Synchronization

/// The setup of the library at the first call in a process, and whether the process is still the same one.
enum ProcessState {
  private static let untouched: UInt8 = 0
  private static let ready: UInt8 = 1
  private static let forked: UInt8 = 2

  private static let stage = Atomic<UInt8>(0)
  private static let lock = Lock()
  /// Set under `lock`, before `stage` says ready; constant from then on.
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

  private static func start(_ evenInFork: Bool) throws(SegueError) {
    guard stage.load(ordering: .acquiring) != forked else {
      if evenInFork { return }
      throw SegueError(.forked, "this process is a fork of the one that uses the library: load it after fork, or exec")
    }
    try lock.withLock { () throws(SegueError) in
      guard stage.load(ordering: .relaxed) == untouched else { return }
      slots = try SlotStore()
      Log.readEnvironment()
      // Another thread may be about to create a handle.
      let prepare = pthread_atfork(
        { ProcessState.slots?.lockForFork() }, { ProcessState.slots?.unlockAfterFork() },
        {
          ProcessState.slots?.unlockAfterFork()
          // Without an app there is no thread, no descriptor and no connection that the child would lack.
          if Library.hasOpened { ProcessState.stage.store(ProcessState.forked, ordering: .relaxed) }
        })
      guard prepare == 0 else { throw SlotStore.outOfMemory }
      stage.store(ready, ordering: .releasing)
    }
  }
}
