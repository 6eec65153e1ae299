import CLinux
import SegueModel
import SegueSystem

/// Closes descriptors that peers have opened, on threads that nothing waits for. A close may last for as long as a peer
/// likes: of a file on its own file system (FUSE), of a TCP socket that lingers, and of a Unix socket in whose queue
/// such a descriptor waits. Each peer has threads of its own, so that one which holds up its threads delays the closes
/// of no other. If all threads are held up, further descriptors stay open. If no thread can be started, they stay open
/// until the next close.
final class DescriptorCloser: @unchecked Sendable {
  /// The most threads, and the most of one peer.
  private static let threadLimit = 64
  private static let peerThreadLimit = 2

  /// The descriptors of one peer that wait for a thread, and its threads.
  private struct Queue {
    var waiting: [Int32] = []
    var threads = 0
  }

  let lock = Lock()
  // Guarded by `lock`. A queue is there while it has descriptors or threads.
  private var queues: [Identifier: Queue] = .init()
  private var threads = 0
  /// The descriptors of all queues.
  private var count = 0

  /// Whether more than so many descriptors wait, of any peer.
  func waits(moreThan limit: Int) -> Bool { lock.withLock { count > limit } }
  /// The descriptors of a peer that wait for a thread.
  func count(of peer: Identifier) -> Int { lock.withLock { queues[peer]?.waiting.count ?? 0 } }

  /// - Parameter peer: that is charged: has passed the descriptor.
  @inline(never)
  func close(_ fd: Int32, of peer: Identifier) {
    // A close that has to wait for a thread may be the system's, by exec.
    linux_stop_lingering(fd)
    let needsThread = lock.withLock {
      var queue = queues[peer] ?? Queue()
      queue.waiting.append(fd)
      count += 1
      let needsThread = queue.threads < Self.peerThreadLimit && threads < Self.threadLimit
      if needsThread {
        queue.threads += 1
        threads += 1
      }
      queues[peer] = queue
      return needsThread
    }
    guard needsThread else { return }
    if let thread = try? Thread({ self.run(peer) }) {
      thread.detach()
    } else {
      lock.withLock { endThread(of: peer) }
    }
  }

  /// Called with the lock, in a forked child: it has none of the threads.
  func forget() {
    queues = .init()
    threads = 0
    count = 0
  }

  private func run(_ first: Identifier) {
    var peer = first
    while let next = next(peer) {
      peer = next.peer
      linux_stop_lingering(next.fd)
      Descriptors.close(next.fd)
    }
  }

  /// The next descriptor of a peer, or of another one that has no thread. Nil if the thread ends.
  private func next(_ peer: Identifier) -> (fd: Int32, peer: Identifier)? {
    lock.withLock {
      if let fd = take(peer) { return (fd, peer) }
      endThread(of: peer)
      guard let other = queues.first(where: { $0.value.threads == 0 })?.key, let fd = take(other) else { return nil }
      queues[other]?.threads = 1
      threads += 1
      return (fd, other)
    }
  }

  // With the lock.
  private func take(_ peer: Identifier) -> Int32? {
    guard let fd = queues[peer]?.waiting.popLast() else { return nil }
    count -= 1
    return fd
  }

  // With the lock.
  private func endThread(of peer: Identifier) {
    threads -= 1
    queues[peer]?.threads -= 1
    if let queue = queues[peer], queue.threads == 0, queue.waiting.isEmpty { queues[peer] = nil }
  }
}
