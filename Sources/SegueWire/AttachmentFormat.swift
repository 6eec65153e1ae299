/// What comes on the stream of an attachment (docs/protocol.md, "An attachment, at both ends"): a head, pieces, an end.
public enum AttachmentFormat {
  /// The head: bytes of the whole attachment, big-endian.
  public static let headSize = 8
  /// Before each piece: its bytes, big-endian; 0: the end follows.
  public static let lengthSize = 4
  /// In place of the length of a piece: nothing, but the origin lives.
  public static let stillHere = UInt32.max
  /// In place of the length of a piece: the file itself has come with the head. The time of its last change follows, and nothing
  /// more until the receiver asks for the bytes.
  public static let handedOver = UInt32.max - 1
  /// The time of the last change: seconds since 1970 and nanoseconds, big-endian.
  public static let timeSize = 8 + 4
  /// Bytes of a piece at most.
  public static let pieceLimit = 1 << 20
  /// The end: a verdict, and the digest of the whole.
  public static let endSize = 1 + 32

  /// What the origin says at the end. Raw values are on the wire.
  public enum Verdict: UInt8, Sendable {
    case complete = 0
    /// It was written to after it had been attached.
    case changed = 1
    case unreadable = 2
  }

  /// What the receiver says.
  public enum Word: UInt8, Sendable {
    /// It takes nothing for now, but it lives.
    case stillHere = 0
    /// It does not copy the file that was handed over.
    case sendBytes = 1
  }

  /// Behind the head.
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

  /// Writes the length of a piece; there is room for it.
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
