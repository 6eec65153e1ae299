// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The bounds of text from outside.
public enum Text {
  /// Required text.
  public static func check(_ text: String, _ name: String, atMost limit: Int) throws(SegueError) {
    guard !text.utf8.isEmpty else { throw SegueError(.invalidArgument, "\(name): must not be empty") }
    try check(Optional(text), name, atMost: limit)
  }

  /// Optional text; may be empty.
  public static func check(_ text: String?, _ name: String, atMost limit: Int) throws(SegueError) {
    guard let count = text.map(size), count > limit else { return }
    throw SegueError(.limitExceeded, "\(name): \(count) bytes, at most \(limit) are allowed")
  }

  /// Compares bytes; Swift's own `==` treats composed and decomposed letters as equal (R1.2).
  public static func isSame(_ left: String, _ right: String) -> Bool {
    withBytes(left) { left in withBytes(right) { right in left.count == right.count && ByteOrder.isSame(left, right) } }
  }

  /// Passes the bytes of a text, without a copy. Only strings of Objective-C have none in one piece, and there are none
  /// here; `withUTF8` would bring the code for them, and for UTF-16, into the library.
  @inline(__always)
  public static func withBytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    text.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }.unsafelyUnwrapped
  }

  /// The number of bytes of UTF-8. The count of the String itself would bring code for UTF-16 into the library, as an
  /// argument of a C function does.
  @inline(never)
  public static func size(_ text: String) -> Int { withBytes(text) { $0.count } }

  @inline(never)
  public static func bytes(_ text: String) -> [UInt8] { withBytes(text) { Array($0) } }

  /// The text of bytes that should be UTF-8. If they are not, each byte beyond ASCII becomes U+FFFD, which no URL and
  /// no identifier has. (`String(decoding:)` is copied into its callers, and repairs by means of UTF-16.)
  @inline(never)
  public static func decoded(_ bytes: UnsafeRawBufferPointer) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var repaired: [UInt8] = []
    for byte in bytes {
      if byte < 0x80 { repaired.append(byte) } else { repaired += [0xEF, 0xBF, 0xBD] }
    }
    return decoded(repaired)
  }

  @inline(never)
  public static func decoded(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { decoded($0) } }

  /// The bytes of a text with a NUL after them, for the system.
  @inline(never)
  public static func terminated(_ text: String) -> [CChar] {
    withBytes(text) { bytes in
      [CChar](unsafeUninitializedCapacity: bytes.count + 1) { copy, count in
        count = bytes.count + 1
        UnsafeMutableRawBufferPointer(copy).copyMemory(from: bytes)
        copy[bytes.count] = 0
      }
    }
  }

  public static func isSame(_ left: String?, _ right: String?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): isSame(left, right)
    default: false
    }
  }

  /// Whether the text contains this ASCII byte.
  @inline(never)
  public static func has(_ text: String, _ byte: UInt8) -> Bool {
    withBytes(text) { bytes in
      for each in bytes where each == byte { return true }
      return false
    }
  }

  /// The number of bytes of the longest start of a text that has at most `limit` bytes, and ends with a character.
  public static func wholeCharacters(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) -> Int {
    guard bytes.count > limit else { return bytes.count }
    var end = limit
    while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return end
  }

  /// The longest start of a text that has at most `limit` bytes, and ends with a character.
  @inline(never)
  public static func start(of text: String, atMost limit: Int) -> String {
    withBytes(text) { decoded(UnsafeRawBufferPointer(rebasing: $0[..<wholeCharacters($0, atMost: limit)])) }
  }

  /// Passes the bytes of a text as one line, without a copy of printable ASCII, which most messages are.
  public static func withOneLine<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    isPrintable(text) ? withBytes(text, body) : oneLine(text).withUnsafeBytes(body)
  }

  /// Whether all bytes are printable ASCII.
  private static func isPrintable(_ text: String) -> Bool {
    withBytes(text) { bytes in
      for byte in bytes where byte &- 0x20 >= 0x5F { return false }
      return true
    }
  }

  /// The bytes of a text as one line: each control character, line separator and change of direction becomes a blank.
  /// So text of another app can look neither like lines of the library nor like terminal commands.
  public static func oneLine(_ text: String) -> [UInt8] {
    var line = bytes(text)
    var (from, end) = (0, 0)
    while from < line.count {
      let size = controlSize(line, from)
      line[end] = size > 0 ? 0x20 : line[from]
      from += max(1, size)
      end += 1
    }
    line.removeLast(line.count - end)
    return line
  }

  /// The number of bytes of the control character that begins there; 0 if there is none.
  private static func controlSize(_ bytes: [UInt8], _ start: Int) -> Int {
    let second = start + 1 < bytes.count ? bytes[start + 1] : 0
    let third = start + 2 < bytes.count ? bytes[start + 2] : 0
    return switch (bytes[start], second, third) {
    case (..<0x20, _, _), (0x7F, _, _): 1
    // U+0080...U+009F
    case (0xC2, 0x80...0x9F, _): 2
    // U+200E, U+200F, U+2028...U+202E, U+2066...U+2069
    case (0xE2, 0x80, 0x8E...0x8F), (0xE2, 0x80, 0xA8...0xAE), (0xE2, 0x81, 0xA6...0xA9): 3
    default: 0
    }
  }
}
