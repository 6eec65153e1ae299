// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Reads files that somebody else put somewhere: whatever the name leads to, a reader gets a bounded number of bytes at
/// once, or an error.
final class ManifestFileReader {
  private let buffer: UnsafeMutableRawBufferPointer

  init() { buffer = .allocate(byteCount: Limits.manifestBytes + 1, alignment: 16) }
  deinit { buffer.deallocate() }

  /// The bytes of a regular file; valid until the next call.
  /// Throws SYSTEM, WRONG_KIND (a folder, a device, a pipe), LIMIT_EXCEEDED.
  func read(_ path: String) throws(SegueError) -> UnsafeRawBufferPointer {
    var status = stat()
    // Opening a device may do something already.
    guard stat(path, &status) == 0 else { throw Self.refused() }
    try Self.check(status)
    let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0)
    guard fd >= 0 else { throw Self.refused() }
    defer { _ = close(fd) }
    guard fstat(fd, &status) == 0 else { throw Self.refused() }
    try Self.check(status)
    var count = 0
    while count < buffer.count {
      let more = CLinux.read(fd, buffer.baseAddress! + count, buffer.count - count)
      if more < 0, linux_errno() == EINTR { continue }
      guard more >= 0 else { throw Self.refused() }
      if more == 0 { break }
      count += more
    }
    guard count <= Limits.manifestBytes else {
      throw SegueError(.limitExceeded, "more than \(Limits.manifestBytes) bytes")
    }
    return UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  private static func check(_ status: stat) throws(SegueError) {
    var status = status
    guard linux_is_file(&status) != 0 else {
      throw SegueError(.wrongKind, "is no regular file, nor a link to one")
    }
    guard status.st_size <= Limits.manifestBytes else {
      throw SegueError(
        .limitExceeded, "\(Int64(status.st_size)) bytes, at most \(Limits.manifestBytes) are allowed")
    }
  }

  private static func refused() -> SegueError {
    SegueError(.system, "cannot be read: \(String(cString: strerror(linux_errno())))")
  }
}
