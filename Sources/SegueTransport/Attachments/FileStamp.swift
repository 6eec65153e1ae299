import CLinux
import SegueModel

/// What tells whether a file was written to.
public struct FileStamp: Sendable {
  public let size: UInt64
  /// When its bytes were last changed: seconds since 1970, and nanoseconds.
  public let seconds: Int64
  public let nanoseconds: UInt32
  /// The same of its last change of any kind: a rename counts, and so does setting the other time back.
  private let statusSeconds: Int64
  private let statusNanoseconds: Int64

  /// Nil: it is no regular file.
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

  /// Size and time of the last change of its bytes.
  func hasSameBytes(as other: FileStamp) -> Bool {
    size == other.size && seconds == other.seconds && nanoseconds == other.nanoseconds
  }

  /// Nothing happened to it at all.
  func isSame(as other: FileStamp) -> Bool {
    hasSameBytes(as: other) && statusSeconds == other.statusSeconds && statusNanoseconds == other.statusNanoseconds
  }
}
