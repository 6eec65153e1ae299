// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A cursor over JSON text (RFC 8259): white space, strings and numbers. An error about the text comes without its
/// place; `fault` has the offset.
struct JSONScanner: ~Copyable {
  private let base: UnsafeRawPointer
  private let end: Int
  /// The offset of the next byte.
  var offset = 0
  /// The offset of what the last error is about; nil: the cursor's.
  private(set) var fault: Int?
  /// Memory for one string with escapes, or for decoded data.
  private var scratch = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  enum Number {
    case negative(Int64)
    case unsigned(UInt64)
    case double(Double)
  }

  /// The text must outlive the scanner.
  init(_ text: UnsafeRawBufferPointer) {
    // Without bytes there is no pointer, and `end` keeps it from being read.
    base = text.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    end = text.count
  }

  deinit { scratch.deallocate() }

  var isAtEnd: Bool { offset >= end }

  /// Bytes behind the cursor.
  var remaining: Int { max(0, end - offset) }

  /// The next byte; 0 at the end, which begins nothing in JSON.
  var next: UInt8 {
    @inline(__always) get { offset < end ? base.load(fromByteOffset: offset, as: UInt8.self) : 0 }
  }

  /// The next byte after white space; 0 at the end.
  @inline(__always)
  mutating func nextToken() -> UInt8 {
    let byte = next
    return byte > 0x20 ? byte : tokenAfterSpace()
  }

  @inline(never)
  private mutating func tokenAfterSpace() -> UInt8 {
    while offset < end, next == 0x20 || next == 0x0a || next == 0x0d || next == 0x09 { offset &+= 1 }
    return next
  }

  /// Consumes this token, if it comes next after white space.
  mutating func take(_ token: UInt8) -> Bool {
    guard nextToken() == token else { return false }
    offset &+= 1
    return true
  }

  mutating func expect(_ token: UInt8, _ what: StaticString) throws(SegueError) {
    guard take(token) else { throw fail(what) }
  }

  mutating func expect(word: StaticString) throws(SegueError) {
    let count = word.utf8CodeUnitCount
    guard end &- offset >= count, UnsafeRawBufferPointer(start: base + offset, count: count).isSame(as: word) else {
      throw fail("a value is expected")
    }
    offset &+= count
  }

  /// The error for what stands at an offset, or at the cursor.
  @inline(never)
  mutating func fail(_ what: StaticString, at place: Int? = nil, _ status: Status = .malformed) -> SegueError {
    fault = place ?? offset
    return SegueError(status, place == nil && isAtEnd ? "the text ends too early" : what)
  }

  /// Memory for `count` bytes, which replaces that of the former call, and of a string with escapes, unless it is large
  /// enough.
  mutating func memory(_ count: Int) -> UnsafeMutableRawPointer {
    if scratch.count < count || scratch.count == 0 {
      scratch.deallocate()
      scratch = .allocate(byteCount: max(count, 2 * scratch.count, 256), alignment: 1)
    }
    return scratch.baseAddress.unsafelyUnwrapped
  }

  // MARK: - Strings

  /// Reads the string whose quotation mark comes next. The bytes are UTF-8, and valid until the next call.
  @inline(never)
  mutating func string() throws(SegueError) -> UnsafeRawBufferPointer {
    let start = offset &+ 1
    let isASCII = skipPlain(from: start)
    guard next == UInt8(ascii: "\"") else { return try stringWithEscapes(start) }
    let content = UnsafeRawBufferPointer(start: base + start, count: offset &- start)
    if !isASCII, !UTF8Text.isValid(content) { throw fail("a string that is not UTF-8", at: start &- 1) }
    offset &+= 1
    return content
  }

  /// Moves from `start` to the next quotation mark, backslash or control character, or to the end. Returns whether all
  /// before it is ASCII.
  @inline(never)
  private mutating func skipPlain(from start: Int) -> Bool {
    var place = start
    var seen: UInt64 = 0
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    while end &- place >= 8 {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      let quotes = word ^ 0x2222_2222_2222_2222
      let backslashes = word ^ 0x5c5c_5c5c_5c5c_5c5c
      // The lowest bit that is set is right: a borrow only goes to higher bytes.
      let special =
        ((word &- 0x20 &* ones) & ~word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes) & highs
      if special != 0 {
        let plain = UInt64(special.trailingZeroBitCount & ~7)
        seen |= word & (1 << plain &- 1)
        offset = place &+ Int(plain >> 3)
        return seen & highs == 0
      }
      seen |= word
      place &+= 8
    }
    while place < end {
      let byte = base.load(fromByteOffset: place, as: UInt8.self)
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
      seen |= UInt64(byte)
      place &+= 1
    }
    offset = place
    return seen & highs == 0
  }

