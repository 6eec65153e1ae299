// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A duplicate of a host's descriptor that is written to: a file, a pipe, a socket. The host may close its own.
public final class TargetDescriptor: @unchecked Sendable {
  private var fd: Int32
  private let isFile: Bool
  /// The most bytes of a write: as many as a pipe holds, unless its owner has changed that.
  private static let pieceSize = 64 * 1024

  /// Throws SYSTEM, or INVALID_ARGUMENT if it cannot be written to.
  public static func of(_ descriptor: Int32) throws(SegueError) -> TargetDescriptor {
    let fd = Descriptors.own(linux_duplicate(descriptor))
    guard fd >= 0 else { throw .system("fd") }
    guard linux_is_writable(fd) == 1 else {
      Descriptors.close(fd)
      throw SegueError(.invalidArgument, "fd: cannot be written to")
    }
    var status = stat()
    return TargetDescriptor(fd, isFile: fstat(fd, &status) == 0 && linux_is_file(&status) == 1)
  }

  private init(_ fd: Int32, isFile: Bool) {
    self.fd = fd
    self.isFile = isFile
  }

  deinit { close() }

  public func close() {
    Descriptors.close(fd)
    fd = -1
  }

  /// Writes all bytes, unless the reader stalls and another descriptor becomes readable, or the reader stalls for too
  /// long. Throws SYSTEM.
  /// - Returns: the number of bytes written.
  public func write(
    _ bytes: UnsafeRawBufferPointer, until stop: Int32, milliseconds: Int32
  ) throws(SegueError) -> Int {
    if isFile {
      try FileBytes.write(bytes, to: fd)
      return bytes.count
    }
    var left = bytes
    while !left.isEmpty {
      var descriptors = [
        pollfd(fd: fd, events: Int16(POLLOUT), revents: 0), pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&descriptors, 2, milliseconds)
      guard ready >= 0 || linux_errno() == EINTR else { throw .system("writing an attachment") }
      if ready == 0 || descriptors[1].revents != 0 { return bytes.count - left.count }
      guard descriptors[0].revents != 0 else { continue }
      // The descriptor may be blocking, and another writer may have taken the room since.
      let piece = UnsafeRawBufferPointer(rebasing: left.prefix(Self.pieceSize))
      let count = linux_write_now(fd, piece.baseAddress, piece.count)
      if count >= 0 {
        left = UnsafeRawBufferPointer(rebasing: left[count...])
      } else if linux_errno() != EINTR, linux_errno() != EAGAIN {
        throw .system("writing an attachment")
      }
    }
    return bytes.count
  }
}
