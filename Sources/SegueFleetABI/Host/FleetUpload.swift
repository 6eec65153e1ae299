import SegueFleet
import SegueModel
import SegueTransport
import SegueWire

/// An attachment upload to another app of a fleet (R7.6): the work of a thread on a real device, done when the fleet
/// advances. Guarded by the fleet's lock.
final class FleetUpload {
  /// Bytes per read.
  private static let pieceSize = 16 * 1024

  /// Who is charged.
  let account: Identifier
  let socket: FleetSocket
  private let file: SourceFile
  private var position: UInt64
  /// The next bytes to send.
  private var waiting: [UInt8]
  private var isComplete = false

  init(_ file: SourceFile, from offset: UInt64, to socket: FleetSocket, of account: Identifier) {
    self.account = account
    self.file = file
    self.socket = socket
    position = offset
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
      next()
    }
  }

  private func next() {
    do throws(SegueError) {
      let piece = try read(at: position)
      if piece.isEmpty {
        isComplete = true
        let isWhole = position == file.size && file.isUnchanged
        waiting = AttachmentFormat.end(isWhole ? .complete : .changed, digest: isWhole ? try digest() : [])
      } else {
        position += UInt64(piece.count)
        waiting = withUnsafeBytes(of: UInt32(piece.count).bigEndian) { Array($0) } + piece
      }
    } catch {
      isComplete = true
      waiting = AttachmentFormat.end(.unreadable)
    }
  }

  private func read(at offset: UInt64) throws(SegueError) -> [UInt8] {
    guard offset < file.size else { return [] }
    var piece = [UInt8](repeating: 0, count: Int(min(UInt64(Self.pieceSize), file.size - offset)))
    let room = piece.count
    var count = 0
    var failure: SegueError?
    piece.withUnsafeMutableBytes { bytes in
      do throws(SegueError) { count = try file.read(at: offset, into: bytes) } catch { failure = error }
    }
    if let failure { throw failure }
    if count < room { piece.removeLast(room - count) }
    return piece
  }

  private func digest() throws(SegueError) -> [UInt8] {
    if let known = file.digest { return known }
    let digest = try SHA256.begin()
    var offset: UInt64 = 0
    while true {
      let piece = try read(at: offset)
      if piece.isEmpty { break }
      piece.withUnsafeBytes { digest.update($0) }
      offset += UInt64(piece.count)
    }
    let sum = digest.finish()
    file.digest = sum
    return sum
  }
}
