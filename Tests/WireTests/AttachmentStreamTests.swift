// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// Both ends of the stream of an attachment (R7.6), without I/O.
@Suite struct AttachmentStreamTests {
  private typealias Event = IncomingAttachment.Event

  private static let digest = [UInt8](repeating: 7, count: 32)

  /// A receiver, and what it has got.
  private struct Receiver {
    var stream: IncomingAttachment
    var events: [Event] = []
    var content: [UInt8] = []
    var uptime: Int64 = 1_000

    init(missing: Int) { stream = IncomingAttachment(missing: UInt64(missing)) }

    /// - Parameter step: the most bytes that come at a time.
    mutating func take(_ bytes: [UInt8], step: Int = .max) throws(SegueError) {
      var left = bytes[...]
      while !left.isEmpty {
        switch stream.wanted {
        case .framing(let count):
          let part = Array(left.prefix(min(count, step)))
          left = left.dropFirst(part.count)
          var result = Result<Event?, SegueError>.success(nil)
          part.withUnsafeBytes { bytes in
            do throws(SegueError) {
              result = .success(try stream.take(bytes, at: uptime))
            } catch {
              result = .failure(error)
            }
          }
          if let event = try result.get() { events.append(event) }
        case .content(let count):
          let part = left.prefix(min(count, step))
          left = left.dropFirst(part.count)
          content += part
          stream.tookContent(part.count)
        }
      }
    }
  }

  private func length(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
  private func piece(_ bytes: [UInt8]) -> [UInt8] { length(UInt32(bytes.count)) + bytes }

  private func malformed(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch {
      return (error as? SegueError)?.status == .malformed
    }
  }

  @Test(arguments: [1, 2, 3, 7, 1_000])
  func `what is sent arrives, in whatever parts it comes (R7.6)`(step: Int) throws {
    var receiver = Receiver(missing: 5)
    let sent =
      AttachmentFormat.head(size: 8) + piece([1, 2, 3]) + length(AttachmentFormat.stillHere) + piece([4, 5])
      + AttachmentFormat.end(.complete, digest: Self.digest)
    try receiver.take(sent, step: step)
    #expect(receiver.content == [1, 2, 3, 4, 5])
    #expect(receiver.events == [.size(8), .end(.complete, digest: Self.digest)])
  }

  @Test func `a file comes with the head, or not at all (R7.6)`() throws {
    let file = AttachmentFormat.handedOver(changedAt: -5, 999)
    var receiver = Receiver(missing: 3)
    try receiver.take(AttachmentFormat.head(size: 3) + file)
    #expect(receiver.events == [.size(3), .isHandedOver(seconds: -5, nanoseconds: 999)])
    // It is not copied.
    try receiver.take(piece([1, 2, 3]) + AttachmentFormat.end(.changed))
    #expect(receiver.content == [1, 2, 3])
    for before in [length(AttachmentFormat.stillHere), piece([1]), file] {
      var receiver = Receiver(missing: 3)
      try receiver.take(AttachmentFormat.head(size: 3) + before)
      #expect(malformed { try receiver.take(file) })
    }
  }

  @Test func `no more comes than was asked for, and no piece that is too long (R7.6)`() throws {
    var receiver = Receiver(missing: 5)
    try receiver.take(AttachmentFormat.head(size: 9) + piece([1, 2, 3]))
    #expect(malformed { try receiver.take(piece([4, 5, 6])) })
    let limit = AttachmentFormat.pieceLimit
    receiver = Receiver(missing: 2 * limit)
    try receiver.take(AttachmentFormat.head(size: 9) + length(UInt32(limit)))
    #expect(receiver.stream.wanted == .content(limit))
    receiver = Receiver(missing: 2 * limit)
    #expect(malformed { try receiver.take(AttachmentFormat.head(size: 9) + length(UInt32(limit + 1))) })
  }

  @Test func `an origin may be slow, but not show life without end (R7.6)`() throws {
    let sign = length(AttachmentFormat.stillHere)
    var receiver = Receiver(missing: 1)
    try receiver.take(AttachmentFormat.head(size: 1))
    for _ in 0..<100 { try receiver.take(sign) }
    #expect(malformed { try receiver.take(sign) })
    receiver = Receiver(missing: 1)
    try receiver.take(AttachmentFormat.head(size: 1))
    for _ in 0..<10_000 {
      receiver.uptime += Limits.attachmentSign
      try receiver.take(sign)
    }
    #expect(receiver.events == [.size(1)])
  }

  @Test func `a verdict of a later version is none (R7.6)`() throws {
    var receiver = Receiver(missing: 0)
    try receiver.take(AttachmentFormat.head(size: 0) + length(0) + [9] + Self.digest)
    #expect(receiver.events == [.size(0), .end(nil, digest: Self.digest)])
  }

  /// The pieces of a file of which at most `readable` bytes can be read.
  private func pieces(
    size: UInt64, from offset: UInt64, knowsDigest: Bool, readable: Int = .max
  ) -> (pieces: [OutgoingAttachment.Piece], isWhole: Bool) {
    var stream = OutgoingAttachment(size: size, from: offset, pieceSize: 4, knowsDigest: knowsDigest)
    var (found, left) = ([OutgoingAttachment.Piece](), readable)
    while let next = stream.next {
      found.append(next)
      let count = min(next.count, left)
      left -= count
      stream.took(count)
    }
    return (found, stream.isWhole)
  }

  private func piece(_ position: UInt64, _ count: Int, isSent: Bool) -> OutgoingAttachment.Piece {
    OutgoingAttachment.Piece(position: position, count: count, isSent: isSent)
  }

  @Test func `of what the other side has, only the digest is computed, unless it is known (R7.6)`() {
    let rest = [piece(6, 4, isSent: true), piece(10, 1, isSent: true)]
    #expect(pieces(size: 11, from: 6, knowsDigest: true) == (rest, true))
    let before = [piece(0, 4, isSent: false), piece(4, 2, isSent: false)]
    #expect(pieces(size: 11, from: 6, knowsDigest: false) == (before + rest, true))
    #expect(pieces(size: 0, from: 0, knowsDigest: false) == ([], true))
    #expect(pieces(size: 4, from: 4, knowsDigest: true) == ([], true))
  }

  @Test(arguments: [false, true])
  func `a file that has become shorter is not whole (R7.6)`(knowsDigest: Bool) {
    let (found, isWhole) = pieces(size: 11, from: 0, knowsDigest: knowsDigest, readable: 6)
    #expect(found == [piece(0, 4, isSent: true), piece(4, 4, isSent: true), piece(6, 4, isSent: true)] && !isWhole)
    #expect(!pieces(size: 4, from: 9, knowsDigest: true).isWhole, "the other side has more than there is")
  }
}
