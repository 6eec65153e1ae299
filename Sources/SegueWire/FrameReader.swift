import SegueModel

/// Cuts a stream of bytes into frames. It holds one frame at most, and checks each head before it waits for the body.
struct FrameReader {
  private var bytes = ByteQueue()
  /// Bytes of the frame that was cut off last: it is there until it is dropped.
  private var last = 0

  mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(more) }

  /// The same; nothing is copied if all that came before is read.
  mutating func append(_ more: consuming [UInt8]) { bytes.append(more) }

  /// Cuts the next frame off, and drops the last one. Nil: more bytes are needed.
  mutating func next() throws(SegueError) -> Frame.Head? {
    drop()
    guard let head = try head(), bytes.count - Frame.headSize >= head.length else { return nil }
    last = Frame.headSize + head.length
    return head
  }

  /// The body of the frame that was cut off last; of one that was dropped: nothing.
  func withBody<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withBytes(min(Frame.headSize, last)..<last, body)
  }

  mutating func drop() {
    if last > 0 { bytes.removeFirst(last) }
    last = 0
  }

  private func head() throws(SegueError) -> Frame.Head? {
    guard bytes.count >= Frame.headSize else { return nil }
    let word = bytes.bigEndian(at: 0, as: UInt64.self)
    guard let kind = Frame.Kind(rawValue: UInt8(truncatingIfNeeded: word >> 56)) else {
      throw SegueError(.malformed, "link: no frame has kind \(word >> 56)")
    }
    let length = Int(truncatingIfNeeded: word >> 32 & 0xff_ffff)
    let channel = UInt32(truncatingIfNeeded: word)
    let isGood =
      switch kind {
      case .message: length <= Frame.messageLimit && channel == 0
      case .data: length <= Frame.dataLimit && length > 0
      case .end, .reset: length == 0
      case .credit: length == 4
      case .ack: length == 8 && channel == 0
      }
    guard isGood else {
      throw SegueError(.malformed, "link: a frame of kind \(kind.rawValue) with \(length) bytes on channel \(channel)")
    }
    return Frame.Head(kind: kind, length: length, channel: channel)
  }
}
