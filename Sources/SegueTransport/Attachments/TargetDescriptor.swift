// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A descriptor of its own of what a host has open: a file, a pipe, a socket. The host may close its own.
public final class TargetDescriptor: @unchecked Sendable {
  private var fd: Int32
  private let isFile: Bool
  /// The most bytes of a write: as many as a pipe holds, unless its owner has changed that; a page where each write is
  /// a message, which its reader takes whole or not at all.
  private let pieceSize: Int

  /// Throws SYSTEM, or INVALID_ARGUMENT if it cannot be written to.
  public static func of(_ descriptor: Int32) throws(SegueError) -> TargetDescriptor {
    let fd = Descriptors.own(linux_duplicate(descriptor))
    guard fd >= 0 else { throw .system("fd") }
    guard linux_is_writable(fd) == 1 else {
      Descriptors.close(fd)
      throw SegueError(.invalidArgument, "fd: cannot be written to")
    }
    // Another writer may take the room that `poll` has seen, and the host's descriptor may be one that waits.
    let pipe = Descriptors.own(linux_reopen_pipe(fd))
    guard pipe < 0 else {
      Descriptors.close(fd)
      return TargetDescriptor(pipe)
    }
    return TargetDescriptor(fd)
  }

  private init(_ fd: Int32) {
    var status = stat()
    self.fd = fd
    isFile = fstat(fd, &status) == 0 && linux_is_file(&status) == 1
    pieceSize = linux_keeps_messages(fd) == 1 ? 4 * 1024 : 64 * 1024
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
      let piece = UnsafeRawBufferPointer(rebasing: left.prefix(pieceSize))
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
