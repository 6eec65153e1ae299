// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The receiving end of an attachment's stream. It waits as long as the other end shows life (docs/protocol.md, "An
/// attachment, at both ends"). The owner closes the socket.
public struct AttachmentReader {
  private let fd: Int32

  public init(_ fd: Int32) {
    self.fd = fd
    // A read that waits for everything may have got a part long ago, so this polls more often.
    _ = linux_set_receive_time(fd, Int32(Limits.attachmentSign))
  }

  /// Fills the buffer.
  /// - Returns: the number of bytes; fewer if the stream has ended, or nothing arrived for too long.
  public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var handed: Int32 = -1
    defer { Descriptors.closeUntrusted(handed) }
    return read(into: buffer, flags: linux_msg_waitall(), handed: &handed)
  }

  /// Does the same for the first bytes.
  /// - Parameter handed: the descriptor that came with them, which the caller closes; negative: none.
  public func read(into buffer: UnsafeMutableRawBufferPointer, handed: inout Int32) -> Int {
    read(into: buffer, flags: 0, handed: &handed)
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer, flags: Int32, handed: inout Int32) -> Int {
    var filled = 0
    var heardAt = Clock.uptime
    while filled < buffer.count {
      let left = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let (count, came) = Socket.receive(fd, into: left, flags: flags)
      if case .one(let descriptor) = came, handed < 0 { handed = descriptor } else { came.discard() }
      if count > 0 {
        filled += count
        heardAt = Clock.uptime
      } else if count == 0 || linux_errno() != EINTR && linux_errno() != EAGAIN {
        break
      } else if Clock.uptime - heardAt >= Limits.attachmentSilence {
        break
      }
    }
    return filled
  }

  /// Sends one byte to the other end; ignores errors.
  public func say(_ word: UInt8) {
    var word = word
    _ = send(fd, &word, 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }
}
