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
    fill(buffer) { recv(fd, $0.baseAddress, $0.count, linux_msg_waitall()) }
  }

  /// Does the same for the first bytes.
  /// - Parameter handed: the descriptor that came with them, which the caller closes; negative: none.
  public func read(into buffer: UnsafeMutableRawBufferPointer, handed: inout Int32) -> Int {
    fill(buffer) { left in
      var (came, areLost): (Int32, Int32) = (-1, 0)
      let count = linux_receive_first(fd, left.baseAddress, left.count, 0, &came, &areLost)
      let number = linux_errno()
      if came >= 0, handed < 0 { handed = Descriptors.own(came) } else { Descriptors.closeUntrusted(came) }
      linux_set_errno(number)
      return count
    }
  }

  private func fill(
    _ buffer: UnsafeMutableRawBufferPointer, _ receive: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    var filled = 0
    var heardAt = Clock.uptime
    while filled < buffer.count {
      let count = receive(UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
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
