// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Writes one value: put an item, or begin a container, put its items (a dictionary takes key, value, key, value …,
/// with the keys in any order) and end it; then finish. A failing call leaves the writer unchanged, except `end`, whose
/// error all later calls throw until `reset`; `fail` makes any error sticky in this way.
public struct ValueWriter: Sendable {
  /// An open container.
  private struct Container {
    let kind: Kind
    /// Offsets of its array or map head (one byte until `end`) and of the first item after it.
    let head: Int
    var content: Int { head &+ 1 }
    /// Index in `marks` of its first item.
    let firstMark: Int
    /// Items put so far; keys and values count separately.
    var count = 0
  }

  /// The number of bytes written so far; the rest of `bytes` is free.
  private var bytes: [UInt8] = []
  private var used = 0
  /// The innermost open container, and the enclosing ones, outermost first, followed by free entries: to take an entry
  /// out of an array costs more than to count.
  private var innermost: Container?
  private var outer: [Container] = []
  private var usedOuter = 0
  /// Offsets of the items of open dictionaries and sets.
  private var marks = ItemMarks()
  /// The sticky error, which all calls throw.
  private var failure: SegueError?
  /// The number of the entry or element of the innermost container that is there twice, once `end` has failed for it.
  private(set) var duplicate: Int?
  private let bounds: ValueBounds

  /// Bytes of capacity that are kept for the next value.
  private static let keptRoom = 64 * 1024

  public init(_ bounds: ValueBounds = .value) { self.bounds = bounds }

  /// Bytes that were written so far.
  public var count: Int { used }

  /// The number of open containers.
  public var depth: Int { innermost == nil ? 0 : usedOuter &+ 1 }

  public mutating func putNull() throws(SegueError) { try put(simple: Head.Simple.null) }

  public mutating func put(_ bool: Bool) throws(SegueError) {
    try put(simple: bool ? Head.Simple.yes : Head.Simple.no)
  }

  public mutating func put(_ integer: Int64) throws(SegueError) {
    try prepare(Head.longest)
    write { Head.write(integer: integer, to: $0) }
  }

  public mutating func put(_ unsigned: UInt64) throws(SegueError) {
    try prepare(Head.longest)
    write { Head.write(Head.Major.unsigned, unsigned, to: $0) }
  }

  public mutating func put(_ double: Double) throws(SegueError) {
    try prepare(Head.longest)
    write { FloatForm.write(double, to: $0) }
  }

  /// Seconds since 1970-01-01T00:00:00Z; INVALID_ARGUMENT unless finite.
  public mutating func putDate(_ seconds: Double) throws(SegueError) {
    guard seconds.isFinite else { throw SegueError(.invalidArgument, "a date is not a finite number of seconds") }
    try prepare(1 + Head.longest)
    write { pointer in
      Head.write(Head.Major.tag, Head.Tag.date, to: pointer)
      guard seconds.magnitude <= FloatForm.exactInteger, let integer = Int64(exactly: seconds) else {
        return 1 + FloatForm.write(seconds, to: pointer + 1)
      }
      return 1 + Head.write(integer: integer, to: pointer + 1)
    }
  }

  public mutating func put(_ string: String) throws(SegueError) {
    try prepare(content: Text.size(string))
    Text.withBytes(string) { write(Head.Major.text, $0) }
  }

  /// INVALID_ARGUMENT unless it is UTF-8.
  public mutating func put(utf8: UnsafeRawBufferPointer) throws(SegueError) {
    guard UTF8Text.isValid(utf8) else { throw SegueError(.invalidArgument, "a string is not UTF-8") }
    try put(validUTF8: utf8)
  }

  /// For callers that have checked.
  mutating func put(validUTF8: UnsafeRawBufferPointer) throws(SegueError) {
    try prepare(content: validUTF8.count)
    write(Head.Major.text, validUTF8)
  }

