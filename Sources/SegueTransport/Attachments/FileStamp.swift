// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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

  /// The modification time in nanoseconds since 1970, modulo 2^64.
  public var changed: UInt64 { UInt64(bitPattern: seconds &* Self.second &+ Int64(nanoseconds)) }

  /// The time that `changed` stands for: seconds since 1970, and nanoseconds.
  public static func time(_ changed: UInt64) -> (seconds: Int64, nanoseconds: UInt32) {
    let (seconds, rest) = Int64(bitPattern: changed).quotientAndRemainder(dividingBy: second)
    return rest < 0 ? (seconds - 1, UInt32(rest + second)) : (seconds, UInt32(rest))
  }

  /// Nanoseconds.
  private static let second: Int64 = 1_000_000_000

  /// Size and modification time.
  func hasSameBytes(as other: FileStamp) -> Bool {
    size == other.size && seconds == other.seconds && nanoseconds == other.nanoseconds
  }

  /// Whether the file has not changed in any way.
  func isSame(as other: FileStamp) -> Bool {
    hasSameBytes(as: other) && statusSeconds == other.statusSeconds && statusNanoseconds == other.statusNanoseconds
  }
}
