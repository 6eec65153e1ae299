import CLinux
import SegueModel

/// Reading and writing for those who can wait.
enum FileBytes {
  /// All of them, to a file. Throws SYSTEM.
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