  /// Reserves capacity for a value of about `count` bytes, if there is memory for it.
  mutating func reserve(_ count: Int) {
    if Memory.isThere(count) { try? makeRoom(count) }
    outer.reserveCapacity(8)
    try? makeMarkRoom()
  }

  public mutating func put(data: UnsafeRawBufferPointer) throws(SegueError) {
    try prepare(content: data.count)
    write(Head.Major.data, data)
  }

  public mutating func put(data: [UInt8]) throws(SegueError) {
    try prepare(content: data.count)
    data.withUnsafeBytes { write(Head.Major.data, $0) }
  }

  /// INVALID_URL unless it is an absolute URL (RFC 3986).
  public mutating func put(url: UnsafeRawBufferPointer) throws(SegueError) {
    guard AbsoluteURL.schemeCount(url) != nil else { throw SegueError(.invalidURL, "not an absolute URL (RFC 3986)") }
    try prepare(2, content: url.count)
    write { Head.write(Head.Major.tag, Head.Tag.url, to: $0) }
    write(Head.Major.text, url)
  }

  /// For callers that have checked.
  mutating func put(checkedURL url: [UInt8]) throws(SegueError) {
    try prepare(2, content: url.count)
    write { Head.write(Head.Major.tag, Head.Tag.url, to: $0) }
    url.withUnsafeBytes { write(Head.Major.text, $0) }
  }

  public mutating func put(_ url: AbsoluteURL) throws(SegueError) {
    try prepare(2, content: Text.size(url.text))
    write { Head.write(Head.Major.tag, Head.Tag.url, to: $0) }
    Text.withBytes(url.text) { write(Head.Major.text, $0) }
  }

  public mutating func put(_ uuid: Identifier) throws(SegueError) {
    try prepare(3 + Identifier.size)
    write { Head.write(uuid: uuid, to: $0) }
  }

  /// Puts a whole value.
  public mutating func put(_ value: Value) throws(SegueError) {
    // A value of n bytes is at most n deep: most need no check.
    let deepest = bounds.nesting - depth
    if value.encoding.count > deepest, value.depth > deepest { throw Self.tooDeep }
    try prepare(value.encoding.count)
    value.encoding.withUnsafeBytes { write($0) }
  }

  /// Puts an item that is no container, as it is encoded.
  mutating func put(encoded item: UnsafeRawBufferPointer) throws(SegueError) {
    try prepare(item.count)
    write(item)
  }

  /// Puts a reference in place of a URL.
  mutating func put(_ reference: ContainerReference) throws(SegueError) {
    try prepare(reference.start.count, content: reference.rest.count)
    reference.start.withUnsafeBytes { write($0) }
    reference.rest.withUnsafeBytes { write(Head.Major.text, $0) }
  }

  /// Whether the next item is the value of this key in a dictionary that is inside `depth` others.
  func isValue(of key: StaticString, depth: Int) -> Bool {
    guard let innermost, innermost.kind == .dictionary, innermost.count & 1 == 1, usedOuter == depth,
      let start = marks.last
    else { return false }
    return withWritten { bytes in
      let head = Head(trusted: bytes.baseAddress.unsafelyUnwrapped + start)
      guard head.major == Head.Major.text, head.count == key.utf8CodeUnitCount else { return false }
      return bytes[(start + head.size)...].elementsEqual(UnsafeBufferPointer(start: key.utf8Start, count: head.count))
    }
  }

  /// Begins an array, dictionary or set. Throws INVALID_ARGUMENT for other kinds, LIMIT_EXCEEDED if it nests too deep.
  public mutating func begin(_ kind: Kind) throws(SegueError) {
    guard kind.isContainer else {
      throw SegueError(.invalidArgument, "only an array, a dictionary and a set can be begun")
    }
    guard depth < bounds.nesting else { throw Self.tooDeep }
    try prepare(4)
    if kind == .set { write { Head.write(Head.Major.tag, Head.Tag.set, to: $0) } }
    if let innermost {
      if usedOuter == outer.count { outer.append(innermost) } else { outer[usedOuter] = innermost }
      usedOuter &+= 1
    }
    innermost = Container(kind: kind, head: used, firstMark: marks.count)
    // The head is written when the count is known.
    used &+= 1
  }

