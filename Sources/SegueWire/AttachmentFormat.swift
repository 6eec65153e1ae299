/// What comes on the stream of an attachment (docs/protocol.md, "An attachment, at both ends"): a head, pieces, an end.
public enum AttachmentFormat {
  /// The head: bytes of the whole attachment, big-endian.
  public static let headSize = 8
  /// Before each piece: its bytes, big-endian; 0: the end follows.
  public static let lengthSize = 4
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

  public static func head(size: UInt64) -> [UInt8] { withUnsafeBytes(of: size.bigEndian) { Array($0) } }

  public static func size(head: UnsafeRawBufferPointer) -> UInt64 { head.reduce(0) { $0 << 8 | UInt64($1) } }

  /// Writes the length of a piece; there is room for it.
  public static func write(length: Int, to buffer: UnsafeMutableRawBufferPointer) {
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: length).bigEndian, as: UInt32.self)
  }

  public static func length(_ bytes: UnsafeRawBufferPointer) -> Int { Int(bytes.reduce(0) { $0 << 8 | UInt32($1) }) }

  /// - Parameter digest: 32 bytes.
  public static func end(_ verdict: Verdict, digest: [UInt8] = []) -> [UInt8] {
    var end = [UInt8](repeating: 0, count: lengthSize)
    end.append(verdict.rawValue)
    end.append(contentsOf: digest)
    while end.count < lengthSize + endSize { end.append(0) }
    return end
  }
}
