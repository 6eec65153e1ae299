import SegueModel

/// Cuts a stream of bytes into frames. It checks each head before it waits for the body, and waits for that of no data frame:
/// its bytes are given as they come, each part as if it were a frame. So it holds one message at most.
struct FrameReader {
  private var bytes: [UInt8] = []
  /// Where what was not read begins.
  private var start = 0
  /// The body of the frame that was cut off last: it stands before `start` until it is dropped.
  private var last = 0
  /// The data frame that is being read, and how many bytes of it are to come.
  private var channel: UInt32 = 0
  private var left = 0
  /// The descriptor that came with the bytes that were appended last, that of the message that has begun and is not whole, and
  /// that of the message that was cut off last.
  private var arrived: PassedDescriptor?
  private var begun: PassedDescriptor?
  private var lastDescriptor: PassedDescriptor?

  /// Bytes that were not read.
  var count: Int { bytes.count - start }

  /// Bytes that are best read at a time: to the end of the data frame that is being read, also of the next if little is missing,
  /// and the head behind it, so that one read gets the next frame whole.
  var readSize: Int { left + Frame.headSize + (left < Self.smallRest ? Frame.size : 0) }
  private static let smallRest = 4 * 1024

  /// Nothing is copied if all that came before is read.
  mutating func append(_ more: consuming [UInt8], _ descriptor: PassedDescriptor? = nil) {
    drop()
    if let descriptor { arrived = descriptor }
    guard count > 0 else {
      bytes = more
      return
    }
    if start > 0 {
      bytes = bytes[start...].withUnsafeBytes { [UInt8]($0) }
      start = 0
    }
    bytes.append(bytes: more)
  }

  /// All that was not read.
  mutating func takeAll() -> [UInt8] {
    drop()
    last = count
    start = bytes.count
    return takeBody().withUnsafeBytes { [UInt8]($0) }
  }

  /// Cuts the next frame off, or the next part of a data frame, and drops the last one. Nil: more bytes are needed.
  mutating func next() throws(SegueError) -> Frame.Head? {
    drop()
    if left == 0 {
      try beginMessage()
      guard let head = try head() else { return try wait() }
      guard head.kind == .data else {
        guard count - Frame.headSize >= head.length else { return try wait() }
        start += Frame.headSize + head.length
        last = head.length
        (lastDescriptor, begun) = (begun, nil)
        return head
      }
      start += Frame.headSize
      channel = head.channel
      left = head.length
    }
    last = min(left, count)
    guard last > 0 else {
      drop()
      return try wait()
    }
    start += last
    left -= last
    return Frame.Head(kind: .data, length: last, channel: channel)
  }

  /// A message that has a descriptor has it as soon as its first byte is there.
  private mutating func beginMessage() throws(SegueError) {
    guard begun == nil, count > 0, bytes[start] == Frame.Kind.transfer.rawValue else { return }
    guard arrived != nil else { throw SegueError(.malformed, "link: no descriptor came with a message") }
    (begun, arrived) = (arrived, nil)
  }

  /// More bytes are needed. No descriptor waits for a message that has yet to begin.
  private func wait() throws(SegueError) -> Frame.Head? {
    guard arrived == nil else { throw SegueError(.malformed, "link: a descriptor came with no message") }
    return nil
  }

  /// That of the message that was cut off last, once.
  mutating func takeDescriptor() -> PassedDescriptor? {
    defer { lastDescriptor = nil }
    return lastDescriptor
  }

  /// The body of the frame that was cut off last; of one that was dropped: nothing.
  func withBody<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { (all) throws(Failure) in
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[start - last..<start])))
    }
  }

  /// The same; whoever has it keeps the memory, and the frame is dropped.
  mutating func takeBody() -> ArraySlice<UInt8> {
    let body = bytes[start - last..<start]
    drop()
    return body
  }

  mutating func drop() {
    last = 0
    lastDescriptor = nil
    guard start == bytes.count else { return }
    bytes = []
    start = 0
  }

  private func head() throws(SegueError) -> Frame.Head? {
    guard count >= Frame.headSize else { return nil }
    let word = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt64.self).bigEndian }
    guard let kind = Frame.Kind(rawValue: UInt8(truncatingIfNeeded: word >> 56)) else {
      throw SegueError(.malformed, "link: no frame has kind \(word >> 56)")
    }
    let length = Int(truncatingIfNeeded: word >> 32 & 0xff_ffff)
    let channel = UInt32(truncatingIfNeeded: word)
    let isGood =
      switch kind {
      case .message, .transfer: length <= Frame.messageLimit && channel == 0
      case .data: length <= Frame.dataLimit && length > 0
      case .end: length == 8
      case .reset: length == 0
      case .credit: length == 4
      case .ack: length == 8 && channel == 0
      }
    guard isGood else {
      throw SegueError(.malformed, "link: a frame of kind \(kind.rawValue) with \(length) bytes on channel \(channel)")
    }
    return Frame.Head(kind: kind, length: length, channel: channel)
  }
}
