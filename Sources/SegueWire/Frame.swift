// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The unit of a framed connection (docs/protocol.md, "Frames"): 8 bytes of head, then the body.
///
///     kind: 1 byte | length of the body: 3 bytes, big-endian | channel: 4 bytes, big-endian
enum Frame {
  static let headSize = 8
  /// The most bytes of a message; also the most that an unidentified peer can make this side hold (A9).
  static let messageLimit = 64 * 1024
  /// The most bytes that a data frame may have.
  static let dataLimit = 64 * 1024
  /// The most bytes of a whole frame.
  static let size = headSize + dataLimit

  /// The most bytes of messages that go before an urgent one.
  static let stagedSize = 16 * 1024

  enum Kind: UInt8 {
    /// One message, on channel 0.
    case message = 0
    /// Bytes of a channel.
    case data = 1
    /// The clean end of a channel; body: 8 bytes, big-endian: how many bytes the channel has carried.
    case end = 2
    /// Aborts the channel; no body. Either side may send it.
    case reset = 3
    /// The receiver of a channel accepts this many more bytes; body: 4 bytes, big-endian.
    case credit = 4
    /// Between hubs: all bytes up to this number have arrived; body: 8 bytes, big-endian.
    case ack = 5
    /// One message with a descriptor, on channel 0. It begins the write that carries the descriptor, and that write has
    /// no other frame of this kind. So the read that gets its first byte gets the descriptor.
    case transfer = 6
    /// Between devices: bytes of a channel through a relay; body: the offset of the first one, 8 bytes, and the bytes.
    case relayed = 7
    /// Between devices: credit of such a channel; body: two offsets of 8 bytes each.
    case relayedCredit = 8
    /// Between devices: such a channel has ended; body: the reason, a byte.
    case relayedEnd = 9
  }

  struct Head {
    let kind: Kind
    let length: Int
    let channel: UInt32
  }

  /// Appends a whole frame, whose body is within the limits of its kind.
  static func append(
    _ kind: Kind, channel: UInt32, _ body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
    to bytes: inout ByteQueue
  ) {
    bytes.append(head(kind, channel: channel, length: body.count), body)
  }

  /// Appends a frame with bytes of a channel through a relay.
  static func append(
    _ relayed: ArraySlice<UInt8>, at offset: UInt64, of channel: UInt32, to bytes: inout ByteQueue
  ) {
    let head = head(.relayed, channel: channel, length: RelayFrame.headSize + relayed.count)
    relayed.withUnsafeBytes { bytes.append(head, offset, $0) }
  }

  /// Appends a data frame whose body `body` fills in, at most `limit` bytes; no frame if it fills in nothing.
  /// - Returns: the number of bytes of its body.
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

  /// Appends a frame whose body is a number.
  static func append(_ kind: Kind, channel: UInt32, _ number: some FixedWidthInteger, to bytes: inout ByteQueue) {
    withUnsafeBytes(of: number.bigEndian) { append(kind, channel: channel, $0, to: &bytes) }
  }

  /// A number of up to 8 bytes.
  static func bigEndian(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var number: UInt64 = 0
    for byte in bytes { number = number << 8 | UInt64(byte) }
    return number
  }
}
