import CLinux
import SegueModel

/// A record that shows whether a file was written to.
public struct FileStamp: Sendable {
  public let size: UInt64
  /// The modification time: seconds since 1970, and nanoseconds.
  public let seconds: Int64
  public let nanoseconds: UInt32
  /// The time of the last change of any kind, including a rename, and setting the modification time back.
  private let statusSeconds: Int64
  private let statusNanoseconds: Int64

  /// Nil if it is not a regular file.
  init?(of fd: Int32) {
    var status = stat()
    guard fstat(fd, &status) == 0, linux_is_file(&status) == 1, let size = UInt64(exactly: status.st_size) else {
      return nil
    }
    self.size = size
    seconds = Int64(status.st_mtim.tv_sec)
    nanoseconds = UInt32(truncatingIfNeeded: status.st_mtim.tv_nsec)
    statusSeconds = Int64(status.st_ctim.tv_sec)
    statusNanoseconds = Int64(status.st_ctim.tv_nsec)
  }

  /// Size and modification time.
  func hasSameBytes(as other: FileStamp) -> Bool {
    size == other.size && seconds == other.seconds && nanoseconds == other.nanoseconds
  }

  /// Whether the file has not changed in any way.
  func isSame(as other: FileStamp) -> Bool {
    hasSameBytes(as: other) && statusSeconds == other.statusSeconds && statusNanoseconds == other.statusNanoseconds
  }
}
