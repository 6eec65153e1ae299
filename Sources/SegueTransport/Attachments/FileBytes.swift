import CLinux
import SegueModel

/// Reading and writing for those who can wait.
enum FileBytes {
  /// All of them, to a file, on a thread of the host's. Throws SYSTEM.
  static func writeQuietly(_ bytes: UnsafeRawBufferPointer, to fd: Int32) throws(SegueError) {
    // A file that grows over RLIMIT_FSIZE raises SIGXFSZ in this thread, which would end the process. What the host has
    // pending stays so.
    var former = sigset_t()
    let wasPending = linux_block_sigxfsz(&former)
    defer { linux_unblock_sigxfsz(&former, wasPending) }
    try write(bytes, to: fd)
  }

  /// The same on a thread of the library's.
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
