import CLinux
import SegueModel

/// Reading and writing of sockets that do not block.
public enum Socket {
  /// Bytes that one read takes at most.
  public static let readSize = 64 * 1024

  public enum ReadResult {
    /// `readSize` bytes came: there may be more.
    case full
    /// All that was there has been read.
    case drained
    /// The other side closed, or is gone.
    case closed
  }

  /// Reads once, and gives what came to `body`.
  public static func read(_ fd: Int32, _ body: (UnsafeRawBufferPointer) -> Void) -> ReadResult {
    withUnsafeTemporaryAllocation(byteCount: readSize, alignment: 8) { buffer in
      while true {
        let count = recv(fd, buffer.baseAddress, buffer.count, 0)
        if count > 0 {
          body(UnsafeRawBufferPointer(start: buffer.baseAddress, count: count))
          return count == buffer.count ? .full : .drained
        }
        if count < 0, linux_errno() == EINTR { continue }
        let isWaiting = count < 0 && linux_errno() == EAGAIN
        return isWaiting ? .drained : .closed
      }
    }
  }

  /// Writes once; raises no SIGPIPE.
  /// - Returns: how many bytes went; fewer than all: the socket is full, or closed (which a read will tell).
  public static func write(_ bytes: UnsafeRawBufferPointer, to fd: Int32) -> Int {
    while true {
      let count = send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      if count >= 0 { return count }
      if linux_errno() != EINTR { return 0 }
    }
  }

  /// The user at the other end of a local socket.
  static func peerUser(_ fd: Int32) -> uid_t? {
    var user: uid_t = 0
    return linux_peer_user(fd, &user) == 0 ? user : nil
  }
}
