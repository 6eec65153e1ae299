/// What a link is made of (docs/protocol.md, "Frames"): 8 bytes of head, then the body.
///
///     kind: 1 byte | length of the body: 3 bytes, big-endian | channel: 4 bytes, big-endian
enum Frame {
  static let headSize = 8
  /// Bytes of body in a message; also what a peer may make us hold before it has said who it is (A9).
  static let messageLimit = 64 * 1024
  /// Bytes of body that we accept in a data frame.
  static let dataLimit = 64 * 1024
  /// Bytes of body that we send in one data frame, so that a message never waits behind more. With its head it fills what a
  /// reader reads at a time.
  static let dataSize = dataLimit - headSize

  /// Bytes of messages that are put before what is urgent.
  static let stagedSize = 16 * 1024

  enum Kind: UInt8 {
    /// One message, on channel 0.
    case message = 0
    /// Bytes of a channel.
    case data = 1
    /// The clean end of a channel; no body.
    case end = 2
    /// The channel is given up; no body. Either side may send it.
    case reset = 3
    /// The receiver of a channel takes this many more bytes; body: 4 bytes, big-endian.
    case credit = 4
    /// On links between hubs: all bytes up to this number have come; body: 8 bytes, big-endian.
    case ack = 5
  }

  struct Head {
    let kind: Kind
    let length: Int
    let channel: UInt32
  }

  static func append(_ kind: Kind, channel: UInt32, length: Int, to bytes: inout ByteQueue) {
    assert(length <= dataLimit)
    let head = UInt64(kind.rawValue) << 56 | UInt64(truncatingIfNeeded: length) << 32 | UInt64(channel)
    appendBigEndian(head, to: &bytes)
  }

  static func appendBigEndian(_ number: some FixedWidthInteger, to bytes: inout ByteQueue) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append($0) }
  }

  static func bigEndian(_ bytes: some Collection<UInt8>) -> UInt32 { UInt32(truncatingIfNeeded: bigEndian64(bytes)) }

  /// Of up to 8 bytes.
  static func bigEndian64(_ bytes: some Collection<UInt8>) -> UInt64 {
    var number: UInt64 = 0
    for byte in bytes { number = number << 8 | UInt64(byte) }
    return number
  }
}
