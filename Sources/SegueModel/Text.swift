/// The bounds of text from outside.
public enum Text {
  /// Required text.
  public static func check(_ text: String, _ name: String, atMost limit: Int) throws(SegueError) {
    guard !text.utf8.isEmpty else { throw SegueError(.invalidArgument, "\(name): must not be empty") }
    try check(Optional(text), name, atMost: limit)
  }

  /// Optional text; may be empty.
  public static func check(_ text: String?, _ name: String, atMost limit: Int) throws(SegueError) {
    guard let count = text?.utf8.count, count > limit else { return }
    throw SegueError(.limitExceeded, "\(name): \(count) bytes, at most \(limit) are allowed")
  }

  /// Compares bytes; Swift's own `==` treats composed and decomposed letters as equal (R1.2).
  public static func isSame(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && hasSameBytes(left, right)
  }

  private static func hasSameBytes(_ left: String, _ right: String) -> Bool {
    withBytes(left) { left in withBytes(right) { right in ByteOrder.isSame(left, right) } }
  }

  /// Passes the bytes of a text. They are usually contiguous, and then not copied.
  @inline(__always)
  public static func withBytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
    var text = text
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
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
    var text = text
    return text.withUTF8 { bytes in
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

  /// The bytes of a text as one line: each control character, line separator and change of direction becomes a blank.
  /// So text of another app can look neither like lines of the library nor like terminal commands.
  public static func oneLine(_ text: String) -> [UInt8] {
    var line = Array(text.utf8)
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
