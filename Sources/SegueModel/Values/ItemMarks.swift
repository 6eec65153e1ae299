// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The offsets of the items of open dictionaries and sets, those of the innermost one last. 32 bits are enough for
/// `ValueBounds`.
struct ItemMarks: Sendable {
  /// The initial capacity.
  private static let leastRoom = 32

  /// The offsets, followed by free entries: to take one out of an array costs more than to count.
  private var offsets: [UInt32] = []
  private(set) var count = 0

  var isFull: Bool { count == offsets.count }
  var last: Int? { count > 0 ? Int(offsets[count - 1]) : nil }

  /// Adds an offset. Called only if it is not full.
  @inline(__always)
  mutating func append(_ offset: Int) {
    offsets[count] = UInt32(truncatingIfNeeded: offset)
    count &+= 1
  }

  /// Doubles the capacity. Throws if there is no memory for it.
  @inline(__always)
  mutating func makeRoom() throws(SegueError) {
    let former = offsets
    try Memory.check(8 * former.count)
    offsets = [UInt32](unsafeUninitializedCapacity: max(2 * former.count, Self.leastRoom)) { buffer, count in
      count = buffer.count
      buffer.initialize(repeating: 0)
      for index in former.indices { buffer[index] = former[index] }
    }
  }

  /// Drops the offsets from an index on: their container has ended.
  mutating func drop(from first: Int) { count = first }

  /// Drops all offsets, and the capacity if it is larger than `limit`.
  mutating func reset(keepingAtMost limit: Int) {
    count = 0
    if offsets.count > limit { offsets = [] }
  }

  /// Passes the offsets from an index on.
  @inline(__always)
  func withOffsets<Result>(from first: Int, _ body: (UnsafeBufferPointer<UInt32>) -> Result) -> Result {
    offsets.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[first..<count])) }
  }
}
