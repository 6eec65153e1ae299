// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Splits a stream of bytes into frames. It checks each head before it waits for the body. It passes the bytes of a
/// channel on as they arrive, each part like a frame. So it holds at most one message.
struct FrameReader {
  private var bytes: [UInt8] = []
  /// The start of the unread bytes.
  private var start = 0
  /// The body of the last frame: it is before `start` until it is dropped.
  private var last = 0
  /// The current frame with bytes of a channel, and the number of its missing bytes.
  private var kind = Frame.Kind.data
  private var channel: UInt32 = 0
  private var left = 0
  /// The offset of the next of these bytes, if the channel leads through a relay.
  private var nextOffset: UInt64 = 0
  /// The offset of the last part.
  private(set) var offset: UInt64 = 0
  /// The descriptor that came with the bytes appended last, that of the incomplete message, and that of the last
  /// message.
  private var arrived: PassedDescriptor?
  private var begun: PassedDescriptor?
  private var lastDescriptor: PassedDescriptor?

  /// The number of unread bytes.
  var count: Int { bytes.count - start }

  /// The best size of the next read: to the end of the current data frame, and of the next if little is missing, with
  /// the head after it, so that one read gets the next frame whole.
  var readSize: Int { left + Frame.headSize + (left < Self.smallRest ? Frame.size : 0) }
  private static let smallRest = 4 * 1024

  /// Copies nothing if all earlier bytes have been read.
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

  /// All unread bytes.
  mutating func takeAll() -> [UInt8] {
    drop()
    last = count
    start = bytes.count
    return takeBody().withUnsafeBytes { [UInt8]($0) }
  }

  /// Returns the next frame, or the next part of a data frame, and drops the last one. Nil if more bytes are needed.
  mutating func next() throws(SegueError) -> Frame.Head? {
    drop()
    if left == 0 {
      try beginMessage()
      guard let head = try head() else { return try wait() }
      let headSize = head.kind == .relayed ? Frame.headSize + RelayFrame.headSize : Frame.headSize
      guard head.kind == .data || head.kind == .relayed else {
        guard count - Frame.headSize >= head.length else { return try wait() }
        start += Frame.headSize + head.length
        last = head.length
        (lastDescriptor, begun) = (begun, nil)
        return head
      }
      guard count >= headSize else { return try wait() }
      start += headSize
      (kind, channel) = (head.kind, head.channel)
      left = Frame.headSize + head.length - headSize
      if kind == .relayed { nextOffset = number(before: start) }
    }
    last = min(left, count)
    guard last > 0 else {
      drop()
      return try wait()
    }
    start += last
    left -= last
    offset = nextOffset
    nextOffset &+= UInt64(last)
    return Frame.Head(kind: kind, length: last, channel: channel)
  }

  /// A message with a descriptor has it as soon as its first byte has arrived.
  private mutating func beginMessage() throws(SegueError) {
    guard begun == nil, count > 0, bytes[start] == Frame.Kind.transfer.rawValue else { return }
    guard arrived != nil else { throw SegueError(.malformed, "link: no descriptor came with a message") }
    (begun, arrived) = (arrived, nil)
  }

  /// Waits for more bytes. A descriptor must belong to a message that has begun.
  private func wait() throws(SegueError) -> Frame.Head? {
    guard arrived == nil else { throw SegueError(.malformed, "link: a descriptor came with no message") }
    return nil
  }

  /// Takes the descriptor of the last message, once.
  mutating func takeDescriptor() -> PassedDescriptor? {
    defer { lastDescriptor = nil }
    return lastDescriptor
  }

  /// The body of the last frame; empty if it was dropped.
  func withBody<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { (all) throws(Failure) in
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[start - last..<start])))
    }
  }

  /// Takes the same with its memory, and drops the frame.
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

  /// The 8 bytes before a place, which have arrived.
  private func number(before end: Int) -> UInt64 {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: end - Frame.headSize, as: UInt64.self).bigEndian }
  }

  private func head() throws(SegueError) -> Frame.Head? {
    guard count >= Frame.headSize else { return nil }
    let word = number(before: start + Frame.headSize)
    guard let kind = Frame.Kind(rawValue: UInt8(truncatingIfNeeded: word >> 56)) else {
      throw SegueError(.malformed, "link: no frame has kind \(word >> 56)")
    }
    let length = Int(truncatingIfNeeded: word >> 32 & 0xff_ffff)
    let channel = UInt32(truncatingIfNeeded: word)
    // The highest bit says which of the two has the relay's role; none of its channels is 0.
    let isRelayed = channel & 0x7fff_ffff != 0
    let isGood =
      switch kind {
      case .message, .transfer: length <= Frame.messageLimit && channel == 0
      case .data: length <= Frame.dataLimit && length > 0
      case .end: length == 8
      case .reset: length == 0
      case .credit: length == 4
      case .ack: length == 8 && channel == 0
      case .relayed: RelayFrame.headSize + 1...RelayFrame.headSize + RelayFrame.dataLimit ~= length && isRelayed
      case .relayedCredit: length == 2 * RelayFrame.headSize && isRelayed
      case .relayedEnd: length == 1 && isRelayed
      }
    guard isGood else {
      throw SegueError(.malformed, "link: a frame of kind \(kind.rawValue) with \(length) bytes on channel \(channel)")
    }
    return Frame.Head(kind: kind, length: length, channel: channel)
  }
}
