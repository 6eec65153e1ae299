// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Reads files that somebody else put somewhere: whatever the name leads to, a reader gets a bounded number of bytes at
/// once, or an error.
final class ManifestFileReader {
  private let buffer: UnsafeMutableRawBufferPointer
  private var limit: Int { buffer.count - 1 }

  /// - Parameter limit: the most bytes of a file that is read.
  init(atMost limit: Int = Limits.manifestBytes) { buffer = .allocate(byteCount: limit + 1, alignment: 16) }
  deinit { buffer.deallocate() }

  /// The same; nil if there is no such file.
  func readIfThere(_ path: String) throws(SegueError) -> UnsafeRawBufferPointer? {
    var status = stat()
    if stat(path, &status) != 0, linux_errno() == ENOENT { return nil }
    return try read(path)
  }

  /// The bytes of a regular file; valid until the next call.
  /// Throws SYSTEM, WRONG_KIND (a folder, a device, a pipe), LIMIT_EXCEEDED.
  func read(_ path: String) throws(SegueError) -> UnsafeRawBufferPointer {
    var status = stat()
    // Opening a device may do something already.
    guard stat(path, &status) == 0 else { throw Self.refused() }
    try check(status)
    let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0)
    guard fd >= 0 else { throw Self.refused() }
    defer { _ = close(fd) }
    guard fstat(fd, &status) == 0 else { throw Self.refused() }
    try check(status)
    var count = 0
    while count < buffer.count {
      let more = CLinux.read(fd, buffer.baseAddress! + count, buffer.count - count)
      if more < 0, linux_errno() == EINTR { continue }
      guard more >= 0 else { throw Self.refused() }
      if more == 0 { break }
      count += more
    }
    guard count <= limit else {
      throw SegueError(.limitExceeded, "more than \(limit) bytes")
    }
    return UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  private func check(_ status: stat) throws(SegueError) {
    var status = status
    guard linux_is_file(&status) != 0 else {
      throw SegueError(.wrongKind, "is no regular file, nor a link to one")
    }
    guard status.st_size <= limit else {
      throw SegueError(
        .limitExceeded, "\(Int64(status.st_size)) bytes, at most \(limit) are allowed")
    }
  }

  private static func refused() -> SegueError {
    SegueError(.system, "cannot be read: \(String(cString: strerror(linux_errno())))")
  }
}
