// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An immutable value of `user_info`. It is its deterministic encoding (R1.2): CBOR in the form of RFC 8949 §4.2.1,
/// with the tags 1 date, 32 URL, 37 UUID and 258 set. Two values are equal if and only if those bytes are.
public struct Value: Sendable {
  /// Invariant: never empty, and always what `init(cbor:)` would keep unchanged.
  public let encoding: [UInt8]

  /// Wraps bytes that are known to be a deterministic encoding.
  init(trusted encoding: [UInt8]) { self.encoding = encoding }

  /// Decodes a value from one CBOR item, deterministic or not: lengths, sizes of numbers and order are normalised.
  /// Throws MALFORMED or UNSUPPORTED_VALUE, with the offset in the message; LIMIT_EXCEEDED.
  public init(cbor: UnsafeRawBufferPointer, bounds: ValueBounds = .value) throws(SegueError) {
    try self.init(cbor: cbor, bounds, nil)
  }

  /// - Parameter references: nil if there must be none, as in every value.
  init(
    cbor: UnsafeRawBufferPointer, _ bounds: ValueBounds, _ references: ReferenceReader?
  ) throws(SegueError) {
    if CanonicalScan.accepts(cbor, bounds) {
      encoding = Array(cbor)
    } else if let copy = CanonicalCopy.encoding(of: cbor, bounds) {
      encoding = copy
    } else {
      encoding = try Normaliser.encoding(of: cbor, bounds, references)
    }
  }

  public init(cbor: [UInt8]) throws(SegueError) {
    if cbor.withUnsafeBytes({ CanonicalScan.accepts($0) }) {
      encoding = cbor
    } else if let copy = cbor.withUnsafeBytes({ CanonicalCopy.encoding(of: $0) }) {
      encoding = copy
    } else {
      encoding = try Normaliser.encoding(of: cbor)
    }
  }

  public static let null = Value(trusted: [Head.Simple.null])
  public static let emptyDictionary = Value(trusted: [Head.Major.map << 5])

  public static func bool(_ bool: Bool) -> Value { Value(trusted: [bool ? Head.Simple.yes : Head.Simple.no]) }

  public static func integer(_ integer: Int64) -> Value {
    short { Head.write(integer: integer, to: $0) }
  }

  public static func unsigned(_ integer: UInt64) -> Value {
    short { Head.write(Head.Major.unsigned, integer, to: $0) }
  }

  public static func double(_ double: Double) -> Value {
    short { FloatForm.write(double, to: $0) }
  }

  public static func uuid(_ uuid: Identifier) -> Value {
    short { Head.write(uuid: uuid, to: $0) }
  }

  /// A string that alone is larger than `Limits.value` fits into no container and no message.
  public static func string(_ string: String) -> Value {
    Text.withBytes(string) { long(Head.Major.text, $0) }
  }

  /// The same bound as for a string.
  public static func data(_ data: [UInt8]) -> Value {
    data.withUnsafeBytes { long(Head.Major.data, $0) }
  }

  /// Seconds since 1970-01-01T00:00:00Z; INVALID_ARGUMENT unless finite.
  public static func date(_ seconds: Double) throws(SegueError) -> Value {
    var writer = ValueWriter()
    try writer.putDate(seconds)
    return try writer.finish()
  }

  /// INVALID_URL unless it is an absolute URL (RFC 3986).
  public static func url(_ url: String) throws(SegueError) -> Value {
    guard let url = AbsoluteURL(url) else { throw SegueError(.invalidURL, "not an absolute URL (RFC 3986)") }
    var writer = ValueWriter()
    try writer.put(url)
    return try writer.finish()
  }

  public static func array(_ elements: [Value]) throws(SegueError) -> Value { try container(.array, elements) }

  /// Throws INVALID_ARGUMENT if an element is a duplicate.
  public static func set(_ elements: [Value]) throws(SegueError) -> Value { try container(.set, elements) }

  /// Throws INVALID_ARGUMENT if a key is a duplicate.
  public static func dictionary(_ entries: [(key: Value, value: Value)]) throws(SegueError) -> Value {
    var writer = ValueWriter()
    try writer.begin(.dictionary)
    for entry in entries {
      try writer.put(entry.key)
      try writer.put(entry.value)
    }
    try writer.end()
    return try writer.finish()
  }

  private static func container(_ kind: Kind, _ elements: [Value]) throws(SegueError) -> Value {
    var writer = ValueWriter()
    try writer.begin(kind)
    for element in elements { try writer.put(element) }
    try writer.end()
    return try writer.finish()
  }

  private static func long(_ major: UInt8, _ content: UnsafeRawBufferPointer) -> Value {
    Value(
      trusted: [UInt8](unsafeUninitializedCapacity: Head.longest + content.count) { buffer, count in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        guard let base = bytes.baseAddress else { return }
        count = Head.write(major, UInt64(content.count), to: base)
        UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: content)
        count += content.count
      })
  }

  /// A value of at most 19 bytes, as a UUID is.
  private static func short(_ write: (UnsafeMutableRawPointer) -> Int) -> Value {
    let capacity = 3 + Identifier.size
    return Value(
      trusted: [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
        count = buffer.baseAddress.map { write(UnsafeMutableRawPointer($0)) } ?? 0
      })
  }
}

extension Value: Comparable {
  public static func == (left: Value, right: Value) -> Bool {
    left.encoding.count == right.encoding.count && ByteOrder.compare(left.encoding, right.encoding) == 0
  }

  /// Bytewise order of the encodings: the order of keys and of elements of sets.
  public static func < (left: Value, right: Value) -> Bool { ByteOrder.compare(left.encoding, right.encoding) < 0 }
}

extension [UInt8] {
  /// The start of an encoding, which is never empty. Valid until the array is changed or released.
  @inline(__always)
  var encodingStart: UnsafeRawPointer { withUnsafeBytes { $0.baseAddress.unsafelyUnwrapped } }

  /// Passes the start of an encoding, which is never empty.
  @inline(__always)
  func withEncoding<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result {
    withUnsafeBytes { body($0.baseAddress.unsafelyUnwrapped) }
  }
}
