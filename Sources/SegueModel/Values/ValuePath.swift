// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Finds a nested value by a path, such as "tasks/0/text": keys of dictionaries, and indices of arrays and sets,
/// separated by slashes. In a key "~1" means a slash, and "~0" a tilde (RFC 6901 §3). Keys that are not strings have no
/// path.
extension Value {
  private static let slash = UInt8(ascii: "/")
  private static let tilde = UInt8(ascii: "~")

  /// Creates a reader at the part of the value that a path names; the empty path names the whole value. Throws
  /// NOT_FOUND if there is no such part, WRONG_KIND if it would be inside a value without parts, INVALID_ARGUMENT for
  /// an invalid path.
  public func reader(atPath path: UnsafeRawBufferPointer) throws(SegueError) -> ValueReader {
    var offset = 0
    var start = 0
    while start <= path.count, path.count > 0 {
      let end = path[start...].firstIndex(of: Self.slash) ?? path.count
      let key = UnsafeRawBufferPointer(rebasing: path[start..<end])
      guard let next = try offsetOfPart(key, of: offset) else {
        throw try Self.error(.notFound, "there is no", UnsafeRawBufferPointer(rebasing: path[..<end]))
      }
      guard next > 0 else {
        throw try Self.error(.wrongKind, "no dictionary, array or set is", Self.parent(of: start, in: path))
      }
      offset = next
      start = end + 1
    }
    return ValueReader(self, at: offset)
  }

  /// Creates a reader at an element of an array or set; nil if the value is neither, or has fewer elements.
  public func reader(atElement index: Int) -> ValueReader? {
    offsetOfElement(index, of: 0).map { ValueReader(self, at: $0) }
  }

  /// Nil if there is none; 0 if the value at `offset` has no parts.
  private func offsetOfPart(_ key: UnsafeRawBufferPointer, of offset: Int) throws(SegueError) -> Int? {
    switch kind(at: offset) {
    case .dictionary:
      guard key.contains(Self.tilde) else { return rangeOfEntry(utf8: key, of: offset)?.lowerBound }
      let plain = try Self.unescaped(key)
      return plain.withUnsafeBytes { rangeOfEntry(utf8: $0, of: offset)?.lowerBound }
    case .array, .set: return Self.index(key).flatMap { offsetOfElement($0, of: offset) }
    default: return 0
    }
  }

  private func kind(at offset: Int) -> Kind? {
    encoding.withEncoding { ValueReader.Item.read($0 + offset, depth: 0).item.kind }
  }

  private func offsetOfElement(_ index: Int, of offset: Int) -> Int? {
    encoding.withEncoding { base in
      let (item, size) = ValueReader.Item.read(base + offset, depth: 0)
      guard item.kind == .array || item.kind == .set, index >= 0, index < item.count else { return nil }
      var element = offset + size
      for _ in 0..<index { element = Head.skip(base, from: element) }
      return element
    }
  }

  /// Decimal digits without leading zeros (RFC 6901 §4).
  private static func index(_ digits: UnsafeRawBufferPointer) -> Int? {
    guard let first = digits.first, digits.count == 1 || first != UInt8(ascii: "0") else { return nil }
    var index = 0
    for byte in digits {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      let (tens, isTooLarge) = index.multipliedReportingOverflow(by: 10)
      let (sum, isOver) = tens.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
      if isTooLarge || isOver { return nil }
      index = sum
    }
    return index
  }

  private static func unescaped(_ key: UnsafeRawBufferPointer) throws(SegueError) -> [UInt8] {
    var plain: [UInt8] = []
    plain.reserveCapacity(key.count)
    var isEscape = false
    for byte in key {
      switch (isEscape, byte) {
      case (false, tilde): isEscape = true
      case (false, _): plain.append(byte)
      case (true, UInt8(ascii: "0")), (true, UInt8(ascii: "1")):
        plain.append(byte == UInt8(ascii: "0") ? tilde : slash)
        isEscape = false
      default: throw badEscape
      }
    }
    if isEscape { throw badEscape }
    return plain
  }

  private static var badEscape: SegueError {
    SegueError(.invalidArgument, "path: behind ~ there must be 0 (for ~) or 1 (for /)")
  }

  /// The path before the part that begins at `start`, without the slash between.
  private static func parent(of start: Int, in path: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: path[..<max(0, start - 1)])
  }

  private static func error(
    _ status: Status, _ what: StaticString, _ path: UnsafeRawBufferPointer
  ) throws(SegueError) -> SegueError {
    guard let text = String(validating: path, as: UTF8.self) else {
      throw SegueError(.invalidArgument, "path: is not UTF-8")
    }
    return SegueError(status, "path: \(what) \(text.utf8.isEmpty ? "the value itself" : text)")
  }
}
