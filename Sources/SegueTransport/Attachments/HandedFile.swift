// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// A file that another app of this device has passed for reading. It is not trusted: its owner may be hostile, and may
/// write to it meanwhile.
public final class HandedFile {
  let fd: Int32
  /// The record of the file when it arrived.
  private let stamp: FileStamp
  /// Whether the file is in memory, and its bytes cannot change.
  private let isSealed: Bool

  /// Takes ownership of the descriptor.
  /// - Returns: nil unless it is of a regular file of the kernel's own file systems, open for reading.
  public static func take(_ fd: Int32) -> HandedFile? {
    guard linux_is_open(fd) == 1, linux_is_readable(fd) == 1, LocalFiles.has(fd), let stamp = FileStamp(of: fd) else {
      Descriptors.closeUntrusted(fd)
      return nil
    }
    return HandedFile(fd, stamp)
  }

  /// The same with a second descriptor of it; the first stays the caller's.
  public static func of(descriptor: Int32) -> HandedFile? { take(Descriptors.own(linux_duplicate(descriptor))) }

  private init(_ fd: Int32, _ stamp: FileStamp) {
    self.fd = fd
    self.stamp = stamp
    isSealed = linux_is_sealed(fd) == 1
  }

  deinit { Descriptors.close(fd) }

  /// Whether the file has that size and that modification time: seconds since 1970, and nanoseconds.
  public func has(size: UInt64, changedAt time: (seconds: Int64, nanoseconds: UInt32)) -> Bool {
    stamp.size == size && (isSealed || stamp.seconds == time.seconds && stamp.nanoseconds == time.nanoseconds)
  }

  public enum State {
    case unchanged
    /// It was renamed, for example, or its owner hides a write.
    case doubtful
    case changed
  }

  /// The change since the file arrived.
  public var state: State {
    if isSealed { return .unchanged }
    guard let now = FileStamp(of: fd), now.hasSameBytes(as: stamp) else { return .changed }
    return now.isSame(as: stamp) ? .unchanged : .doubtful
  }
}
