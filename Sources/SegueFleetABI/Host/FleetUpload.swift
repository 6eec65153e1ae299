// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueFleet
import SegueModel
import SegueTransport
import SegueWire

/// An attachment upload to another app of a fleet (R7.6): the work of a thread on a real device, done when the fleet
/// advances. Guarded by the fleet's lock.
final class FleetUpload {
  /// Bytes per read.
  private static let pieceSize = 16 * 1024

  /// The principal that is charged for the upload.
  let principal: Identifier
  let socket: FleetSocket
  private let file: SourceFile
  private var stream: OutgoingAttachment
  /// Nil if the digest of the file is known.
  private let digest: SHA256?
  /// The next bytes to send.
  private var waiting: [UInt8]
  private var isComplete = false

  /// Throws SYSTEM.
  convenience init(
    _ file: SourceFile, from offset: UInt64, to socket: FleetSocket, of principal: Identifier
  ) throws(SegueError) {
    let digest = file.digest == nil ? try SHA256.begin() : nil
    let stream = OutgoingAttachment(
      size: file.size, from: offset, pieceSize: Self.pieceSize, knowsDigest: digest == nil)
    self.init(file, stream, digest, socket, principal)
  }

  private init(
    _ file: SourceFile, _ stream: OutgoingAttachment, _ digest: SHA256?, _ socket: FleetSocket, _ principal: Identifier
  ) {
    self.principal = principal
    self.file = file
    self.stream = stream
    self.digest = digest
    self.socket = socket
    waiting = AttachmentFormat.head(size: file.size)
  }

  var isOver: Bool { socket.isClosed }

  /// Writes as much as the socket accepts.
  func carry() {
    while !isOver {
      let count = waiting.withUnsafeBytes { socket.write($0) }
      guard let count else { return socket.close() }
      waiting.removeFirst(count)
      guard waiting.isEmpty else { return }
      if isComplete { return socket.close() }
      do throws(SegueError) {
        try prepare()
      } catch {
        isComplete = true
        waiting = AttachmentFormat.end(.unreadable)
      }
    }
  }

  /// Reads the next bytes to send.
  private func prepare() throws(SegueError) {
    while let next = stream.next {
      let piece = try read(next)
      stream.took(piece.count)
      piece.withUnsafeBytes { digest?.update($0) }
      guard next.isSent, !piece.isEmpty else { continue }
      waiting = withUnsafeBytes(of: UInt32(piece.count).bigEndian) { Array($0) } + piece
      return
    }
    isComplete = true
    guard stream.isWhole, file.isUnchanged else { return waiting = AttachmentFormat.end(.changed) }
    if let digest { file.digest = digest.finish() }
    waiting = AttachmentFormat.end(.complete, digest: file.digest ?? [])
  }

  private func read(_ next: OutgoingAttachment.Piece) throws(SegueError) -> [UInt8] {
    var piece = [UInt8](repeating: 0, count: next.count)
    var count = 0
    var failure: SegueError?
    piece.withUnsafeMutableBytes { bytes in
      do throws(SegueError) { count = try file.read(at: next.position, into: bytes) } catch { failure = error }
    }
    if let failure { throw failure }
    piece.removeLast(next.count - count)
    return piece
  }
}
