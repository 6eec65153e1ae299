import SegueModel

/// Cuts a stream of bytes into frames. It holds one frame at most, and checks each head before it waits for the body.
struct FrameReader {
  private var bytes: [UInt8] = []
  private var start = 0

  mutating func append(_ more: UnsafeRawBufferPointer) {
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: false)
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  /// The same; nothing is copied if all that came before is read.
  mutating func append(_ more: [UInt8]) {
    if start == bytes.count {
      bytes = more
      start = 0
    } else {
      bytes.append(contentsOf: more)
    }
  }

  /// Nil: more bytes are needed.
  mutating func next() throws(SegueError) -> (Frame.Head, [UInt8])? {
    guard let head = try head() else { return nil }
    let bodyStart = start + Frame.headSize
    guard bytes.count - bodyStart >= head.length else {
      compact()
      return nil
    }
    let body = bytes.withUnsafeBytes {
      [UInt8](UnsafeRawBufferPointer(rebasing: $0[bodyStart..<bodyStart + head.length]))
    }
    start = bodyStart + head.length
    if start == bytes.count {
      bytes = []
      start = 0
    }
    return (head, body)
  }

  private func head() throws(SegueError) -> Frame.Head? {
    guard bytes.count - start >= Frame.headSize else { return nil }
    let word = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt64.self).bigEndian }
    guard let kind = Frame.Kind(rawValue: UInt8(truncatingIfNeeded: word >> 56)) else {
      throw SegueError(.malformed, "link: no frame has kind \(bytes[start])")
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

  private mutating func compact() {
    guard start > Frame.messageLimit else { return }
    bytes.removeSubrange(..<start)
    start = 0
  }
}
