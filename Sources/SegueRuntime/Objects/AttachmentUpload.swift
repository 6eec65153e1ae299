// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// An attachment upload to another app (R7.6): a thread reads the file and writes to a socket, and waits for both.
public final class AttachmentUpload: @unchecked Sendable {
  /// Bytes per read: enough that calls cost little, and few enough that the other side works meanwhile.
  private static let pieceSize = 256 * 1024
  /// Milliseconds between two looks at a digest that another upload computes.
  private static let digestPause: Int32 = 20

  /// The principal that is charged for the upload.
  let principal: Identifier
  private let offset: UInt64
  /// Whether the other side is on this device, and has nothing so far.
  private let handsOver: Bool
  /// Milliseconds to wait for a sign of life of the other side.
  private let patience: Int64
  private let monitor = ConditionLock()
  // Guarded by `monitor`.
  private var file: SourceFile?
  /// Negative: it has ended.
  private var socket: Int32
  private var isStopped = false
  private var thread: Thread?
  private var ended: (() -> Void)?

  /// Owns the socket.
  /// - Parameter ended: called on the upload's thread, as the last thing that it does; not if `start` throws.
  public init(
    _ file: SourceFile, from offset: UInt64, to socket: Int32, of principal: Identifier, crossesLink: Bool,
    patience: Int64, ended: (() -> Void)? = nil
  ) {
    self.principal = principal
    self.ended = ended
    self.patience = patience
    self.file = file
    self.offset = offset
    handsOver = offset == 0 && !crossesLink
    self.socket = socket
  }

  deinit { Descriptors.closeUntrusted(socket) }

  public func start() throws(SegueError) {
    thread = try Thread { self.run() }
  }

  /// Stops sending. The other side sees a broken stream.
  public func stop() {
    monitor.lock()
    isStopped = true
    if socket >= 0 { linux_shutdown(socket, 1, 1) }
    monitor.unlock()
  }

  /// Waits for its end. Call once: after `stop`, or when it has ended.
  /// - Parameter uptime: when the wait ends. A thread that a file or a peer holds up does not hold up the caller.
  public func join(until uptime: Int64 = Clock.uptime + joinTime) {
    monitor.lock()
    while socket >= 0, monitor.wait(atMost: max(0, uptime - Clock.uptime)) {}
    let hasEnded = socket < 0
    monitor.unlock()
    if hasEnded { thread?.join() } else { thread?.detach() }
  }

  /// Milliseconds to wait for the end of uploads that were stopped.
  public static let joinTime: Int64 = 2_000

  public var hasEnded: Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return socket < 0
  }

  private var mustEnd: Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return isStopped
  }

  private func run() {
    if let file { send(file, over: socket) }
    monitor.lock()
    let (socket, file) = (socket, file)
    self.socket = -1
    self.file = nil
    monitor.notifyAll()
    monitor.unlock()
    // The other side may have this end, too.
    Descriptors.closeConnection(socket, isShared: true)
    withExtendedLifetime(file) {}
    ended?()
    ended = nil
  }

  private func send(_ file: SourceFile, over socket: Int32) {
    var writer = AttachmentWriter(socket, patience: patience)
    guard sendHead(file, &writer) else { return }
    let headSize = AttachmentFormat.lengthSize
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: headSize + Self.pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    var verdict = AttachmentFormat.Verdict.changed
    do throws(SegueError) {
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[headSize...])
      let offset = min(offset, file.size)
      guard try hash(file, upTo: offset, room, &writer) else { return }
      // The digest is computed apart from the stream.
      var stream = OutgoingAttachment(size: file.size, from: offset, pieceSize: Self.pieceSize, knowsDigest: true)
      while let next = stream.next, !mustEnd {
        let piece = UnsafeMutableRawBufferPointer(rebasing: room[..<next.count])
        let count = try file.read(at: next.position, into: piece)
        stream.took(count)
        guard count > 0 else { break }
        try file.hash(UnsafeRawBufferPointer(rebasing: piece[..<count]), at: next.position)
        AttachmentFormat.write(length: UInt32(count), to: buffer)
        guard writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<(headSize + count)])) else { return }
      }
      if mustEnd { return }
      if stream.isWhole, file.isUnchanged {
        guard try hash(file, upTo: file.size, room, &writer) else { return }
        if file.digest != nil, file.isUnchanged { verdict = .complete }
      }
    } catch {
      Log.write(.error, "\(error.message)")
      verdict = .unreadable
    }
    _ = writer.write(AttachmentFormat.end(verdict, digest: file.digest ?? []))
  }

  /// Has the digest of the file computed up to there, by this thread or those of other uploads.
  /// - Returns: false if the other side is gone, or this must end. Throws SYSTEM.
  private func hash(
    _ file: SourceFile, upTo end: UInt64, _ buffer: UnsafeMutableRawBufferPointer, _ writer: inout AttachmentWriter
  ) throws(SegueError) -> Bool {
    while file.needsHash(upTo: end) {
      var pause: Int32 = 0
      switch try file.hashNext(buffer) {
      case .hashed: break
      case .busy: pause = Self.digestPause
      case .ended: return true
      }
      guard !mustEnd, writer.pause(milliseconds: pause) else { return false }
      if writer.shouldShowLife {
        AttachmentFormat.write(length: AttachmentFormat.stillHere, to: buffer)
        guard writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<AttachmentFormat.lengthSize])) else {
          return false
        }
      }
    }
    return true
  }

  /// Sends the start: on this device the file itself, which the other side usually copies.
  /// - Returns: whether it wants the bytes.
  private func sendHead(_ file: SourceFile, _ writer: inout AttachmentWriter) -> Bool {
    let head = AttachmentFormat.head(size: file.size)
    guard handsOver, let descriptor = file.openedAgain() else { return writer.write(head) }
    let time = AttachmentFormat.handedOver(changedAt: file.stamp.seconds, file.stamp.nanoseconds)
    let hasGone = writer.write(head + time, with: descriptor)
    Descriptors.close(descriptor)
    return hasGone && writer.wait(for: AttachmentFormat.Word.sendBytes.rawValue)
  }
}
