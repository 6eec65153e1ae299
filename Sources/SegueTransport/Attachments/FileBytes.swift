import CLinux
import SegueModel

/// Blocking reads and writes.
enum FileBytes {
  /// Writes all bytes to a file, on a thread of the host. Throws SYSTEM.
  static func writeQuietly(_ bytes: UnsafeRawBufferPointer, to fd: Int32) throws(SegueError) {
    // A file that grows over RLIMIT_FSIZE raises SIGXFSZ in this thread, which would end the process. A signal that is
    // pending for the host stays pending.
    var former = sigset_t()
    let wasPending = linux_block_sigxfsz(&former)
    defer { linux_unblock_sigxfsz(&former, wasPending) }
    try write(bytes, to: fd)
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
