// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// SHA-256 on a thread of its own, so that the caller can write the bytes meanwhile. For one thread at a time.
public final class ThreadedDigest: @unchecked Sendable {
  private let digest: SHA256
  private let monitor = ConditionLock()
  private var thread: Thread?
  // Guarded by the monitor.
  /// The current or next job of the thread.
  private var bytes: UnsafeRawBufferPointer?
  private var isOver = false

  public init(_ digest: SHA256) { self.digest = digest }

  /// Until there is a thread, and if none can be created, the caller's thread hashes.
  public func startThread() {
    guard thread == nil else { return }
    thread = try? Thread { self.run() }
  }

  /// The bytes stay as they are until the next `update`, `wait` or `finish` has returned.
  public func update(_ bytes: UnsafeRawBufferPointer) {
    guard thread != nil else { return digest.update(bytes) }
    monitor.lock()
    while self.bytes != nil { monitor.wait() }
    self.bytes = bytes
    monitor.notifyAll()
    monitor.unlock()
  }

  public func wait() {
    monitor.lock()
    while bytes != nil { monitor.wait() }
    monitor.unlock()
  }

  /// Returns the 32 bytes of the digest; no more bytes may follow.
  public func finish() -> [UInt8] {
    wait()
    return digest.finish()
  }

  /// Ends the thread. Call once, last.
  public func end() {
    monitor.lock()
    isOver = true
    monitor.notifyAll()
    monitor.unlock()
    thread?.join()
  }

  private func run() {
    monitor.lock()
    while true {
      if let bytes {
        monitor.unlock()
        digest.update(bytes)
        monitor.lock()
        self.bytes = nil
        monitor.notifyAll()
      } else if isOver {
        break
      } else {
        monitor.wait()
      }
    }
    monitor.unlock()
  }
}
