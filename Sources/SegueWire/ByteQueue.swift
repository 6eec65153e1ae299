import SegueModel

/// Bytes in their order: in at the end, out at the front. The memory is used as a ring, so that bytes are moved only when there
/// must be more of it.
struct ByteQueue {
  /// Memory of more was for a burst: it is not kept. A channel needs this much if its bytes are kept until they have come: the
  /// frames of a window, what else there is, and the frame that is being read.
  private static let keptCapacity = (Link.window / Frame.dataLimit + 2) * Frame.size

  private var ring: [UInt8] = []
  /// Where the first byte is.
  private var start = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

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

  /// The first of another queue.
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

  /// Has `body` fill in bytes at the end, so many at most, and fewer if so many do not lie side by side.
  /// - Parameter body: returns how many it filled in.
  /// - Returns: as many.
  mutating func append(atMost limit: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
    makeRoom(for: limit)
    let end = place(of: count)
    let run = (end < start ? start : ring.count) - end
    // Behind a whole frame there is room for another, or none.
    let room = min(limit, run > limit && run < limit + Frame.size / 2 ? run / 2 : run)
    let filled = ring.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[end..<end + room])) }
    count += filled
    return filled
  }

  /// Overwrites the 8 bytes that begin there.
  mutating func replace(at offset: Int, with head: UInt64) {
    withUnsafeBytes(of: head.bigEndian) { put($0, at: place(of: offset)) }
  }

  /// There is room.
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

  /// Gives back the memory that is not used.
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

  /// Gives bytes from that offset on to `body`: as many as lie side by side.
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
    // Much memory is in whole frames, so that few of them go over the end of the ring.
    let frames = (needed + Frame.size - 1) / Frame.size
    let capacity = needed < Frame.size / 2 ? 2 * needed : frames * Frame.size
    let former = self
    ring = former.withBytes(from: 0) { [UInt8]($0, room: capacity) }
    start = 0
    count = min(former.count, former.ring.count - former.start)
    if count < former.count { former.withBytes(from: count) { write($0) } }
  }
}
