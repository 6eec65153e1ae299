// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Reads a binary property list (`bplist00`): a header, objects, a table of their offsets, and a trailer of 32 bytes.
/// Size, depth and the number of values are bounded, so that objects which are shared, or contain themselves, cost no
/// more than others.
struct BinaryPropertyListReader {
  private static let header: StaticString = "bplist00"
  private static let trailerSize = 32

  private let bytes: UnsafeRawBufferPointer
  private var bounds = PropertyListBounds()
  /// Bytes of an offset in the table, and of a reference to an object.
  private var offsetSize = 0
  private var referenceSize = 0
  private var objectCount = 0
  private var tableOffset = 0
  /// Bytes of text, of all values.
  private var textSize = 0

  /// The bytes must outlive the reader.
  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Whether the bytes begin as every version of the form does.
  static func isBinary(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.starts(with: "bplist".utf8) }

  mutating func read() throws(SegueError) -> PropertyList {
    let top = try readTrailer()
    return try object(top, depth: 1)
  }

  /// - Returns: the number of the top object.
  private mutating func readTrailer() throws(SegueError) -> Int {
    guard bytes.count >= 8 + Self.trailerSize, bytes.starts(with: "bplist00".utf8) else {
      throw SegueError(.malformed, "a binary property list that is cut short, or of another version than 00")
    }
    let trailer = bytes.count - Self.trailerSize
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    let count = number(at: trailer + 8, 8)
    let top = number(at: trailer + 16, 8)
    let table = number(at: trailer + 24, 8)
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
      let count = Int(exactly: count), let top = Int(exactly: top), let table = Int(exactly: table),
      count > 0, count <= bytes.count, top < count, table >= 8, table <= trailer,
      // Below 8 times the size of the file.
      table + count * offsetSize <= trailer
    else { throw SegueError(.malformed, "the trailer of a binary property list contradicts the file") }
    objectCount = count
    tableOffset = table
    return top
  }

  private mutating func object(_ number: Int, depth: Int) throws(SegueError) -> PropertyList {
    try bounds.count(depth: depth)
    var (kind, count, start) = try marker(of: number)
    switch kind {
    case 0x0:
      switch count {
      case 0x0: return .other("a null")
      case 0x8: return .boolean(false)
      case 0x9: return .boolean(true)
      default: throw unknown(number)
      }
    case 0x1: return try integer(start, count, number)
    case 0x2 where count == 2 || count == 3:
      _ = try range(start, 1, 1 << count)
      return .other("a real number")
    case 0x3 where count == 3:
      _ = try range(start, 1, 8)
      return .other("a date")
    case 0x8 where count < 8:
      _ = try range(start, 1, count + 1)
      return .other("a UID")
    case 0x4, 0x5, 0x6, 0xA, 0xC, 0xD: (count, start) = try length(start, count)
    default: throw unknown(number)
    }
    switch kind {
    case 0x4:
      _ = try range(start, count, 1)
      return .other("data")
    case 0x5, 0x6: return .string(try text(kind, start, count))
    case 0xD: return try dictionary(start, count, depth)
    default:
      var elements: [PropertyList] = []
      for reference in try references(start, count) { elements.append(try object(reference, depth: depth + 1)) }
      return kind == 0xA ? .array(elements) : .other("a set")
    }
  }

  private mutating func dictionary(_ start: Int, _ count: Int, _ depth: Int) throws(SegueError) -> PropertyList {
    let keys = try references(start, count)
    let values = try references(start + count * referenceSize, count)
    var entries = PropertyListEntries()
    for index in keys.indices {
      guard case .string(let key) = try object(keys[index], depth: depth + 1) else {
        throw SegueError(.malformed, "a key of a dictionary is no string")
      }
      try entries.append(key, try object(values[index], depth: depth + 1))
    }
    return .dictionary(entries.entries)
  }

  /// Kind and low half of the first byte of an object, and where the rest begins.
  private func marker(of object: Int) throws(SegueError) -> (kind: UInt8, count: Int, start: Int) {
    guard object < objectCount else { throw SegueError(.malformed, "a reference to an object that is not there") }
    let offset = number(at: tableOffset + object * offsetSize, offsetSize)
    guard let offset = Int(exactly: offset), offset >= 8, offset < tableOffset else {
      throw SegueError(.malformed, "an offset that is outside of the objects")
    }
    return (bytes[offset] >> 4, Int(bytes[offset] & 0xF), offset + 1)
  }

