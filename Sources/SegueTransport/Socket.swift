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

  /// What came with bytes.
  public enum Came {
    case none
    /// A descriptor, which is the reader's to close.
    case one(Int32)
    /// One that the system has closed: this process may open no more, or more than one came.
    case lost
  }

  /// Reads once, `limit` bytes at most, and gives what came to `body`.
  public static func read(_ fd: Int32, atMost limit: Int, _ body: (consuming [UInt8], Came) -> Void) -> ReadResult {
    var result = ReadResult.drained
    var descriptor = Int32(linux_no_descriptor)
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      // The array may have got more memory.
      let buffer = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<limit])
      while true {
        let came = linux_receive(fd, buffer.baseAddress, buffer.count, &descriptor)
        if came < 0, linux_errno() == EINTR { continue }
        count = max(0, came)
        if came <= 0 { result = came < 0 && linux_errno() == EAGAIN ? .drained : .closed }
        if came == buffer.count { result = .full }
        return
      }
    }
    guard !bytes.isEmpty else { return result }
    switch descriptor {
    case Int32(linux_no_descriptor): body(bytes, .none)
    case Int32(linux_lost_descriptor): body(bytes, .lost)
    default: body(bytes, .one(Descriptors.own(descriptor)))
    }
    return result
  }

  /// What came of a write.
  public enum Written {
    /// So many bytes; fewer than all: the socket is full, or closed (which a read will tell).
    case bytes(Int)
    /// None, and not for want of room in the socket: the system has no memory, or too many descriptors are under way. It does not
    /// say when that is over.
    case refused
  }

  /// Writes once; raises no SIGPIPE.
  /// - Parameter descriptor: goes along, and stays the caller's to close; negative: none.
  public static func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: Int32, to fd: Int32) -> Written {
    while true {
      let written = linux_send(fd, bytes.baseAddress, bytes.count, descriptor)
      if written >= 0 { return .bytes(written) }
      switch linux_errno() {
      case EINTR: continue
      case ENOMEM, ENOBUFS, ETOOMANYREFS: return .refused
      case EPERM, EACCES, ENOSYS:
        // A sandbox: the socket would stay writable, and nothing be written. A read finds it closed.
        linux_shutdown(fd, 1, 1)
        return .bytes(0)
      default: return .bytes(0)
      }
    }
  }

  /// Takes over a connected stream socket of the host's.
  /// - Parameter isOfAnyUser: the other end need not be a local process of this user.
  /// Throws INVALID_ARGUMENT if it is none, or is not to be trusted; it stays the host's then.
  public static func take(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> Int32 {
    guard fd >= 0 else { throw SegueError(.invalidArgument, "fd: is negative") }
    guard isStream(fd) else { throw SegueError(.invalidArgument, "fd: is no connected stream socket") }
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

  /// Whether it is a connected stream socket. Asks the kernel alone, whoever has made the descriptor.
  public static func isStream(_ fd: Int32) -> Bool { linux_is_stream(fd) == 1 }

  /// The process at the other end of a local socket; 0: one that cannot be seen from here.
  public static func peerProcess(_ fd: Int32) -> Int32 { linux_peer_process(fd) }

  /// The user at the other end of a local socket.
  static func peerUser(_ fd: Int32) -> uid_t? {
    var user: uid_t = 0
    return linux_peer_user(fd, &user) == 0 ? user : nil
  }
}
