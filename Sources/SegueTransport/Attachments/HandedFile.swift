import CLinux
import SegueModel

/// A file that another app of this device has handed over for reading. Nothing of it is trusted: its owner may be hostile, and
/// may write to it meanwhile.
public final class HandedFile {
  let fd: Int32
  /// What it was when it came.
  private let stamp: FileStamp
  /// It is in memory, and its bytes cannot change.
  private let isSealed: Bool

  /// Takes the descriptor over.
  /// - Returns: nil: it is none of a regular file that the kernel has by itself, open for reading.
  public static func take(_ fd: Int32) -> HandedFile? {
    guard linux_is_open(fd) == 1, linux_is_readable(fd) == 1, LocalFiles.has(fd), let stamp = FileStamp(of: fd) else {
      Descriptors.closeUntrusted(fd)
      return nil
    }
    return HandedFile(fd, stamp)
  }

  private init(_ fd: Int32, _ stamp: FileStamp) {
    self.fd = fd
    self.stamp = stamp
    isSealed = linux_is_sealed(fd) == 1
  }

  deinit { Descriptors.close(fd) }

  /// Whether it has that size, and was last changed at that time: seconds since 1970, and nanoseconds.
  public func has(size: UInt64, changedAt time: (seconds: Int64, nanoseconds: UInt32)) -> Bool {
    stamp.size == size && (isSealed || stamp.seconds == time.seconds && stamp.nanoseconds == time.nanoseconds)
  }

  public enum State {
    case unchanged
    /// It was renamed, for instance; or somebody hides that it was written to.
    case doubtful
    case changed
  }

  /// What happened to it since it came.
  public var state: State {
    if isSealed { return .unchanged }
    guard let now = FileStamp(of: fd), now.hasSameBytes(as: stamp) else { return .changed }
    return now.isSame(as: stamp) ? .unchanged : .doubtful
  }
}
