// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The format on the stream of an attachment (docs/protocol.md, "An attachment, at both ends"): a head, pieces, an end.
public enum AttachmentFormat {
  /// The head: bytes of the whole attachment, big-endian.
  public static let headSize = 8
  /// Precedes each piece: its length, big-endian; 0: the end follows.
  public static let lengthSize = 4
  /// In place of the length of a piece: a keep-alive of the origin.
  public static let stillHere = UInt32.max
  /// In place of the length of a piece: the file itself came with the head. Its modification time follows, and nothing
  /// more until the receiver asks for the bytes.
  public static let handedOver = UInt32.max - 1
  /// The modification time: seconds since 1970 and nanoseconds, big-endian.
  public static let timeSize = 8 + 4
  /// The most bytes of a piece.
  public static let pieceLimit = 1 << 20
  /// The end: a verdict, and the digest of the whole.
  public static let endSize = 1 + 32

  /// The verdict of the origin at the end. Raw values are on the wire.
  public enum Verdict: UInt8, Sendable {
    case complete = 0
    /// The file was changed after it had been attached.
    case changed = 1
    case unreadable = 2
  }

  /// The bytes that the receiver sends.
  public enum Word: UInt8, Sendable {
    /// A keep-alive: it does not read for now.
    case stillHere = 0
    /// It does not copy the file that was passed, and wants the bytes.
    case sendBytes = 1
  }

  /// The offset after the head.
  public static func handedOver(changedAt seconds: Int64, _ nanoseconds: UInt32) -> [UInt8] {
    withUnsafeBytes(of: handedOver.bigEndian) { Array($0) } + withUnsafeBytes(of: seconds.bigEndian) { Array($0) }
      + withUnsafeBytes(of: nanoseconds.bigEndian) { Array($0) }
  }

  public static func time(_ bytes: UnsafeRawBufferPointer) -> (seconds: Int64, nanoseconds: UInt32) {
    let seconds = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
    return (Int64(bitPattern: seconds), bytes[8...].reduce(0) { $0 << 8 | UInt32($1) })
  }

  public static func head(size: UInt64) -> [UInt8] { withUnsafeBytes(of: size.bigEndian) { Array($0) } }

  public static func size(head: UnsafeRawBufferPointer) -> UInt64 { head.reduce(0) { $0 << 8 | UInt64($1) } }

  /// Writes the length of a piece; the buffer is large enough.
  public static func write(length: UInt32, to buffer: UnsafeMutableRawBufferPointer) {
    buffer.storeBytes(of: length.bigEndian, as: UInt32.self)
  }

  public static func length(_ bytes: UnsafeRawBufferPointer) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

  /// - Parameter digest: 32 bytes.
  public static func end(_ verdict: Verdict, digest: [UInt8] = []) -> [UInt8] {
    var end = [UInt8](repeating: 0, count: lengthSize)
    end.append(verdict.rawValue)
    end.append(contentsOf: digest)
    while end.count < lengthSize + endSize { end.append(0) }
    return end
  }
}