  /// Ends the innermost container. Throws INVALID_STATE if none is open, or a key has no value; INVALID_ARGUMENT if a
  /// key or an element of a set is a duplicate, LIMIT_EXCEEDED if it is too large: the writer is then unusable.
  public mutating func end() throws(SegueError) {
    try checkUsable()
    guard let container = innermost else { throw SegueError(.invalidState, "no array, dictionary or set is open") }
    var count = container.count
    if container.kind == .dictionary {
      guard count & 1 == 0 else { throw SegueError(.invalidState, "the last key has no value") }
      count /= 2
    }
    if container.kind != .array {
      do throws(SegueError) { try sortItems(of: container, count) } catch { throw fail(error) }
    }
    let headSize = Head.size(of: UInt64(count))
    guard used &+ headSize &- 1 <= bounds.size else { throw fail(Self.tooLarge) }
    try makeRoom(headSize)
    let contentSize = used &- container.content
    let major = container.kind == .dictionary ? Head.Major.map : Head.Major.array
    // A closure would be a function of its own.
    @inline(__always)
    func writeHead(_ buffer: UnsafeMutableRawBufferPointer) {
      guard let base = buffer.baseAddress else { return }
      if headSize > 1 {
        (base + container.head + headSize).copyMemory(from: base + container.content, byteCount: contentSize)
      }
      Head.write(major, UInt64(count), to: base + container.head)
    }
    bytes.withUnsafeMutableBytes(writeHead)
    used &+= headSize &- 1
    marks.drop(from: container.firstMark)
    if usedOuter > 0 {
      usedOuter &-= 1
      innermost = outer[usedOuter]
    } else {
      innermost = nil
    }
  }

  /// Returns the value that was written and empties the writer. Throws INVALID_STATE if nothing was put, or a container
  /// is open.
  public mutating func finish() throws(SegueError) -> Value {
    guard used == bytes.count, used > 0, innermost == nil, failure == nil else {
      let value = try written()
      reset()
      return value
    }
    // The buffer contains only the value, so it is passed on.
    let value = Value(trusted: bytes)
    bytes = []
    reset()
    return value
  }

  /// Returns what `finish` would, but leaves the writer unchanged.
  public func written() throws(SegueError) -> Value {
    try checkUsable()
    guard innermost == nil else { throw SegueError(.invalidState, "a container is still open") }
    guard used > 0 else { throw SegueError(.invalidState, "the writer holds no value") }
    return Value(trusted: withWritten { Array($0) })
  }

