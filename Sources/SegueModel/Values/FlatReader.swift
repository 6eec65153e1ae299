/// Reads the items of a value in the order in which they stand: behind a container those that are in it, then those
/// behind it. Its user counts them; there must be one for each call of `next`.
public struct FlatReader: Sendable {
  private let bytes: [UInt8]
  /// Of the next item.
  private var offset = 0
  /// Where the bytes of the last string, data, URL or UUID begin.
  private var content = 0

  public init(_ value: Value) { bytes = value.encoding }

  /// The next item; its depth is not counted.
  @inline(__always)
  public mutating func next() -> ValueReader.Item {
    let (item, size) = bytes.withEncoding { ValueReader.Item.read($0 + offset, depth: 0) }
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
    for _ in 0..<count { offset = bytes.withEncoding { Head.skip($0, from: offset) } }
  }

  /// The string that was read last.
  public var string: String {
    bytes.withEncoding { base in
      String(decoding: UnsafeRawBufferPointer(start: base + content, count: offset &- content), as: UTF8.self)
    }
  }

  /// The UUID that was read last.
  public var uuid: Identifier {
    bytes.withEncoding { Identifier(trusted: $0 + content) }
  }
}