  /// The count of elements: in the marker, or after it.
  private func length(_ start: Int, _ count: Int) throws(SegueError) -> (count: Int, start: Int) {
    guard count == 0xF else { return (count, start) }
    let marker = try range(start, 1, 1)
    guard bytes[marker] >> 4 == 0x1, bytes[marker] & 0xF <= 3 else {
      throw SegueError(.malformed, "a count of elements that is no integer")
    }
    let size = 1 << Int(bytes[marker] & 0xF)
    let place = try range(marker + 1, 1, size)
    guard let count = Int(exactly: number(at: place, size)) else {
      throw SegueError(.malformed, "a count of elements that is beyond the file")
    }
    return (count, place + size)
  }

  private func integer(_ start: Int, _ exponent: Int, _ object: Int) throws(SegueError) -> PropertyList {
    guard exponent <= 4 else { throw unknown(object) }
    let size = 1 << exponent
    let place = try range(start, 1, size)
    // Those of 8 bytes are signed, shorter ones are not; those of 16 hold what is above.
    if size == 16 {
      let (high, low) = (number(at: place, 8), number(at: place + 8, 8))
      guard high == 0 || high == .max else { return .other("an integer of more than 64 bits") }
      if high == 0, low <= UInt64(Int64.max) { return .integer(Int64(low)) }
      if high == .max, low > UInt64(Int64.max) { return .integer(Int64(bitPattern: low)) }
      return .other("an integer of more than 64 bits")
    }
    let value = number(at: place, size)
    return .integer(size == 8 ? Int64(bitPattern: value) : Int64(value))
  }

  private mutating func text(_ kind: UInt8, _ start: Int, _ count: Int) throws(SegueError) -> String {
    let size = kind == 0x5 ? 1 : 2
    let place = try range(start, count, size)
    // Text that is referred to often would grow: what a file of that size holds is enough for all.
    textSize += count * size
    guard textSize <= 4 * Limits.manifestBytes else {
      throw SegueError(.limitExceeded, "more than \(4 * Limits.manifestBytes) bytes of text, with repetitions")
    }
    if kind == 0x5 {
      let text = UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
      guard !text.contains(where: { $0 >= 0x80 }) else {
        throw SegueError(.malformed, "an ASCII string with a byte above 127")
      }
      return Text.decoded(text)
    }
    return try utf16(place, count)
  }

  private func utf16(_ place: Int, _ count: Int) throws(SegueError) -> String {
    var text = String.UnicodeScalarView()
    var index = 0
    while index < count {
      let unit = UInt32(number(at: place + 2 * index, 2))
      index += 1
      if let scalar = Unicode.Scalar(unit) {
        text.append(scalar)
        continue
      }
      guard unit < 0xDC00, index < count else { throw Self.badSurrogate }
      let low = UInt32(number(at: place + 2 * index, 2))
      index += 1
      guard (0xDC00...0xDFFF).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      else { throw Self.badSurrogate }
      text.append(scalar)
    }
    return String(text)
  }

  private static var badSurrogate: SegueError {
    SegueError(.malformed, "a UTF-16 string with half of a surrogate pair")
  }

  private func references(_ start: Int, _ count: Int) throws(SegueError) -> [Int] {
    let place = try range(start, count, referenceSize)
    guard count <= Limits.manifestValues else {
      throw SegueError(.limitExceeded, "more than \(Limits.manifestValues) values")
    }
    var found: [Int] = []
    found.reserveCapacity(count)
    for index in 0..<count {
      guard let reference = Int(exactly: number(at: place + index * referenceSize, referenceSize)) else {
        throw SegueError(.malformed, "a reference to an object that is not there")
      }
      found.append(reference)
    }
    return found
  }

  /// Checks that `count` elements of `size` bytes begin at `start`, and end before the table of offsets.
  /// - Returns: `start`.
  private func range(_ start: Int, _ count: Int, _ size: Int) throws(SegueError) -> Int {
    let (length, isTooLong) = count.multipliedReportingOverflow(by: size)
    guard !isTooLong, start <= tableOffset, length <= tableOffset - start else {
      throw SegueError(.malformed, "an object that is longer than the file")
    }
    return start
  }

  /// An unsigned integer, big-endian; the bytes are there.
  private func number(at place: Int, _ size: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in place..<place + size { value = value << 8 | UInt64(bytes[index]) }
    return value
  }

  private func unknown(_ object: Int) -> SegueError {
    SegueError(.malformed, "object \(object) is of an unknown kind")
  }
}