  @inline(never)
  private mutating func stringWithEscapes(_ start: Int) throws(SegueError) -> UnsafeRawBufferPointer {
    // A string without its escapes is never longer than with them.
    let count = try lengthOfString(start)
    let target = memory(count)
    var used = 0
    var from = start
    offset = start
    while true {
      _ = skipPlain(from: offset)
      (target + used).copyMemory(from: base + from, byteCount: offset &- from)
      used &+= offset &- from
      if next == UInt8(ascii: "\"") { break }
      used &+= try escape(to: target + used)
      from = offset
    }
    let content = UnsafeRawBufferPointer(start: target, count: used)
    guard UTF8Text.isValid(content) else { throw fail("a string that is not UTF-8", at: start &- 1) }
    offset &+= 1
    return content
  }

  /// The bytes before the quotation mark that ends a string.
  private mutating func lengthOfString(_ start: Int) throws(SegueError) -> Int {
    offset = start
    while true {
      _ = skipPlain(from: offset)
      switch next {
      case UInt8(ascii: "\""): return offset &- start
      case UInt8(ascii: "\\"): offset &+= 2
      default: throw fail(isAtEnd ? "a string has no end" : "a control character in a string", at: min(offset, end))
      }
    }
  }

  /// Reads an escape, and writes the bytes that it stands for, fewer than its own.
  private mutating func escape(to target: UnsafeMutableRawPointer) throws(SegueError) -> Int {
    let start = offset
    offset &+= 1
    let plain: UInt8
    switch next {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): plain = next
    case UInt8(ascii: "b"): plain = 0x08
    case UInt8(ascii: "f"): plain = 0x0c
    case UInt8(ascii: "n"): plain = 0x0a
    case UInt8(ascii: "r"): plain = 0x0d
    case UInt8(ascii: "t"): plain = 0x09
    case UInt8(ascii: "u"):
      offset &+= 1
      return Self.write(try scalar(start), to: target)
    default: throw fail("an escape that JSON does not have", at: start)
    }
    offset &+= 1
    target.storeBytes(of: plain, as: UInt8.self)
    return 1
  }

  /// Reads what follows `\u`: one unit of UTF-16, or a pair of surrogates.
  private mutating func scalar(_ start: Int) throws(SegueError) -> UInt32 {
    let unit = try hexadecimals(start)
    guard unit & 0xf800 == 0xd800 else { return unit }
    if unit < 0xdc00, next == UInt8(ascii: "\\") {
      offset &+= 1
      if next == UInt8(ascii: "u") {
        offset &+= 1
        let other = try hexadecimals(offset &- 2)
        if other & 0xfc00 == 0xdc00 { return 0x1_0000 + (unit & 0x3ff) << 10 + other & 0x3ff }
      }
    }
    throw fail("half of a pair of surrogates", at: start)
  }

  private mutating func hexadecimals(_ start: Int) throws(SegueError) -> UInt32 {
    var number: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Hexadecimal.number(next) else { throw fail("an escape that JSON does not have", at: start) }
      number = number << 4 | UInt32(digit)
      offset &+= 1
    }
    return number
  }

  /// Writes a scalar as UTF-8.
  private static func write(_ scalar: UInt32, to target: UnsafeMutableRawPointer) -> Int {
    let count = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x1_0000 ? 3 : 4
    if count == 1 {
      target.storeBytes(of: UInt8(scalar), as: UInt8.self)
      return 1
    }
    var rest = scalar
    for index in stride(from: count - 1, to: 0, by: -1) {
      target.storeBytes(of: UInt8(0x80 | rest & 0x3f), toByteOffset: index, as: UInt8.self)
      rest >>= 6
    }
    let lead: UInt32 = count == 2 ? 0xc0 : count == 3 ? 0xe0 : 0xf0
    target.storeBytes(of: UInt8(lead | rest), as: UInt8.self)
    return count
  }

  // MARK: - Numbers

  /// Reads the number that comes next. Digits without point and exponent are an integer.
  @inline(__always)
  mutating func number() throws(SegueError) -> Number {
    let start = offset
    let isNegative = next == UInt8(ascii: "-")
    if isNegative { offset &+= 1 }
    let first = offset
    var integer: UInt64 = 0
    // 19 digits are less than 2⁶⁴.
    while true {
      let digit = next &- UInt8(ascii: "0")
      guard digit <= 9, offset &- first < 19 else { break }
      integer = integer &* 10 &+ UInt64(digit)
      offset &+= 1
    }
    let count = offset &- first
    let isShort = count == 1 || (count > 1 && base.load(fromByteOffset: first, as: UInt8.self) != UInt8(ascii: "0"))
    let byte = next
    guard isShort, byte != UInt8(ascii: "."), byte | 0x20 != UInt8(ascii: "e"), byte &- UInt8(ascii: "0") > 9 else {
      return try longNumber(start, isNegative: isNegative)
    }
    return isNegative && integer > 0 ? try negative(integer, start) : .unsigned(integer)
  }

  private mutating func negative(_ magnitude: UInt64, _ start: Int) throws(SegueError) -> Number {
    guard magnitude <= Int64.min.magnitude else { throw tooLong(start) }
    return .negative(Int64(truncatingIfNeeded: 0 &- magnitude))
  }

  private mutating func tooLong(_ start: Int) -> SegueError {
    fail("an integer of more than 64 bits", at: start, .unsupportedValue)
  }

  /// Reads a double, or an integer that is long, or wrong.
  @inline(never)
  private mutating func longNumber(_ start: Int, isNegative: Bool) throws(SegueError) -> Number {
    offset = isNegative ? start &+ 1 : start
    let first = offset
    var decimal = DecimalNumber()
    let count = digits(&decimal, isFraction: false)
    guard count == 1 || (count > 1 && base.load(fromByteOffset: first, as: UInt8.self) != UInt8(ascii: "0")) else {
      throw fail(count == 0 ? "a digit is expected" : "a number begins with a zero", at: count == 0 ? nil : first)
    }
    var isInteger = true
    if next == UInt8(ascii: ".") {
      isInteger = false
      offset &+= 1
      guard digits(&decimal, isFraction: true) > 0 else { throw fail("a digit is expected") }
    }
    let last = offset
    if next | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      decimal.multiply(byTenTo: try exponent())
    }
    if isInteger { return try longInteger(first, isNegative, start) }
    let text = UnsafeRawBufferPointer(start: base + first, count: last &- first)
    guard let magnitude = decimal.nearestDouble(text) else {
      throw fail("a number that is too large for a double", at: start, .unsupportedValue)
    }
    return .double(isNegative ? -magnitude : magnitude)
  }

  private mutating func digits(_ decimal: inout DecimalNumber, isFraction: Bool) -> Int {
    let start = offset
    while next &- UInt8(ascii: "0") <= 9 {
      decimal.put(next &- UInt8(ascii: "0"), isFraction: isFraction)
      offset &+= 1
    }
    return offset &- start
  }

  private mutating func exponent() throws(SegueError) -> Int {
    offset &+= 1
    let isNegative = next == UInt8(ascii: "-")
    if isNegative || next == UInt8(ascii: "+") { offset &+= 1 }
    let start = offset
    var power = 0
    while next &- UInt8(ascii: "0") <= 9 {
      // More than any number of digits can make up for.
      if power < 1 << 40 { power = power &* 10 &+ Int(next &- UInt8(ascii: "0")) }
      offset &+= 1
    }
    guard offset > start else { throw fail("a digit is expected") }
    return isNegative ? -power : power
  }

  /// Reads the digits from `first` to the cursor again.
  private mutating func longInteger(_ first: Int, _ isNegative: Bool, _ start: Int) throws(SegueError) -> Number {
    var integer: UInt64 = 0
    for place in first..<offset {
      let digit = UInt64(base.load(fromByteOffset: place, as: UInt8.self) &- UInt8(ascii: "0"))
      let (tens, isTooLarge) = integer.multipliedReportingOverflow(by: 10)
      let (sum, isOver) = tens.addingReportingOverflow(digit)
      guard !isTooLarge, !isOver else { throw tooLong(start) }
      integer = sum
    }
    return isNegative && integer > 0 ? try negative(integer, start) : .unsigned(integer)
  }

  // MARK: - Skipping

  /// Skips the string whose quotation mark comes next; in malformed text, at most the rest.
  mutating func skipString() {
    offset &+= 1
    while true {
      _ = skipPlain(from: offset)
      if isAtEnd { return }
      let byte = next
      offset &+= byte == UInt8(ascii: "\\") ? 2 : 1
      if byte == UInt8(ascii: "\"") { return }
    }
  }

  /// Skips the value that comes next in valid text.
  mutating func skipValue() {
    var depth = 0
    repeat {
      switch nextToken() {
      case UInt8(ascii: "\""): skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        offset &+= 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        offset &+= 1
      case UInt8(ascii: ","), UInt8(ascii: ":"): offset &+= 1
      default: skipWord()
      }
    } while depth > 0 && !isAtEnd
  }

  /// Skips a number, or one of the three words; at least one byte.
  private mutating func skipWord() {
    offset &+= 1
    while !isAtEnd {
      switch next {
      case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), ...0x20: return
      default: offset &+= 1
      }
    }
  }
}
