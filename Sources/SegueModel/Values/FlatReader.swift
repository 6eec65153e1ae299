/// Reads the items of a value in the order in which they stand: behind a container those that are in it, then those
/// behind it. Its user counts them; there must be one for each call of `next`.
public struct FlatReader {
  /// Of an encoding, which outlives the reader.
  private let base: UnsafeRawPointer
  /// Of the next item.
  private var offset = 0
  /// Where the bytes of the last string, data, URL or UUID begin.
  private var content = 0

  /// Gives a reader of one CBOR item to `body`: in place, if that is a value in its deterministic encoding, else of a
  /// copy. Throws as `Value.init(cbor:)` does.
  public static func read<Result>(
    _ cbor: UnsafeRawBufferPointer, _ body: (FlatReader) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    if let base = cbor.baseAddress, CanonicalScan.accepts(cbor) { return try body(FlatReader(base: base)) }
    return try Value(cbor: cbor).encoding.withUnsafeBufferPointer { (bytes) throws(SegueError) in
      try body(FlatReader(base: UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped)))
    }
  }

  private init(base: UnsafeRawPointer) { self.base = base }

  /// The next item; its depth is not counted.
  @inline(__always)
  public mutating func next() -> ValueReader.Item {
    let (item, size) = ValueReader.Item.read(base + offset, depth: 0)
    content = offset &+ size
    offset = content
    switch item.kind {
    case .string, .data, .url: offset &+= item.count
    case .uuid: offset &+= Identifier.size
    default: break
    }
    return item
  }

  /// Passes over so many items, with what is in them.
  public mutating func skip(_ count: Int) {
    for _ in 0..<count { offset = Head.skip(base, from: offset) }
  }

  /// The string that was read last.
  public var string: String {
    String(decoding: UnsafeRawBufferPointer(start: base + content, count: offset &- content), as: UTF8.self)
  }

  /// The UUID that was read last.
  public var uuid: Identifier { Identifier(trusted: base + content) }
}
