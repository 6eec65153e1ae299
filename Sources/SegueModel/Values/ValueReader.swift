// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Reads a value, depth first, without creating a value for each part. The reader is not copyable, so that reading
/// counts no references; `copy` makes a second one.
public struct ValueReader: ~Copyable, Sendable {
  /// One step.
  public struct Item: Sendable {
    /// Nil at the end of the current container.
    public let kind: Kind?
    /// The number of enclosing containers: 0 for the outermost value.
    public let depth: Int
    /// Elements (array, set), entries (dictionary), bytes (string, data, URL); else 0.
    public let count: Int
    /// Whether the item is a negative integer, which is then in `int64`.
    public let isNegative: Bool
    /// The bits of the number: of the bool (0 or 1), the integer, or the double or date.
    public let bits: UInt64

    public var bool: Bool { bits != 0 }
    public var int64: Int64 { Int64(bitPattern: bits) }
    public var uint64: UInt64 { bits }
    public var double: Double { Double(bitPattern: bits) }

    @inline(__always)
    fileprivate init(_ kind: Kind?, _ depth: Int, count: Int = 0, isNegative: Bool = false, bits: UInt64 = 0) {
      self.kind = kind
      self.depth = depth
      self.count = count
      self.isNegative = isNegative
      self.bits = bits
    }
  }

  private let bytes: [UInt8]
  /// The offset of the next item.
  private var offset = 0
  /// The remaining items of the open containers, outermost first.
  private var left = 1
  /// As many as `ValueBounds.deepest`.
  private var outer = InlineArray<66, Int>(repeating: 0)
  private var depth = 0
  /// The kind of the current item: nil before the first item, at an end, and after the last.
  private var kind: Kind?
  /// The offset of that item, and the bytes of a string, data, URL or UUID.
  private var start = 0
  private var content = 0..<0
  /// The place of that content in the encoding; undefined at any other item.
  var contentRange: Range<Int> { content }

  public init(_ value: Value) { bytes = value.encoding }

  /// Creates a reader of the part of a value that starts at `offset`.
  init(_ value: Value, at offset: Int) {
    bytes = value.encoding
    self.offset = offset
  }

  /// Creates another reader at the same position.
  public func copy() -> ValueReader { ValueReader(self) }

  private init(_ other: borrowing ValueReader) {
    bytes = other.bytes
    offset = other.offset
    left = other.left
    outer = other.outer
    depth = other.depth
    kind = other.kind
    start = other.start
    content = other.content
  }

  /// Returns the next item, nil after the last. A dictionary gives key, value, key, value …; the end of a container
  /// follows its last item.
  public mutating func next() -> Item? { nextAtOnce() }

  /// Does the same, inlined into the caller, for the function where a few nanoseconds count.
  @inline(__always)
  public mutating func nextAtOnce() -> Item? {
    if left == 0 {
      kind = nil
      guard depth > 0 else { return nil }
      leaveContainer()
      return Item(nil, depth)
    }
    left &-= 1
    start = offset
    let (item, size) = Item.read(bytes.encodingStart + start, depth: depth)
    offset &+= size
    kind = item.kind
    switch item.kind {
    case .string, .data, .url: enterContent(item.count)
    case .uuid: enterContent(Identifier.size)
    case .array, .set: enterContainer(item.count)
    case .dictionary: enterContainer(2 &* item.count)
    default: break
    }
    return item
  }

  @inline(__always)
  private mutating func enterContent(_ count: Int) {
    content = Range(uncheckedBounds: (offset, offset &+ count))
    offset &+= count
  }

  @inline(__always)
  private mutating func enterContainer(_ count: Int) {
    // Invariant: no value is deeper than `ValueBounds.deepest`.
    outer[depth] = left
    depth &+= 1
    left = count
  }

  private mutating func leaveContainer() {
    depth &-= 1
    left = outer[depth]
  }

