import SegueModel

/// A link that outlives its connection (R7.4): what went is kept until the peer has said that it came.
extension Link {
  /// Bytes after which the peer is told that they came, if no credit did: that comes sooner where much comes.
  static let ackSize: UInt64 = 256 * 1024
  /// Bytes that may be kept while bytes of channels go out: more wait until the peer has said that some came.
  private static let keptLimit = 512 * 1024

  /// Numbers of bytes are counted from the call of `keep`.
  struct Kept {
    /// The number of the first byte of `output`; what went before `keep` has negative ones.
    var first: Int64
    var received: UInt64
    var acknowledged: UInt64 = 0
    /// What is still to go first on a new connection, and does not count.
    var lead = ByteQueue()
  }

  /// Tells the peer how many bytes have come, if that are so many more than it knows.
  func acknowledge(atLeast size: UInt64 = 1) {
    guard let received = kept?.received, let acknowledged = kept?.acknowledged, received - acknowledged >= size else {
      return
    }
    kept?.acknowledged = received
    Frame.append(.ack, channel: 0, received, to: &output)
  }

  var mayFill: Bool { kept == nil || sent < Link.keptLimit }

  /// From the next byte on, what goes out is kept and what comes is counted. Both sides call it between the same two frames
  /// of each direction.
  public func keep() {
    // Nothing that is urgent overtakes what does not count.
    output.append(waiting, count: waiting.count)
    waiting.removeAll()
    kept = Kept(first: Int64(-output.count), received: UInt64(input.count))
  }

  /// Bytes that have come since `keep`.
  public var received: UInt64 { kept?.received ?? 0 }

  /// Throws MALFORMED if it cannot go on behind the byte with this number.
  public func checkResumable(peerReceived: UInt64) throws(SegueError) {
    guard let first = kept?.first, Int64(clamping: peerReceived) >= first else {
      throw SegueError(.malformed, "link: bytes are asked for that were said to have come")
    }
    guard Int64(clamping: peerReceived) <= first + Int64(sent) else {
      throw SegueError(.malformed, "link: bytes came that were not sent")
    }
  }

  /// Goes on over the connection of another link, which has done no more than to find out how far the peer has come.
  /// Throws MALFORMED if that cannot be.
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

  /// Bytes that it holds: those to go out, and those that went and may have to go again.
  public var heldSize: Int { heldBytes + channelBytes }

  /// Gives back memory that it does not need for what it holds. For a link without a connection.
  public func trim() {
    output.trim()
    waiting.trim()
  }

  /// All bytes below this number have come. It may be old news, sent again.
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
