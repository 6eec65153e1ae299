// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A queue of bytes: in at the end, out at the front. The memory is a ring, so that bytes move only when it grows.
struct ByteQueue {
  /// Larger memory served a burst and is not kept. A channel whose bytes are kept until acknowledged needs this much:
  /// the frames of a window, other frames, and the frame that is being read.
  private static let keptCapacity = (FramedConnection.window / Frame.dataLimit + 2) * Frame.size

  private var ring: [UInt8] = []
  /// The index of the first byte.
  private var start = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    makeRoom(for: more.count)
    write(more)
  }

  /// Appends a head of 8 bytes, big-endian, and the bytes after it.
  mutating func append(_ head: UInt64, _ more: UnsafeRawBufferPointer) {
    makeRoom(for: Frame.headSize + more.count)
    withUnsafeBytes(of: head.bigEndian) { write($0) }
    write(more)
  }

  /// Appends two numbers of 8 bytes, big-endian, and the bytes after them.
  mutating func append(_ head: UInt64, _ offset: UInt64, _ more: UnsafeRawBufferPointer) {
    makeRoom(for: 2 * Frame.headSize + more.count)
    withUnsafeBytes(of: (head.bigEndian, offset.bigEndian)) { write($0) }
    write(more)
  }

  /// Appends the first bytes of another queue.
  mutating func append(_ other: ByteQueue, count: Int) {
    makeRoom(for: count)
    var offset = 0
    while offset < count {
      offset += other.withBytes(from: offset) {
        let run = UnsafeRawBufferPointer(rebasing: $0.prefix(count - offset))
        write(run)
        return run.count
      }
    }
  }

  /// Lets `body` fill in bytes at the end: at most `limit`, and fewer if that many are not contiguous.
  /// - Parameter body: returns the number of bytes that it filled in.
  /// - Returns: that number.
  mutating func append(atMost limit: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
    makeRoom(for: limit)
    let end = place(of: count)
    let run = (end < start ? start : ring.count) - end
    // Invariant: after a whole frame there is space for another one, or none.
    let room = min(limit, run > limit && run < limit + Frame.size / 2 ? run / 2 : run)
    let filled = ring.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[end..<end + room])) }
    count += filled
    return filled
  }

  /// Overwrites the 8 bytes at `offset`.
  mutating func replace(at offset: Int, with head: UInt64) {
    withUnsafeBytes(of: head.bigEndian) { put($0, at: place(of: offset)) }
  }

  /// The capacity is sufficient.
  @inline(__always)
  private mutating func write(_ more: UnsafeRawBufferPointer) {
    put(more, at: place(of: count))
    count += more.count
  }

  @inline(__always)
  private mutating func put(_ bytes: UnsafeRawBufferPointer, at place: Int) {
    guard let source = bytes.baseAddress else { return }
    let first = min(bytes.count, ring.count - place)
    ring.withUnsafeMutableBytes { ring in
      guard let target = ring.baseAddress else { return }
      (target + place).copyMemory(from: source, byteCount: first)
      if first < bytes.count { target.copyMemory(from: source + first, byteCount: bytes.count - first) }
    }
  }

  mutating func removeFirst(_ count: Int) {
    start = place(of: count)
    self.count -= count
    if isEmpty { removeAll() }
  }

  mutating func removeLast(_ count: Int) { self.count -= count }

  mutating func removeAll() {
    if ring.count > Self.keptCapacity { ring = [] }
    start = 0
    count = 0
  }

  /// Frees unused memory.
  mutating func trim() {
    guard !isEmpty else {
      ring = []
      start = 0
      return
    }
    guard ring.count > count else { return }
    let former = self
    ring = []
    start = 0
    count = 0
    append(former, count: former.count)
  }

  /// Passes the bytes from `offset` to `body`: as many as are contiguous.
  func withBytes<Result>(from offset: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let place = place(of: offset)
    return ring.withUnsafeBytes {
      body(UnsafeRawBufferPointer(rebasing: $0[place..<min(ring.count, place + count - offset)]))
    }
  }

  subscript(offset: Int) -> UInt8 { ring[place(of: offset)] }

  private func place(of offset: Int) -> Int {
    let place = start + offset
    return place < ring.count ? place : place - ring.count
  }

  @inline(__always)
  private mutating func makeRoom(for more: Int) { if ring.count - count < more { grow(more) } }

  private mutating func grow(_ more: Int) {
    let needed = count + more
    // Large capacities are whole frames, so that few frames wrap around the end of the ring.
    let frames = (needed + Frame.size - 1) / Frame.size
    let capacity = needed < Frame.size / 2 ? 2 * needed : frames * Frame.size
    let former = self
    ring = former.withBytes(from: 0) { [UInt8]($0, room: capacity) }
    start = 0
    count = min(former.count, former.ring.count - former.start)
    if count < former.count { former.withBytes(from: count) { write($0) } }
  }
}
