/// What a link is made of (docs/protocol.md, "Frames"): 8 bytes of head, then the body.
///
///     kind: 1 byte | length of the body: 3 bytes, big-endian | channel: 4 bytes, big-endian
enum Frame {
  static let headSize = 8
  /// Bytes of body in a message; also what a peer may make us hold before it has said who it is (A9).
  static let messageLimit = 64 * 1024
  /// Bytes of body that we accept in a data frame.
  static let dataLimit = 64 * 1024
  /// Bytes of a whole frame, at most.
  static let size = headSize + dataLimit

  /// Bytes of messages that are put before what is urgent.
  static let stagedSize = 16 * 1024

  enum Kind: UInt8 {
    /// One message, on channel 0.
    case message = 0
    /// Bytes of a channel.
    case data = 1
    /// The clean end of a channel; body: 8 bytes, big-endian: how many bytes the channel has carried.
    case end = 2
    /// The channel is given up; no body. Either side may send it.
    case reset = 3
    /// The receiver of a channel takes this many more bytes; body: 4 bytes, big-endian.
    case credit = 4
    /// On links between hubs: all bytes up to this number have come; body: 8 bytes, big-endian.
    case ack = 5
    /// One message with which a descriptor comes, on channel 0. It begins the write that the descriptor goes with, and no other of
    /// its kind is in that write: so the read that gets its first byte gets the descriptor.
    case transfer = 6
  }

  struct Head {
    let kind: Kind
    let length: Int
    let channel: UInt32
  }

  /// A whole frame. Its body is within the limits of its kind.
  static func append(
    _ kind: Kind, channel: UInt32, _ body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
    to bytes: inout ByteQueue
  ) {
    bytes.append(head(kind, channel: channel, length: body.count), body)
  }

  /// A data frame whose body is filled in by `body`, `limit` bytes at most; none if that fills in nothing.
  /// - Returns: bytes of its body.
  static func appendData(
    channel: UInt32, atMost limit: Int, to bytes: inout ByteQueue, _ body: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    let place = bytes.count
    append(.data, channel: channel, to: &bytes)
    let length = bytes.append(atMost: limit, body)
    if length > 0 {
      bytes.replace(at: place, with: head(.data, channel: channel, length: length))
    } else {
      bytes.removeLast(headSize)
    }
    return length
  }

  private static func head(_ kind: Kind, channel: UInt32, length: Int) -> UInt64 {
    assert(length <= dataLimit)
    return UInt64(kind.rawValue) << 56 | UInt64(truncatingIfNeeded: length) << 32 | UInt64(channel)
  }

  /// One whose body is a number.
  static func append(_ kind: Kind, channel: UInt32, _ number: some FixedWidthInteger, to bytes: inout ByteQueue) {
    withUnsafeBytes(of: number.bigEndian) { append(kind, channel: channel, $0, to: &bytes) }
  }

  /// Of up to 8 bytes.
  static func bigEndian(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var number: UInt64 = 0
    for byte in bytes { number = number << 8 | UInt64(byte) }
    return number
  }
}
