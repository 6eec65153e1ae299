// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The receiver's end of the stream of an attachment (R7.6; docs/protocol.md, "An attachment, at both ends"), without
/// I/O: says what it wants next, and what came. A thread drives it in an app, events do so in a virtual fleet.
public struct IncomingAttachment {
  /// The next bytes of the stream.
  public enum Wanted: Equatable {
    /// So many, for `take`.
    case framing(Int)
    /// At most so many of the attachment itself, for `tookContent`.
    case content(Int)
  }

  public enum Event: Equatable {
    /// The first one: how large it is, as its origin says.
    case size(UInt64)
    /// The file itself has come with the head, and was changed last at this time. The receiver copies it, which ends
    /// the stream, or tells the origin to send the bytes (`AttachmentFormat.Word.sendBytes`).
    case isHandedOver(seconds: Int64, nanoseconds: UInt32)
    /// The last one. A verdict of a later version is nil.
    case end(AttachmentFormat.Verdict?, digest: [UInt8])
  }

  private enum Part {
    case head
    case length
    case time
    /// A piece, of which so many bytes are missing.
    case content(Int)
    case end
  }

  /// The most keep-alives that may come early.
  private static let spareSigns: Int64 = 100

  private var part = Part.head
  /// The first bytes of a part that is not content.
  private var begun: [UInt8] = []
  /// Bytes of the attachment that have not come, those of the present piece included.
  private var missing: UInt64
  /// Whether a piece, or a keep-alive, has come.
  private var hasFollowed = false
  private var beganAt: Int64 = 0
  private var signs: Int64 = 0

  /// - Parameter missing: the bytes that were asked for.
  public init(missing: UInt64) { self.missing = missing }

  public static var malformed: SegueError { SegueError(.malformed, "what came is no attachment") }

  /// Whether the head is wanted, with which a file may come.
  public var isAtHead: Bool { if case .head = part { true } else { false } }

  public var wanted: Wanted {
    switch part {
    case .content(let count): .content(count)
    case .head: .framing(AttachmentFormat.headSize - begun.count)
    case .length: .framing(AttachmentFormat.lengthSize - begun.count)
    case .time: .framing(AttachmentFormat.timeSize - begun.count)
    case .end: .framing(AttachmentFormat.endSize - begun.count)
    }
  }

  /// Takes bytes that are no content: at most as many as are wanted.
  /// - Parameter uptime: in milliseconds.
  /// - Returns: nil if nothing is to be done.
  /// Throws MALFORMED if they are none of an attachment, or an origin shows life without end.
  public mutating func take(_ bytes: UnsafeRawBufferPointer, at uptime: Int64) throws(SegueError) -> Event? {
    begun.append(contentsOf: bytes)
    guard wanted == .framing(0) else { return nil }
    let whole = begun
    begun = []
    switch part {
    case .head:
      (part, beganAt) = (.length, uptime)
      return .size(whole.withUnsafeBytes { AttachmentFormat.size(head: $0) })
    case .length:
      try begin(whole.withUnsafeBytes { AttachmentFormat.length($0) }, uptime)
      hasFollowed = true
    case .time:
      part = .length
      let (seconds, nanoseconds) = whole.withUnsafeBytes { AttachmentFormat.time($0) }
      return .isHandedOver(seconds: seconds, nanoseconds: nanoseconds)
    case .end: return .end(AttachmentFormat.Verdict(rawValue: whole[0]), digest: Array(whole[1...]))
    case .content: break
    }
    return nil
  }

  /// So many bytes of content have come.
  public mutating func tookContent(_ count: Int) {
    guard case .content(let left) = part else { return }
    missing -= UInt64(count)
    part = count == left ? .length : .content(left - count)
  }

  /// Begins what a length announces.
  private mutating func begin(_ length: UInt32, _ uptime: Int64) throws(SegueError) {
    switch length {
    case 0: part = .end
    case AttachmentFormat.stillHere:
      signs += 1
      // A peer that sends these without end would keep its receiver busy.
      guard signs <= Self.spareSigns + (uptime - beganAt) / Limits.attachmentSign else { throw Self.malformed }
    case AttachmentFormat.handedOver:
      guard !hasFollowed else { throw Self.malformed }
      part = .time
    default:
      guard length <= AttachmentFormat.pieceLimit, UInt64(length) <= missing else { throw Self.malformed }
      part = .content(Int(length))
    }
  }
}
