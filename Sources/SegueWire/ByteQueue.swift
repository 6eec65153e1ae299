/// Bytes in their order: in at the end, out at the front, moved in bulk and seldom.
struct ByteQueue {
  /// A buffer of more was for a burst: it is not kept.
  private static let keptCapacity = 192 * 1024

  private var bytes: [UInt8] = []
  private var start = 0

  var count: Int { bytes.count - start }
  var isEmpty: Bool { start == bytes.count }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    if bytes.count + more.count > bytes.capacity { makeRoom(for: more.count) }
    bytes.append(contentsOf: more)
  }

  /// An array that grows by itself is copied byte by byte in Embedded mode.
  private mutating func makeRoom(for more: Int) {
    var larger: [UInt8] = []
    larger.reserveCapacity(max(count + more, 2 * count))
    withBytes(0..<count) { larger.append(contentsOf: $0) }
    bytes = larger
    start = 0
  }

  /// The same; nothing is copied if there is nothing.
  mutating func append(_ more: [UInt8]) {
    guard isEmpty else { return more.withUnsafeBytes { append($0) } }
    bytes = more
    start = 0
  }

  /// The first of another queue.
  mutating func append(_ other: ByteQueue, count: Int) { other.withBytes(0..<count) { append($0) } }

  mutating func removeFirst(_ count: Int) {
    start += count
    if start == bytes.count { return removeAll() }
    guard start >= Self.keptCapacity, start * 2 >= bytes.count else { return }
    let left = self.count
    bytes.withUnsafeMutableBytes { all in
      all.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[start...]))
    }
    bytes.removeSubrange(left...)
    start = 0
  }

  mutating func removeAll() {
    if bytes.capacity <= Self.keptCapacity { bytes.removeAll(keepingCapacity: true) } else { bytes = [] }
    start = 0
  }

  /// - Parameter range: counted from the first that is there.
  func withBytes<Result>(_ range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes {
      body(UnsafeRawBufferPointer(rebasing: $0[start + range.lowerBound..<start + range.upperBound]))
    }
  }

  /// The number that `Number.bitWidth / 8` bytes make up.
  func bigEndian<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
    withBytes(offset..<offset + Number.bitWidth / 8) { $0.loadUnaligned(as: Number.self).bigEndian }
  }
}
