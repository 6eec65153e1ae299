// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A link that outlives its connection (R7.4): it keeps sent bytes until the peer acknowledges them.
extension FramedConnection {
  /// Bytes after which an ack is sent, unless a credit was: with much data credit comes first.
  static let ackSize: UInt64 = 256 * 1024
  /// The most unacknowledged bytes while data of channels is sent: further data waits for an ack.
  private static let retransmissionLimit = 512 * 1024

  /// Byte numbers count from the call of `enableResumption`.
  struct RetransmitBuffer {
    /// The number of the first byte of `sendBuffer`; bytes sent before it have negative numbers.
    var first: Int64
    var received: UInt64
    var acknowledged: UInt64 = 0
    /// Bytes that go first on a new connection, and are not counted.
    var preamble = ByteQueue()
  }

  /// Sends an ack if at least `size` bytes are unacknowledged.
  func acknowledge(atLeast size: UInt64 = 1) {
    guard let received = retransmission?.received, let acknowledged = retransmission?.acknowledged,
      received - acknowledged >= size
    else {
      return
    }
    retransmission?.acknowledged = received
    Frame.append(.ack, channel: 0, received, to: &sendBuffer)
  }

  var mayFill: Bool { retransmission == nil || sent < FramedConnection.retransmissionLimit }

  /// From the next byte on, keeps sent bytes and counts received ones. Both sides call this between the same two frames
  /// of each direction.
  public func enableResumption() {
    // Urgent messages must not overtake uncounted bytes.
    sendBuffer.append(queued, count: queued.count)
    queued.removeAll()
    retransmission = RetransmitBuffer(first: Int64(-sendBuffer.count), received: UInt64(input.count))
  }

  /// The number of bytes received since `enableResumption`.
  public var received: UInt64 { retransmission?.received ?? 0 }

  /// Throws MALFORMED if it cannot resume after the byte with this number.
  public func checkResumable(peerReceived: UInt64) throws(SegueError) {
    guard let first = retransmission?.first, Int64(clamping: peerReceived) >= first else {
      throw SegueError(.malformed, "link: bytes are asked for that were said to have come")
    }
    guard Int64(clamping: peerReceived) <= first + Int64(sent) else {
      throw SegueError(.malformed, "link: bytes came that were not sent")
    }
  }

  /// Resumes over the connection of another link, which has only exchanged the numbers of received bytes. Throws
  /// MALFORMED if that is impossible.
  public func resume(over other: FramedConnection, peerReceived: UInt64) throws(SegueError) {
    try checkResumable(peerReceived: peerReceived)
    try drop(upTo: peerReceived)
    sent = 0
    var preamble = other.sendBuffer
    preamble.removeFirst(other.sent)
    preamble.append(other.queued, count: other.queued.count)
    retransmission?.preamble = preamble
    receive(other.input.takeAll())
  }

  /// The number of bytes held: unsent ones, and sent ones that may have to be sent again.
  public var heldSize: Int { heldBytes + channelBytes }

  /// Frees unused memory. For a link without a connection.
  public func trim() {
    sendBuffer.trim()
    queued.trim()
  }

  /// Handles an ack: all bytes below this number have arrived. It may be a repeated, older one.
  func drop(upTo number: UInt64) throws(SegueError) {
    guard let first = retransmission?.first, let number = Int64(exactly: number), number <= first + Int64(sent) else {
      throw SegueError(.malformed, "link: bytes came that were not sent")
    }
    guard number > first else { return }
    let count = Int(number - first)
    sendBuffer.removeFirst(count)
    sent -= count
    retransmission?.first = number
  }
}
