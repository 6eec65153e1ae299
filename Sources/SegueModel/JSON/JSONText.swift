// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// JSON text that is being written. Bounded: text that would be longer is dropped.
final class JSONText {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  /// The number of bytes written so far; the rest is free.
  private var used = 0
  /// Whether the text was longer than it may be.
  private(set) var isTooLong = false

  private let limit: Int

  /// - Parameter room: bytes for which there is room at first, at least one.
  init(room: Int, limit: Int = Limits.json) {
    self.limit = limit
    memory = .allocate(byteCount: room, alignment: 1)
    capacity = room
  }

  deinit { memory.deallocate() }

  /// The text, valid as long as this object, and until more is put.
  var written: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: used) }

  @inline(never)
  private func grow(_ count: Int) {
    if used + count > limit {
      isTooLong = true
      used = 0
    }
    capacity = max(used + count, min(limit, 2 * capacity + 256))
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
    larger.copyMemory(from: memory, byteCount: used)
    memory.deallocate()
    memory = larger
  }

  /// Passes memory for at least `count` bytes; the body returns how many it wrote.
  @inline(__always)
  private func write(_ count: Int, _ body: (UnsafeMutableRawPointer) -> Int) {
    if capacity &- used < count { grow(count) }
    used &+= body(memory + used)
  }

  @inline(never)
  func put(_ byte: UInt8) {
    write(1) { target in
      target.storeBytes(of: byte, as: UInt8.self)
      return 1
    }
  }

  @inline(never)
  func put(_ text: StaticString) {
    put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Puts text that needs no escapes.
  @inline(never)
  func put(_ text: UnsafeRawBufferPointer) {
    write(text.count) { target in
      if let start = text.baseAddress { target.copyMemory(from: start, byteCount: text.count) }
      return text.count
    }
  }

  func put(_ text: String) {
    let count = Text.size(text)
    write(count) { target in
      Text.withBytes(text) { bytes in
        if let start = bytes.baseAddress { target.copyMemory(from: start, byteCount: count) }
      }
      return count
    }
  }

  @inline(never)
  func put(_ number: UInt64) {
    write(20) { target in
      var digits = InlineArray<20, UInt8>(repeating: 0)
      var rest = number
      var first = 20
      repeat {
        first &-= 1
        let (tens, digit) = rest.quotientAndRemainder(dividingBy: 10)
        digits[first] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
        rest = tens
      } while rest > 0
      for place in first..<20 { target.storeBytes(of: digits[place], toByteOffset: place &- first, as: UInt8.self) }
      return 20 &- first
    }
  }

  func put(_ number: Int64) {
    if number < 0 { put(UInt8(ascii: "-")) }
    put(number.magnitude)
  }

  /// Puts a finite double: the fewest digits that are read as the same double, with a point or an exponent.
  func put(_ number: Double) { put(number.description) }

  /// Puts the digits of the lower `digits` places of a number.
  func put(_ number: Int, digits: Int) {
    write(digits) { target in
      var rest = number
      for place in stride(from: digits - 1, through: 0, by: -1) {
        target.storeBytes(
          of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: place, as: UInt8.self)
        rest /= 10
      }
      return digits
    }
  }

  /// Puts blanks.
  func indent(_ count: Int) {
    write(count) { target in
      target.initializeMemory(as: UInt8.self, repeating: 0x20, count: count)
      return count
    }
  }

  func put(base64 data: UnsafeRawBufferPointer) {
    write(Base64.size(data.count)) { target in
      Base64.encode(data, to: target)
      return Base64.size(data.count)
    }
  }

  func put(_ uuid: Identifier) {
    write(Identifier.textSize) { target in
      uuid.writeText(to: target)
      return Identifier.textSize
    }
  }

  // MARK: - Strings

  /// Puts a string with its quotation marks, and `prefix` before its first character.
  @inline(never)
  func put(string: UnsafeRawBufferPointer, prefix: StaticString = "") {
    put(UInt8(ascii: "\""))
    if prefix.utf8CodeUnitCount > 0 { put(prefix) }
    let plain = Self.plain(string, from: 0)
    if plain == string.count { put(string) } else { putEscaped(string, plain) }
    put(UInt8(ascii: "\""))
  }

  @inline(never)
  private func putEscaped(_ string: UnsafeRawBufferPointer, _ plain: Int) {
    var (from, to) = (0, plain)
    while true {
      put(UnsafeRawBufferPointer(rebasing: string[from..<to]))
      if to == string.count { return }
      put(escaped: string[to])
      from = to + 1
      to = Self.plain(string, from: from)
    }
  }

  /// The offset of the next character that needs an escape.
  @inline(__always)
  private static func plain(_ string: UnsafeRawBufferPointer, from start: Int) -> Int {
    guard let base = string.baseAddress else { return string.count }
    var place = start
    let ones: UInt64 = 0x0101_0101_0101_0101
    while string.count &- place >= 8 {
      let word = base.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      let quotes = word ^ 0x2222_2222_2222_2222
      let backslashes = word ^ 0x5c5c_5c5c_5c5c_5c5c
      let special =
        ((word &- 0x20 &* ones) & ~word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes)
        & 0x8080_8080_8080_8080
      if special != 0 { break }
      place &+= 8
    }
    while place < string.count {
      let byte = base.load(fromByteOffset: place, as: UInt8.self)
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
      place &+= 1
    }
    return place
  }

  private func put(escaped byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): put("\\\"")
    case UInt8(ascii: "\\"): put("\\\\")
    case 0x08: put("\\b")
    case 0x09: put("\\t")
    case 0x0a: put("\\n")
    case 0x0c: put("\\f")
    case 0x0d: put("\\r")
    default:
      put("\\u00")
      put(Hexadecimal.digit(byte >> 4))
      put(Hexadecimal.digit(byte))
    }
  }
}
