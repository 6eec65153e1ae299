// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The contents of a value.
extension Value {
  public var kind: Kind { first.kind ?? .null }

  /// Elements (array, set), entries (dictionary) or bytes (string, data, URL); nil for other kinds.
  public var count: Int? {
    let item = first
    switch item.kind {
    case .array, .set, .dictionary, .string, .data, .url: return item.count
    default: return nil
    }
  }

  public var bool: Bool? { item(.bool)?.bool }

  /// The integer, if it fits.
  public var int64: Int64? {
    guard let item = item(.integer), item.isNegative || item.bits <= UInt64(Int64.max) else { return nil }
    return item.int64
  }

  /// The integer, if it is not negative.
  public var uint64: UInt64? {
    guard let item = item(.integer), !item.isNegative else { return nil }
    return item.uint64
  }

  public var double: Double? { item(.double)?.double }

  /// Seconds since 1970-01-01T00:00:00Z.
  public var date: Double? { item(.date)?.double }

  public var string: String? { content(.string) { Text.decoded($0) } }
  public var data: [UInt8]? { content(.data) { Array($0) } }
  public var url: String? { content(.url) { Text.decoded($0) } }
  public var uuid: Identifier? { content(.uuid) { Identifier(bytes: $0) } ?? nil }

  /// The elements of an array, or of a set in bytewise order.
  public var elements: [Value]? {
    var reader = ValueReader(self)
    guard let item = reader.next(), item.kind == .array || item.kind == .set else { return nil }
    return Self.items(&reader, item.count)
  }

  /// The entries of a dictionary in bytewise order of their keys.
  public var entries: [(key: Value, value: Value)]? {
    var reader = ValueReader(self)
    guard let item = reader.next(), item.kind == .dictionary else { return nil }
    var result: [(key: Value, value: Value)] = []
    result.reserveCapacity(item.count)
    while reader.next()?.kind != nil, let key = reader.take(), reader.next() != nil, let value = reader.take() {
      result.append((key, value))
    }
    return result
  }

  /// The bytes of the entry of a dictionary with this key; 0 if there is none.
  public func size(ofEntry key: Value) -> Int { rangeOfEntry(key)?.count ?? 0 }

  /// The entry of a dictionary with this key; nil also if the value is not a dictionary.
  public subscript(_ key: Value) -> Value? { rangeOfEntry(key).map { part($0) } }

  /// The entry of a dictionary with this string as its key; nil also if the value is not a dictionary.
  public subscript(_ key: String) -> Value? {
    Text.withBytes(key) { self[utf8: $0] }
  }

  /// The same for the bytes of a string.
  public subscript(utf8 key: UnsafeRawBufferPointer) -> Value? { rangeOfEntry(utf8: key).map { part($0) } }

  /// A reader at the entry of a dictionary with this string as its key; nil also if the value is not a dictionary.
  public func reader(atEntry key: UnsafeRawBufferPointer) -> ValueReader? {
    rangeOfEntry(utf8: key).map { ValueReader(self, at: $0.lowerBound) }
  }

  /// The depth of nested containers: 0 if the value is not a container.
  public var depth: Int {
    var reader = ValueReader(self)
    var deepest = 0
    while let item = reader.next() {
      if let kind = item.kind, kind.isContainer { deepest = max(deepest, item.depth + 1) }
    }
    return deepest
  }

  // MARK: - Parts

  private var first: ValueReader.Item { encoding.withEncoding { ValueReader.Item.read($0, depth: 0).item } }

  private func item(_ kind: Kind) -> ValueReader.Item? {
    let item = first
    return item.kind == kind ? item : nil
  }

  private func content<Result>(_ kind: Kind, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    var reader = ValueReader(self)
    return reader.next()?.kind == kind ? reader.withContent(body) : nil
  }

  private func part(_ range: Range<Int>) -> Value {
    // At once: a slice of an array is copied byte by byte.
    Value(trusted: encoding.withUnsafeBytes { Array($0.part(range.lowerBound, range.upperBound)) })
  }

  private static func items(_ reader: inout ValueReader, _ count: Int) -> [Value] {
    var result: [Value] = []
    result.reserveCapacity(count)
    while reader.next()?.kind != nil, let value = reader.take() { result.append(value) }
    return result
  }

  private func rangeOfEntry(_ key: Value) -> Range<Int>? {
    key.encoding.withEncoding { wanted in
      rangeOfEntry { ByteOrder.compare($0, $1, wanted, key.encoding.count) }
    }
  }

  /// - Parameter start: offset of the dictionary in the encoding.
  func rangeOfEntry(utf8 key: UnsafeRawBufferPointer, of start: Int = 0) -> Range<Int>? {
    rangeOfEntry(of: start) { pointer, _ in
      // Heads of one size order like their arguments, and shorter heads have smaller ones.
      let head = Head(trusted: pointer)
      if head.major != Head.Major.text { return Int(head.major) - Int(Head.Major.text) }
      guard head.count == key.count, let wanted = key.baseAddress else { return head.count - key.count }
      return ByteOrder.compare(pointer + head.size, head.count, wanted, key.count)
    }
  }

  /// The bytes of the value whose key compares as 0: `compare` gets the bytes of each key, in ascending order.
  @inline(__always)
  private func rangeOfEntry(of start: Int = 0, _ compare: (UnsafeRawPointer, Int) -> Int) -> Range<Int>? {
    encoding.withEncoding { base in
      let head = Head(trusted: base + start)
      guard head.major == Head.Major.map else { return nil }
      var offset = start + head.size
      for _ in 0..<head.count {
        let keyEnd = Head.skip(base, from: offset)
        let order = compare(base + offset, keyEnd - offset)
        if order > 0 { return nil }
        offset = Head.skip(base, from: keyEnd)
        if order == 0 { return keyEnd..<offset }
      }
      return nil
    }
  }
}
