// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Reads the elements of an array that came from outside, one after the other: bounded, in deterministic CBOR only.
/// Surplus elements are skipped, so that later versions can add some.
public struct Fields {
  private let elements: [Value]
  private var taken = 0
  private let what: StaticString

  /// - Parameter what: names the array in messages.
  /// Throws MALFORMED.
  public init(_ bytes: [UInt8], _ what: StaticString, atMost limit: Int) throws(SegueError) {
    guard bytes.count <= limit else {
      throw SegueError(.malformed, "\(what): \(bytes.count) bytes, at most \(limit) are read")
    }
    guard !bytes.isEmpty, let value = try? Value(cbor: bytes), value.encoding.elementsEqual(bytes) else {
      throw SegueError(.malformed, "\(what): is not one item of deterministic CBOR")
    }
    try self.init(value, what)
  }

  public init(_ value: Value, _ what: StaticString) throws(SegueError) {
    guard value.kind == .array, let elements = value.elements else {
      throw SegueError(.malformed, "\(what): is no array")
    }
    self.elements = elements
    self.what = what
  }

  /// Whether nothing is left that only later versions have.
  public var isAtEnd: Bool { taken >= elements.count }

  private mutating func next(_ name: StaticString) throws(SegueError) -> Value {
    guard taken < elements.count else { throw SegueError(.malformed, "\(what): \(name) is missing") }
    taken += 1
    return elements[taken - 1]
  }

  private func wrong(_ name: StaticString, _ expected: StaticString) -> SegueError {
    SegueError(.malformed, "\(what): \(name) is not \(expected)")
  }

  public mutating func unsigned(
    _ name: StaticString, atMost limit: UInt64 = UInt64(Int64.max)
  ) throws(SegueError) -> UInt64 {
    guard let number = try next(name).uint64, number <= limit else {
      throw wrong(name, "an unsigned number within its bound")
    }
    return number
  }

  /// A number that later versions have added: nil if it is not there.
  public mutating func optionalUnsigned(_ name: StaticString) throws(SegueError) -> UInt64? {
    isAtEnd ? nil : try unsigned(name)
  }

  /// Seconds since 1970, up to the year 9999.
  public mutating func date(_ name: StaticString) throws(SegueError) -> Int64 {
    Int64(try unsigned(name, atMost: UInt64(Instant.lastSecond)))
  }

  public mutating func bool(_ name: StaticString) throws(SegueError) -> Bool {
    guard let bool = try next(name).bool else { throw wrong(name, "a bool") }
    return bool
  }

  public mutating func id(_ name: StaticString) throws(SegueError) -> Identifier {
    guard let id = try next(name).uuid else { throw wrong(name, "an identifier of 16 bytes") }
    return id
  }

  public mutating func data(_ name: StaticString, count: Int) throws(SegueError) -> [UInt8] {
    let data = try data(name, atMost: count)
    guard data.count == count else { throw wrong(name, "data of its length") }
    return data
  }

  public mutating func data(_ name: StaticString, atMost limit: Int) throws(SegueError) -> [UInt8] {
    guard let data = try next(name).data, data.count <= limit else {
      throw wrong(name, "data within its bound")
    }
    return data
  }

  /// Text as a user may have typed it, made fit to be shown.
  public mutating func name(_ name: StaticString) throws(SegueError) -> String {
    DisplayName.clean(try text(name, atMost: 4 * Limits.deviceName))
  }

  /// The same for a name that is not in use yet. Throws INVALID_ARGUMENT if nothing of it can be shown.
  public mutating func newName(_ name: StaticString) throws(SegueError) -> String {
    let text = try text(name, atMost: 4 * Limits.deviceName)
    guard !DisplayName.isBlank(text) else {
      throw SegueError(.invalidArgument, "\(what): \(name) is blank: it has no character that can be seen")
    }
    return DisplayName.clean(text)
  }

  public mutating func text(_ name: StaticString, atMost limit: Int) throws(SegueError) -> String {
    guard let text = try next(name).string, text.utf8.count <= limit else {
      throw wrong(name, "text within its bound")
    }
    return text
  }

  public mutating func list(_ name: StaticString, atMost limit: Int) throws(SegueError) -> [Value] {
    guard let list = try next(name).elements, list.count <= limit else {
      throw wrong(name, "an array within its bound")
    }
    return list
  }
}

extension Instant {
  /// The last second of the year 9999.
  public static let lastSecond: Int64 = 253_402_300_799

  /// Whole seconds since 1970, whatever the clock says.
  public var seconds: Int64 {
    guard date > 0 else { return 0 }
    return date < Double(Self.lastSecond) ? Int64(date) : Self.lastSecond
  }
}

extension ValueWriter {
  /// Writes one array.
  public static func array(_ body: (inout ValueWriter) throws(SegueError) -> Void) throws(SegueError) -> [UInt8] {
    var writer = ValueWriter()
    try writer.putArray(body)
    return try writer.finish().encoding
  }

  public mutating func putArray(_ body: (inout ValueWriter) throws(SegueError) -> Void) throws(SegueError) {
    try begin(.array)
    try body(&self)
    try end()
  }

  public mutating func put(date: Int64) throws(SegueError) { try put(UInt64(max(0, date))) }
}
