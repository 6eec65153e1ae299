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

  /// The account that is charged for the upload.
  let account: Identifier
  private let offset: UInt64
  /// Whether the other side is on this device, and has nothing so far.
  private let handsOver: Bool
  /// Milliseconds to wait for a sign of life of the other side.
  private let patience: Int64
  private let lock = Lock()
  private var file: SourceFile?
  /// Negative: it has ended.
  private var socket: Int32
  private var isStopped = false
  private var thread: Thread?
  private var ended: (() -> Void)?

  /// Owns the socket.
  /// - Parameter ended: called on the upload's thread, as the last thing that it does; not if `start` throws.
  public init(
    _ file: SourceFile, from offset: UInt64, to socket: Int32, of account: Identifier, crossesLink: Bool,
    patience: Int64, ended: (() -> Void)? = nil
  ) {
    self.account = account
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
    lock.withLock {
      isStopped = true
      if socket >= 0 { linux_shutdown(socket, 1, 1) }
    }
  }

  /// Call once: after `stop`, or when it has ended.
  public func join() { thread?.join() }

  public var hasEnded: Bool { lock.withLock { socket < 0 } }

  private func run() {
    if let file = lock.withLock({ file }) { send(file, over: socket) }
    lock.withLock {
      Descriptors.closeUntrusted(socket)
      socket = -1
      file = nil
    }
    ended?()
    ended = nil
  }

  private func send(_ file: SourceFile, over socket: Int32) {
    var writer = AttachmentWriter(socket, patience: patience)
    guard sendHead(file, &writer) else { return }
    let headSize = AttachmentFormat.lengthSize
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: headSize + Self.pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    let verdict: AttachmentFormat.Verdict
    var sum = file.digest
    do throws(SegueError) {
      let digest = sum == nil ? try SHA256.begin() : nil
      var stream = OutgoingAttachment(
        size: file.size, from: offset, pieceSize: Self.pieceSize, knowsDigest: sum != nil)
      while let next = stream.next, !lock.withLock({ isStopped }) {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[headSize..<headSize + next.count])
        let count = try file.read(at: next.position, into: piece)
        stream.took(count)
        guard count > 0 else { break }
        digest?.update(UnsafeRawBufferPointer(rebasing: piece[..<count]))
        if next.isSent {
          AttachmentFormat.write(length: UInt32(count), to: buffer)
          guard writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<(headSize + count)])) else { return }
        } else if writer.shouldShowLife {
          AttachmentFormat.write(length: AttachmentFormat.stillHere, to: buffer)
          guard writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<headSize])) else { return }
        }
      }
      if lock.withLock({ isStopped }) { return }
      verdict = stream.isWhole && file.isUnchanged ? .complete : .changed
      if verdict == .complete, let digest {
        sum = digest.finish()
        file.digest = sum
      }
    } catch {
      Log.write(.error, "\(error.message)")
      verdict = .unreadable
    }
    _ = writer.write(AttachmentFormat.end(verdict, digest: sum ?? []))
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
