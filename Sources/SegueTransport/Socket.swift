// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Reads and writes of non-blocking sockets.
public enum Socket {
  public enum ReadResult {
    /// There may be more.
    case full
    /// All available bytes have been read.
    case drained
    /// The other side closed, or is gone.
    case closed
  }

  /// The descriptor that came with bytes.
  public enum Came {
    case none
    /// A descriptor, which the reader closes.
    case one(Int32)
    /// This process cannot open more, or more than one came: all are closed.
    case lost

    /// Closes a descriptor that belongs to nothing.
    public func discard() { if case .one(let descriptor) = self { Descriptors.closeUntrusted(descriptor) } }
  }

  /// Reads once, like recv, and takes all descriptors that come with the bytes: the system would close the others in
  /// this thread. While too many descriptors of its peer wait to be closed, a socket with further ones counts as
  /// closed.
  @inline(never)
  public static func receive(
    _ fd: Int32, into buffer: UnsafeMutableRawBufferPointer, flags: Int32
  ) -> (count: Int, came: Came) {
    var size = buffer.count
    if Descriptors.isCrowded(by: fd) {
      var hasDescriptors: Int32 = 0
      let count = linux_peek(fd, buffer.baseAddress, size, flags, &hasDescriptors)
      if hasDescriptors != 0 { return (0, .lost) }
      guard count > 0 else { return (count, .none) }
      size = count
    }
    return withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(linux_most_descriptors)) { descriptors in
      var (number, areLost): (Int32, Int32) = (0, 0)
      let count = linux_receive(fd, buffer.baseAddress, size, flags, descriptors.baseAddress, &number, &areLost)
      if number == 0, areLost == 0 { return (count, .none) }
      if number == 1, areLost == 0 { return (count, .one(Descriptors.own(descriptors[0], from: fd))) }
      for each in descriptors[..<Int(number)] { Descriptors.closeUntrusted(Descriptors.own(each, from: fd)) }
      return (count, .lost)
    }
  }

  /// Reads once, at most `limit` bytes, and passes them to `body`.
  public static func read(_ fd: Int32, atMost limit: Int, _ body: (consuming [UInt8], Came) -> Void) -> ReadResult {
    var result = ReadResult.drained
    var descriptor = Came.none
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      // The array may have got more memory.
      let buffer = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<limit])
      while true {
        // O_NONBLOCK alone is not enough: another process may share the socket, and clear it.
        let read = receive(fd, into: buffer, flags: Int32(MSG_DONTWAIT))
        if read.count < 0, linux_errno() == EINTR { continue }
        count = max(0, read.count)
        descriptor = read.came
        if read.count <= 0 { result = read.count < 0 && linux_errno() == EAGAIN ? .drained : .closed }
        if read.count == buffer.count { result = .full }
        return
      }
    }
    if !bytes.isEmpty { body(bytes, descriptor) }
    return result
  }

  /// The result of a write.
  public enum Written {
    /// The number of bytes; fewer than all if the socket is full, or closed (which a read reports).
    case bytes(Int)
    /// None, for another reason than a full socket: the system has no memory, or too many descriptors are in flight. It
    /// does not report when that ends.
    case refused
  }

  /// Writes once; raises no SIGPIPE.
  /// - Parameter descriptor: goes with the bytes; the caller closes it; negative: none.
  public static func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: Int32, to fd: Int32) -> Written {
    while true {
      let written = linux_send(fd, bytes.baseAddress, bytes.count, descriptor)
      if written >= 0 { return .bytes(written) }
      switch linux_errno() {
      case EINTR: continue
      case ENOMEM, ENOBUFS, ETOOMANYREFS: return .refused
      case EPERM, EACCES, ENOSYS:
        // A sandbox: the socket would stay writable without progress. A read finds it closed.
        linux_shutdown(fd, 1, 1)
        return .bytes(0)
      default: return .bytes(0)
      }
    }
  }

  /// Takes over a connected stream socket of the host.
  /// - Parameter isOfAnyUser: the other end need not be a local process of this user.
  /// Throws INVALID_ARGUMENT if it is not one, or cannot be trusted; it then stays the host's.
  public static func take(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> Int32 {
    guard fd >= 0 else { throw SegueError(.invalidArgument, "fd: is negative") }
    guard isStream(fd) else { throw SegueError(.invalidArgument, "fd: is no connected stream socket") }
    if !isOfAnyUser {
      // A socket of another kind than Unix has no such user, which Linux tells as -1.
      guard let user = peerUser(fd), user != uid_t.max else {
        throw SegueError(
          .invalidArgument, "fd: the user at the other end is not known; SEGUE_LINK_ANY_USER allows that")
      }
      guard user == geteuid() else {
        throw SegueError(.invalidArgument, "fd: user \(user) is at the other end; SEGUE_LINK_ANY_USER allows that")
      }
    }
    guard linux_prepare(fd) == 0 else { throw .system("the socket of a link") }
    return Descriptors.own(fd)
  }

  /// Whether it is a connected stream socket. Asks only the kernel, since the descriptor may be of any kind.
  public static func isStream(_ fd: Int32) -> Bool { linux_is_stream(fd) == 1 }

  /// The process at the other end of a local socket; 0 if it is not visible here.
  public static func peerProcess(_ fd: Int32) -> Int32 { linux_peer_process(fd) }

  /// Whether a process of this user is at the other end of a local socket.
  public static func isOfThisUser(_ fd: Int32) -> Bool { peerUser(fd) == geteuid() }

  /// The user at the other end of a local socket.
  static func peerUser(_ fd: Int32) -> uid_t? {
    var user: uid_t = 0
    return linux_peer_user(fd, &user) == 0 ? user : nil
  }
}
