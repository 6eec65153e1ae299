import SegueModel

/// Bytes in their order: in at the end, out at the front, moved in bulk and seldom.
struct ByteQueue {
  /// A buffer of more was for a burst: it is not kept.
  private static let keptCapacity = 192 * 1024

  /// What is in the queue stands from `start` to `end`; the rest is room.
  private var bytes: [UInt8] = []
  private var start = 0
  private var end = 0

  var count: Int { end - start }
  var isEmpty: Bool { start == end }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    makeRoom(for: more.count)
    write(more)
  }

  /// A head of 8 bytes, big-endian, and what follows it.
  mutating func append(_ head: UInt64, _ more: UnsafeRawBufferPointer) {
    makeRoom(for: Frame.headSize + more.count)
    withUnsafeBytes(of: head.bigEndian) { write($0) }
    write(more)
  }

  @inline(__always)
  private mutating func makeRoom(for more: Int) { if bytes.count - end < more { grow(more) } }

  private mutating func grow(_ more: Int) {
    // Moved to the front only if that is the smaller part, so that no byte is moved often.
    if 2 * (count + more) <= bytes.count { return moveToFront() }
    let room = max(count + more, 2 * count)
    bytes = withBytes(0..<count) { [UInt8]($0, room: room) }
    end = count
    start = 0
  }

  private mutating func moveToFront() {
    bytes.withUnsafeMutableBytes { all in
      all.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[start..<end]))
    }
    end = count
    start = 0
  }

  /// There is room.
  @inline(__always)
  private mutating func write(_ more: UnsafeRawBufferPointer) {
    guard let source = more.baseAddress else { return }
    bytes.withUnsafeMutableBytes { all in
      all.baseAddress.map { ($0 + end).copyMemory(from: source, byteCount: more.count) }
    }
    end += more.count
  }

  /// The same; nothing is copied if there is nothing.
  mutating func append(_ more: consuming [UInt8]) {
    guard isEmpty else { return more.withUnsafeBytes { append($0) } }
    bytes = more
    start = 0
    end = bytes.count
  }

  /// The first of another queue.
  mutating func append(_ other: ByteQueue, count: Int) { other.withBytes(0..<count) { append($0) } }

  mutating func removeFirst(_ count: Int) {
    start += count
    if start == end { return removeAll() }
    if start >= Self.keptCapacity, start * 2 >= end { moveToFront() }
  }

  mutating func removeAll() {
    if bytes.count > Self.keptCapacity { bytes = [] }
    start = 0
    end = 0
  }

  /// - Parameter range: counted from the first that is there.
  func withBytes<Result, Failure: Error>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { (all) throws(Failure) in
      let part = all[start + range.lowerBound..<start + range.upperBound]
      return try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: part)))
    }
  }

  /// The number that `Number.bitWidth / 8` bytes make up.
  func bigEndian<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
    withBytes(offset..<offset + Number.bitWidth / 8) { $0.loadUnaligned(as: Number.self).bigEndian }
  }
}
