import CLinux
import SegueModel

/// Reading and writing of sockets that do not block.
public enum Socket {
  public enum ReadResult {
    /// There may be more.
    case full
    /// All that was there has been read.
    case drained
    /// The other side closed, or is gone.
    case closed
  }

  /// Reads once, `limit` bytes at most, and gives what came to `body`.
  /// - Parameter descriptors: those that came with the bytes are added, and are the caller's to close.
  public static func read(
    _ fd: Int32, atMost limit: Int, descriptors: inout [Int32], _ body: ([UInt8]) -> Void
  ) -> ReadResult {
    var result = ReadResult.drained
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      // The array may have got more memory.
      let buffer = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<limit])
      while true {
        let came = receive(fd, buffer, &descriptors)
        if came < 0, linux_errno() == EINTR { continue }
        count = max(0, came)
        if came <= 0 { result = came < 0 && linux_errno() == EAGAIN ? .drained : .closed }
        if came == buffer.count { result = .full }
        return
      }
    }
    if !bytes.isEmpty { body(bytes) }
    return result
  }

  private static func receive(_ fd: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ descriptors: inout [Int32]) -> Int
  {
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(linux_descriptor_limit)) { came in
      var number: Int32 = 0
      let count = linux_receive(fd, buffer.baseAddress, buffer.count, came.baseAddress, &number)
      for index in 0..<Int(number) { descriptors.append(Descriptors.own(came[index])) }
      return count
    }
  }

  /// Writes once, with the first descriptors along; raises no SIGPIPE.
  /// - Parameter descriptors: those that went are closed here and taken out.
  /// - Returns: how many bytes went; fewer than all: the socket is full, or closed (which a read will tell).
  public static func write(_ bytes: UnsafeRawBufferPointer, _ descriptors: inout [Int32], to fd: Int32) -> Int {
    let count = min(descriptors.count, Int(linux_descriptor_limit))
    while true {
      let written = linux_send(fd, bytes.baseAddress, bytes.count, descriptors, Int32(count))
      if written > 0 {
        for descriptor in descriptors.prefix(count) { Descriptors.close(descriptor) }
        descriptors.removeFirst(count)
      }
      if written >= 0 { return written }
      if linux_errno() != EINTR { return 0 }
    }
  }

  /// Takes over a connected stream socket of the host's.
  /// - Parameter isOfAnyUser: the other end need not be a local process of this user.
  /// Throws INVALID_ARGUMENT if it is none, or is not to be trusted; it stays the host's then.
  public static func take(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> Int32 {
    guard fd >= 0 else { throw SegueError(.invalidArgument, "fd: is negative") }
    guard linux_is_stream(fd) == 1 else { throw SegueError(.invalidArgument, "fd: is no connected stream socket") }
    if !isOfAnyUser {
      guard let user = peerUser(fd) else {
        throw SegueError(.invalidArgument, "fd: does not tell which user is at its other end (SEGUE_LINK_ANY_USER)")
      }
      guard user == geteuid() else {
        throw SegueError(.invalidArgument, "fd: user \(user) is at its other end (SEGUE_LINK_ANY_USER)")
      }
    }
    guard linux_prepare(fd) == 0 else { throw .system("the socket of a link") }
    return Descriptors.own(fd)
  }

  /// The user at the other end of a local socket.
  static func peerUser(_ fd: Int32) -> uid_t? {
    var user: uid_t = 0
    return linux_peer_user(fd, &user) == 0 ? user : nil
  }
}
