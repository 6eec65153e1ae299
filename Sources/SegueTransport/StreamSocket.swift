// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A descriptor that was passed to the host, which may close it at any time; its number may then be another file's. So
/// it is identified by the inode of its socket.
public struct StreamSocket: Sendable {
  public let fd: Int32
  private let inode: UInt64

  /// Nil if it is not a connected stream socket.
  public init?(_ fd: Int32) {
    guard linux_is_stream(fd) == 1, let inode = Self.inode(of: fd) else { return nil }
    self.fd = fd
    self.inode = inode
  }

  /// Creates two connected sockets, close-on-exec.
  public static func pair() throws(SegueError) -> (near: StreamSocket, far: Int32) {
    var fds: (Int32, Int32) = (-1, -1)
    let result = withUnsafeMutableBytes(of: &fds) {
      linux_socket_pair($0.assumingMemoryBound(to: Int32.self).baseAddress)
    }
    guard result == 0 else { throw .system("a stream") }
    guard let near = StreamSocket(Descriptors.own(fds.0)) else {
      Descriptors.close(fds.0)
      _ = CLinux.close(fds.1)
      throw .system("a stream")
    }
    return (near, Descriptors.own(fds.1))
  }

  /// Passes the descriptor to the host.
  public func giveAway() -> Int32 {
    Descriptors.disown(fd)
    return fd
  }

  /// Whether the host still has it.
  public var isOpen: Bool { Self.inode(of: fd) == inode }

  /// Nil if the host has closed it.
  public var otherEnd: StreamOtherEnd? {
    guard isOpen else { return nil }
    let events = poll(for: linux_pollrdhup())
    if events & (POLLHUP | POLLERR | POLLNVAL) != 0 { return .closed }
    return events & linux_pollrdhup() != 0 ? .finished : .open
  }

  /// Shuts down writing, or both directions; no effect if the host has closed it.
  public func shutDown(readingToo: Bool) {
    if isOpen { shutDown(reading: readingToo, writing: true) }
  }

  /// Lets blocking reads and writes of the host fail with EAGAIN after `seconds`. Throws SYSTEM.
  public func limitBlocking(seconds: Int32) throws(SegueError) {
    guard linux_limit_blocking(fd, seconds) == 0 else { throw .system("a stream") }
  }

  // MARK: For an owner other than the host

  /// Makes it non-blocking. Throws SYSTEM.
  public func stopBlocking() throws(SegueError) {
    guard linux_prepare(fd) == 0 else { throw .system("a stream") }
  }

  /// The result of one read or write.
  public enum Moved {
    /// The number of bytes; 0 if there are none for now.
    case bytes(Int)
    /// The other end has ended: no more bytes come, or are read.
    case end
  }

  /// Reads once. Waits for nothing, even if an app that shares the socket has made it blocking again.
  public func read(into buffer: UnsafeMutableRawBufferPointer) -> Moved {
    while true {
      let (count, came) = Socket.receive(fd, into: buffer, flags: Int32(MSG_DONTWAIT))
      came.discard()
      if count > 0 { return .bytes(count) }
      if count < 0, linux_errno() == EINTR { continue }
      return count < 0 && linux_errno() == EAGAIN ? .bytes(0) : .end
    }
  }

  /// Writes once, in the same way; raises no SIGPIPE.
  public func write(_ bytes: UnsafeRawBufferPointer) -> Moved {
    while true {
      let count = send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      if count >= 0 { return .bytes(count) }
      if linux_errno() == EINTR { continue }
      return linux_errno() == EAGAIN ? .bytes(0) : .end
    }
  }

  /// Whether `read` or `write` would make progress, or find an end. With neither: whether the other end is closed.
  public func isReady(reading: Bool, writing: Bool) -> Bool {
    poll(for: (reading ? POLLIN | linux_pollrdhup() : 0) | (writing ? POLLOUT : 0)) != 0
  }

  /// Neither: nothing.
  public func shutDown(reading: Bool, writing: Bool) {
    if reading || writing { linux_shutdown(fd, reading ? 1 : 0, writing ? 1 : 0) }
  }

  /// The current ones of these events, and whether it is closed (POLLHUP) or broken (POLLERR, POLLNVAL).
  private func poll(for events: Int32) -> Int32 {
    var descriptor = pollfd(fd: fd, events: Int16(events), revents: 0)
    while CLinux.poll(&descriptor, 1, 0) < 0, linux_errno() == EINTR {}
    return Int32(descriptor.revents)
  }

  private static func inode(of fd: Int32) -> UInt64? {
    var status = stat()
    return fstat(fd, &status) == 0 ? UInt64(status.st_ino) : nil
  }
}
