// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Blocking reads and writes.
public enum FileBytes {
  /// Writes all bytes to a file, on a thread of the host. Throws SYSTEM.
  static func writeQuietly(_ bytes: UnsafeRawBufferPointer, to fd: Int32) throws(SegueError) {
    try onHostThread { () throws(SegueError) in try write(bytes, to: fd) }
  }

  /// Calls `body`, which writes, on a thread of the host: without SIGPIPE, and without the SIGXFSZ of a file that
  /// exceeds RLIMIT_FSIZE. A signal that is pending for the host stays pending.
  @inline(never)
  public static func onHostThread(_ body: () throws(SegueError) -> Void) throws(SegueError) {
    var (former, pending) = (sigset_t(), sigset_t())
    var failure: SegueError?
    linux_block_write_signals(&former, &pending)
    do throws(SegueError) { try body() } catch { failure = error }
    // Called once only, so that it is inlined: a C function that stays brings unwind tables into the library.
    linux_unblock_write_signals(&former, &pending)
    if let failure { throw failure }
  }

  /// Does the same on a thread of the library.
  static func write(_ bytes: UnsafeRawBufferPointer, to fd: Int32) throws(SegueError) {
    var left = bytes
    while let start = left.baseAddress, !left.isEmpty {
      let count = CLinux.write(fd, start, left.count)
      if count >= 0 {
        left = UnsafeRawBufferPointer(rebasing: left[count...])
      } else if linux_errno() != EINTR {
        throw .system("writing an attachment")
      }
    }
  }
}
