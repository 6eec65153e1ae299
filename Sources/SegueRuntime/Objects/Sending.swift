import CLinux
import SegueModel
import SegueTransport
import SegueWire

/// An attachment on its way to another app (R7.6): a thread reads the file and writes to a socket, and waits for both.
final class Sending: @unchecked Sendable {
  /// Bytes that are read at a time: so much that calls cost little, so little that the other side works meanwhile.
  private static let pieceSize = 256 * 1024

  private let offset: UInt64
  private let lock = Lock()
  private var file: SourceFile?
  /// Negative: it has ended.
  private var socket: Int32
  private var isStopped = false
  private var thread: Thread?

  /// Owns the socket.
  init(_ file: SourceFile, from offset: UInt64, to socket: Int32) {
    self.file = file
    self.offset = offset
    self.socket = socket
  }

  deinit { Descriptors.close(socket) }

  func start() throws(SegueError) {
    thread = try Thread { self.run() }
  }

  /// Nothing more is sent. The other side takes it for a broken stream.
  func stop() {
    lock.withLock {
      isStopped = true
      if socket >= 0 { linux_shutdown(socket, 1, 1) }
    }
  }

  /// Once: after `stop`, or when it has ended.
  func join() { thread?.join() }

  var hasEnded: Bool { lock.withLock { socket < 0 } }

  private func run() {
    if let file = lock.withLock({ file }) { send(file, over: socket) }
    lock.withLock {
      Descriptors.close(socket)
      socket = -1
      file = nil
    }
  }

  private func send(_ file: SourceFile, over socket: Int32) {
    guard write(AttachmentFormat.head(size: file.size), to: socket) else { return }
    let headSize = AttachmentFormat.lengthSize
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: headSize + Self.pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    let verdict: AttachmentFormat.Verdict
    var sum = file.digest
    do throws(SegueError) {
      let digest = try SHA256.begin()
      // What the other side has counts for the digest all the same, unless that is known.
      var position = sum == nil ? 0 : offset
      while position < file.size, !lock.withLock({ isStopped }) {
        let end = position < offset ? min(offset, file.size) : file.size
        let wanted = Int(min(UInt64(Self.pieceSize), end - position))
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[headSize..<headSize + wanted])
        let count = try file.read(at: position, into: piece)
        guard count > 0 else { break }
        if sum == nil { digest.update(UnsafeRawBufferPointer(rebasing: piece[..<count])) }
        if position >= offset {
          AttachmentFormat.write(length: count, to: buffer)
          guard write(UnsafeRawBufferPointer(rebasing: buffer[..<(headSize + count)]), to: socket) else { return }
        }
        position += UInt64(count)
      }
      if lock.withLock({ isStopped }) { return }
      if position == file.size, file.isUnchanged {
        verdict = .complete
        if sum == nil {
          sum = digest.finish()
          file.digest = sum
        }
      } else {
        verdict = .changed
      }
    } catch {
      Log.write(.error, "\(error.message)")
      verdict = .unreadable
    }
    _ = write(AttachmentFormat.end(verdict, digest: sum ?? []), to: socket)
  }

  private func write(_ bytes: [UInt8], to socket: Int32) -> Bool {
    bytes.withUnsafeBytes { write($0, to: socket) }
  }

  /// - Returns: false if the other side does not take it.
  private func write(_ bytes: UnsafeRawBufferPointer, to socket: Int32) -> Bool {
    var left = bytes
    while let start = left.baseAddress, !left.isEmpty {
      let count = linux_send(socket, start, left.count, -1)
      if count >= 0 {
        left = UnsafeRawBufferPointer(rebasing: left[count...])
      } else if linux_errno() == EAGAIN {
        // Whoever made the socket can make it so.
        var descriptor = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
        poll(&descriptor, 1, -1)
      } else if linux_errno() != EINTR {
        return false
      }
    }
    return true
  }
}
