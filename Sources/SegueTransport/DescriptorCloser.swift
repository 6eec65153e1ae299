import CLinux
import SegueModel
import SegueSystem

/// Closes descriptors that peers have opened, on threads that nothing waits for. A close may last for as long as a peer
/// likes: of a file on its own file system (FUSE), of a TCP socket that lingers, and of a Unix socket in whose queue
/// such a descriptor waits. If all threads are held up, further descriptors stay open. If no thread can be started,
/// they stay open until the next close.
final class DescriptorCloser: @unchecked Sendable {
  private static let threadLimit = 4

  let lock = Lock()
  // Guarded by `lock`.
  private var waiting: [Int32] = []
  private var threads = 0

  /// The descriptors that wait for a thread.
  var count: Int { lock.withLock { waiting.count } }

  @inline(never)
  func close(_ fd: Int32) {
    let needsThread = lock.withLock {
      waiting.append(fd)
      guard threads < Self.threadLimit else { return false }
      threads += 1
      return true
    }
    guard needsThread else { return }
    if let thread = try? Thread({ self.run() }) { thread.detach() } else { lock.withLock { threads -= 1 } }
  }

  /// Called with the lock, in a forked child: it has none of the threads.
  func forget() {
    waiting = []
    threads = 0
  }

  private func run() {
    while let fd = next() {
      linux_stop_lingering(fd)
      Descriptors.close(fd)
    }
  }

  /// Nil if the thread ends.
  private func next() -> Int32? {
    lock.withLock {
      if waiting.isEmpty { threads -= 1 }
      return waiting.popLast()
    }
  }
}