  /// The bytes of the current string, data, URL or UUID; nil at any other item.
  @inline(__always)
  public func withContent<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    switch kind {
    case .string, .data, .url, .uuid:
      bytes.withEncoding { body(UnsafeRawBufferPointer(start: $0 + content.lowerBound, count: content.count)) }
    default: nil
    }
  }

  /// Copies the bytes of the current string, data, URL or UUID; the buffer is large enough.
  @inline(__always)
  public func copyContent(to out: UnsafeMutableRawPointer) {
    out.copyMemory(
      from: bytes.encodingStart + content.lowerBound, byteCount: content.upperBound &- content.lowerBound)
  }

  /// The number of bytes of the current string, data or URL; nil at any other item.
  public var contentCount: Int? {
    @inline(__always) get { kind == .string || kind == .data || kind == .url ? content.count : nil }
  }

  /// The current string or URL; nil at any other item.
  public var string: String? {
    kind == .string || kind == .url ? withContent { Text.decoded($0) } : nil
  }

  /// The current data; nil at any other item.
  public var data: [UInt8]? { kind == .data ? withContent { Array($0) } : nil }

  /// The current UUID; nil at any other item.
  public var uuid: Identifier? { kind == .uuid ? withContent { Identifier(bytes: $0) } ?? nil : nil }

  /// At least the bytes of the encoding of the item at which it stands. Exact if memory for them may be short.
  public var itemSizeAtMost: Int {
    guard bytes.count >= Memory.largeSize, kind != nil else { return bytes.count }
    return bytes.withEncoding { Head.skip($0, from: start) } - start
  }

  /// The current item as a value of its own; if it is a container, the reader moves to its end. Nil before the first
  /// item, and at an end.
  public mutating func take() -> Value? {
    guard let kind else { return nil }
    let end = bytes.withEncoding { Head.skip($0, from: start) }
    if kind.isContainer {
      offset = end
      leaveContainer()
      self.kind = nil
    }
    return Value(trusted: Array(bytes[start..<end]))
  }
}

extension ValueReader.Item {
  /// The item at `pointer` in a value, and the bytes of its heads.
  @inline(__always)
  static func read(_ pointer: UnsafeRawPointer, depth: Int) -> (item: Self, size: Int) {
    let head = Head(trusted: pointer)
    switch head.major {
    case Head.Major.unsigned: return (Self(.integer, depth, bits: head.argument), head.size)
    case Head.Major.negative:
      // Argument n means the number -1 - n, which is ~n (RFC 8949 §3.1).
      return (Self(.integer, depth, isNegative: true, bits: ~head.argument), head.size)
    case Head.Major.data: return (Self(.data, depth, count: head.count), head.size)
    case Head.Major.text: return (Self(.string, depth, count: head.count), head.size)
    case Head.Major.array: return (Self(.array, depth, count: head.count), head.size)
    case Head.Major.map: return (Self(.dictionary, depth, count: head.count), head.size)
    case Head.Major.tag: return tagged(head, Head(trusted: pointer + head.size), depth)
    default:
      switch head.initial {
      case Head.Simple.no: return (Self(.bool, depth), head.size)
      case Head.Simple.yes: return (Self(.bool, depth, bits: 1), head.size)
      case Head.Simple.null: return (Self(.null, depth), head.size)
      default: return (Self(.double, depth, bits: FloatForm.number(head).bitPattern), head.size)
      }
    }
  }

  private static func tagged(_ tag: Head, _ head: Head, _ depth: Int) -> (item: Self, size: Int) {
    let size = tag.size &+ head.size
    switch tag.argument {
    case Head.Tag.date: return (Self(.date, depth, bits: FloatForm.seconds(head).bitPattern), size)
    case Head.Tag.url: return (Self(.url, depth, count: head.count), size)
    case Head.Tag.uuid: return (Self(.uuid, depth), size)
    default: return (Self(.set, depth, count: head.count), size)
    }
  }
}
