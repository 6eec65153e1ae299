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
  /// The process of the thread that sets the library up, or forks; 0 if none does. Not a mutex: a child that is forked
  /// before the handlers of fork are registered would find that locked for ever.
  private static let starter = Atomic<pid_t>(0)
  /// The following are set by `starter`. Whether the handlers of fork are registered.
  private static let handlesFork = Atomic<Bool>(false)
  /// Constant once `stage` says ready.
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
      throw SegueError(.forked, "this process is a fork of the one that uses the library: load it after fork, or exec")
    }
    becomeStarter()
    defer { starter.store(0, ordering: .releasing) }
    guard stage.load(ordering: .relaxed) == untouched else { return }
    SlotStore.prepareOutOfMemory()
    try handleFork()
    slots = try SlotStore()
    Log.readEnvironment()
    stage.store(ready, ordering: .releasing)
  }

  private static func becomeStarter() {
    let here = getpid()
    while true {
      let (isFree, other) = starter.compareExchange(expected: 0, desired: here, ordering: .acquiringAndReleasing)
      if isFree { return }
      // A thread of the process that this one is a fork of: nothing was registered yet.
      if other != here, starter.compareExchange(expected: other, desired: here, ordering: .acquiringAndReleasing).0 {
        return
      }
      sched_yield()
    }
  }

  /// Has each fork wait for the locks that belong to no object: in the child no thread would release them.
  private static func handleFork() throws(SegueError) {
    guard !handlesFork.load(ordering: .relaxed) else { return }
    let result = pthread_atfork(
      {
        ProcessState.becomeStarter()
        ProcessState.handlesFork.store(true, ordering: .relaxed)
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
    guard result == 0 else { throw SlotStore.outOfMemory }
    handlesFork.store(true, ordering: .relaxed)
  }

  private static func unlockAfterFork() {
    Descriptors.unlockAfterFork()
    slots?.unlockAfterFork()
    Library.unlockAfterFork()
    starter.store(0, ordering: .releasing)
  }
}
