import SegueModel

/// A link that outlives its connection (R7.4): it keeps sent bytes until the peer acknowledges them.
extension Link {
  /// Bytes after which an ack is sent, unless a credit was: with much data credit comes first.
  static let ackSize: UInt64 = 256 * 1024
  /// The most unacknowledged bytes while data of channels is sent: further data waits for an ack.
  private static let keptLimit = 512 * 1024

  /// Byte numbers count from the call of `keep`.
  struct Kept {
    /// The number of the first byte of `output`; bytes sent before `keep` have negative numbers.
    var first: Int64
    var received: UInt64
    var acknowledged: UInt64 = 0
    /// Bytes that go first on a new connection, and are not counted.
    var lead = ByteQueue()
  }

  /// Sends an ack if at least `size` bytes are unacknowledged.
  func acknowledge(atLeast size: UInt64 = 1) {
    guard let received = kept?.received, let acknowledged = kept?.acknowledged, received - acknowledged >= size else {
      return
    }
    kept?.acknowledged = received
    Frame.append(.ack, channel: 0, received, to: &output)
  }

  var mayFill: Bool { kept == nil || sent < Link.keptLimit }

  /// From the next byte on, keeps sent bytes and counts received ones. Both sides call this between the same two frames
  /// of each direction.
  public func keep() {
    // Urgent messages must not overtake uncounted bytes.
    output.append(waiting, count: waiting.count)
    waiting.removeAll()
    kept = Kept(first: Int64(-output.count), received: UInt64(input.count))
  }

  /// The number of bytes received since `keep`.
  public var received: UInt64 { kept?.received ?? 0 }

  /// Throws MALFORMED if it cannot resume after the byte with this number.
  public func checkResumable(peerReceived: UInt64) throws(SegueError) {
    guard let first = kept?.first, Int64(clamping: peerReceived) >= first else {
      throw SegueError(.malformed, "link: bytes are asked for that were said to have come")
    }
    guard Int64(clamping: peerReceived) <= first + Int64(sent) else {
      throw SegueError(.malformed, "link: bytes came that were not sent")
    }
  }

  /// Resumes over the connection of another link, which has only exchanged the numbers of received bytes. Throws
  /// MALFORMED if that is impossible.
  public func resume(over other: Link, peerReceived: UInt64) throws(SegueError) {
    try checkResumable(peerReceived: peerReceived)
    try drop(upTo: peerReceived)
    sent = 0
    var lead = other.output
    lead.removeFirst(other.sent)
    lead.append(other.waiting, count: other.waiting.count)
    kept?.lead = lead
    receive(other.input.takeAll())
  }

  /// The number of bytes held: unsent ones, and sent ones that may have to be sent again.
  public var heldSize: Int { heldBytes + channelBytes }

  /// Frees unused memory. For a link without a connection.
  public func trim() {
    output.trim()
    waiting.trim()
  }

  /// Handles an ack: all bytes below this number have arrived. It may be a repeated, older one.
  func drop(upTo number: UInt64) throws(SegueError) {
    guard let first = kept?.first, let number = Int64(exactly: number), number <= first + Int64(sent) else {
      throw SegueError(.malformed, "link: bytes came that were not sent")
    }
    guard number > first else { return }
    let count = Int(number - first)
    output.removeFirst(count)
    sent -= count
    kept?.first = number
  }
}
