// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Closes descriptors that peers have opened, on threads that nothing waits for. A close may last for as long as a peer
/// likes: of a file on its own file system (FUSE), of a TCP socket that lingers, and of a Unix socket in whose queue
/// such a descriptor waits. Each peer has threads of its own, so that one which holds up its threads delays the closes
/// of no other. If all threads are held up, further descriptors stay open. If the system refuses a thread, the caller
/// closes what there is.
final class DescriptorCloser: @unchecked Sendable {
  /// The most threads, and the most of one peer.
  private static let threadLimit = 64
  private static let peerThreadLimit = 2

  /// Milliseconds without a close after which a peer counts as one that holds them up. Without that an honest app that
  /// asks for a thousand streams at once would count as one.
  private static let heldTime: Int64 = 500

  /// The descriptors of one peer that wait for a thread, and its threads.
  private struct Queue {
    let peer: Identifier
    var waiting: [Int32] = []
    var threads = 0
    /// The uptime at which one was closed last, or the first one came.
    var progressAt = Clock.uptime
  }

  let lock = Lock()
  // Guarded by `lock`. A queue is there while it has descriptors or threads: they are few.
  private var queues: [Queue] = []
  private var threads = 0
  /// The descriptors of all queues.
  private var count = 0

  /// Whether more than so many descriptors wait, of any peer.
  func waits(moreThan limit: Int) -> Bool { lock.withLock { count > limit } }
  /// Whether a peer holds up closes, and more than so many of its descriptors wait; or more than `most`.
  func isHeldUp(by peer: Identifier, moreThan limit: Int, most: Int) -> Bool {
    lock.withLock {
      guard let index = index(of: peer), queues[index].waiting.count > limit else { return false }
      return queues[index].waiting.count > most || Clock.uptime - queues[index].progressAt > Self.heldTime
    }
  }

  /// - Parameter peer: that is charged: has passed the descriptor.
  @inline(never)
  func close(_ fd: Int32, of peer: Identifier) {
    // A close that has to wait for a thread may be the system's, by exec.
    linux_stop_lingering(fd)
    let needsThread = lock.withLock {
      let index = index(of: peer) ?? queues.count
      if index == queues.count { queues.append(Queue(peer: peer)) }
      queues[index].waiting.append(fd)
      count += 1
      let needsThread = queues[index].threads < Self.peerThreadLimit && threads < Self.threadLimit
      if needsThread { addThread(at: index) }
      return needsThread
    }
    guard needsThread else { return }
    if let thread = try? Thread({ self.run(peer) }) {
      thread.detach()
    } else {
      run(peer)
    }
  }

  /// Called with the lock, in a forked child: it has none of the threads.
  func forget() {
    queues = []
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
      if let index = index(of: peer) {
        queues[index].progressAt = Clock.uptime
        if let fd = take(at: index) { return (fd, peer) }
      }
      endThread(of: peer)
      guard let other = queues.firstIndex(where: { $0.threads == 0 }), let fd = take(at: other) else { return nil }
      addThread(at: other)
      return (fd, queues[other].peer)
    }
  }

  // MARK: With the lock

  private func index(of peer: Identifier) -> Int? { queues.firstIndex { $0.peer == peer } }

  private func take(at index: Int) -> Int32? {
    guard let fd = queues[index].waiting.popLast() else { return nil }
    count -= 1
    return fd
  }

  private func addThread(at index: Int) {
    queues[index].threads += 1
    threads += 1
  }

  private func endThread(of peer: Identifier) {
    threads -= 1
    guard let index = index(of: peer) else { return }
    queues[index].threads -= 1
    if queues[index].threads == 0, queues[index].waiting.isEmpty { queues.remove(at: index) }
  }
}