  /// Passes the bytes so far: an encoding if no container is open. Leaves the writer unchanged.
  public func withWritten<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<used])) }
  }

  /// Discards what was written.
  public mutating func reset() {
    used = 0
    innermost = nil
    usedOuter = 0
    failure = nil
    duplicate = nil
    // Does not keep the buffers of one large value for small ones.
    if bytes.count > Self.keptRoom { bytes = [] }
    marks.reset(keepingAtMost: Self.keptRoom)
  }

  /// Makes all later calls throw this error, or the earlier one if there is one; returns that error.
  @inline(never)
  public mutating func fail(_ error: SegueError) -> SegueError {
    let first = failure ?? error
    failure = first
    return first
  }

  // MARK: - Bytes

  private static var tooDeep: SegueError {
    SegueError(.limitExceeded, "containers are nested more than \(Limits.nesting) deep")
  }

  private static var tooLarge: SegueError { SegueError(.limitExceeded, "a value is larger than \(Limits.value) bytes") }

  private func checkUsable() throws(SegueError) {
    if let failure { throw failure }
  }

  /// Does the same for bytes with a head, and a tag of `tagSize`.
  @inline(__always)
  private mutating func prepare(_ tagSize: Int = 0, content count: Int) throws(SegueError) {
    guard count <= bounds.size else { throw Self.tooLarge }
    try prepare(tagSize &+ Head.size(of: UInt64(truncatingIfNeeded: count)) &+ count)
  }

  /// Checks that an item of up to `size` bytes may be put here, counts it, and reserves capacity for it. A number may
  /// become shorter than `size`, so it is accepted if there is one byte left: `end` checks again.
  @inline(__always)
  private mutating func prepare(_ size: Int) throws(SegueError) {
    guard used &+ size <= bounds.size || (size <= 1 + Head.longest && used < bounds.size) else { throw Self.tooLarge }
    try checkUsable()
    if let kind = innermost?.kind {
      innermost?.count &+= 1
      if kind != .array { try mark() }
    } else if used > 0 {
      throw SegueError(.invalidState, "the value is complete: call segue_writer_finish")
    }
    try makeRoom(size)
  }

  @inline(__always)
  private mutating func mark() throws(SegueError) {
    if marks.isFull { try makeMarkRoom() }
    marks.append(used)
  }

  @inline(never)
  private mutating func makeMarkRoom() throws(SegueError) {
    do throws(SegueError) { try marks.makeRoom() } catch { throw fail(error) }
  }

  @inline(__always)
  private mutating func makeRoom(_ size: Int) throws(SegueError) {
    if bytes.count &- used < size { try grow(size) }
  }

  /// An item that was begun when there was no memory is not ended: the error stays.
  private mutating func grow(_ size: Int) throws(SegueError) {
    let room = bytes.count + max(bytes.count, size, 256)
    do throws(SegueError) { try Memory.check(room) } catch { throw fail(error) }
    bytes = withWritten { [UInt8]($0, room: room) }
  }

  @inline(__always)
  private mutating func write(_ body: (UnsafeMutableRawPointer) -> Int) {
    let offset = used
    used &+= bytes.withUnsafeMutableBytes { buffer in buffer.baseAddress.map { body($0 + offset) } ?? 0 }
  }

  private mutating func write(_ content: UnsafeRawBufferPointer) {
    guard let base = content.baseAddress, content.count > 0 else { return }
    write { pointer in
      pointer.copyMemory(from: base, byteCount: content.count)
      return content.count
    }
  }

  @inline(__always)
  private mutating func write(_ major: UInt8, _ content: UnsafeRawBufferPointer) {
    write { pointer in
      let size = Head.write(major, UInt64(truncatingIfNeeded: content.count), to: pointer)
      if let base = content.baseAddress { (pointer + size).copyMemory(from: base, byteCount: content.count) }
      return size &+ content.count
    }
  }

  private mutating func put(simple: UInt8) throws(SegueError) {
    try prepare(1)
    write { pointer in
      pointer.storeBytes(of: simple, as: UInt8.self)
      return 1
    }
  }

  // MARK: - Order

  /// Sorts elements or entries in bytewise order (RFC 8949 §4.2.1); throws if two are equal.
  private mutating func sortItems(of container: Container, _ count: Int) throws(SegueError) {
    guard count > 1 else { return }
    let width = container.kind == .dictionary ? 2 : 1
    let end = used
    // The order, and the items in it.
    try Memory.check(end &- container.content, copies: 2)
    try Memory.check(count, copies: 32)
    let twice = bytes.withUnsafeMutableBytes { buffer -> Range<Int>? in
      guard let base = buffer.baseAddress else { return nil }
      return marks.withOffsets(from: container.firstMark) { own in
        EntryOrder.sort(base, marks: own, width: width, end: end)
      }
    }
    guard let twice else { return }
    duplicate = marks.withOffsets(from: container.firstMark) { own in
      own.firstIndex(of: UInt32(truncatingIfNeeded: twice.lowerBound)).map { $0 / width }
    }
    let name = Value(trusted: Array(bytes[twice])).briefDiagnostic
    let what = container.kind == .dictionary ? "the key" : "the element"
    throw SegueError(.invalidArgument, "\(what) \(name) is there twice")
  }
}
