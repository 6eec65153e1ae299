import SegueModel

/// A `.desktop` file: the keys of its group `Desktop Entry`, as the Desktop Entry Specification (1.5) reads them.
struct DesktopEntry {
  /// The file, absolute.
  let path: String
  private let entries: [(key: String, value: [UInt8])]

  /// Throws MALFORMED, which names line, key, and what was expected.
  static func read(_ bytes: UnsafeRawBufferPointer, path: String) throws(SegueError) -> DesktopEntry {
    guard bytes.count <= Limits.manifestBytes else {
      throw SegueError(.limitExceeded, "\(bytes.count) bytes, at most \(Limits.manifestBytes) are allowed")
    }
    guard UTF8Text.isValid(bytes) else { throw SegueError(.malformed, "the file is not UTF-8") }
    var parser = DesktopEntryParser()
    try parser.read(bytes)
    return DesktopEntry(path: path, entries: parser.entries)
  }

  /// The value as it stands in the file; nil: there is no such key.
  func raw(_ key: StaticString) -> [UInt8]? {
    entries.first {
      $0.key.utf8.elementsEqual(UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    }?
    .value
  }

  /// A value of type *string*, or *localestring* for no locale: with its escape sequences resolved.
  func string(_ key: StaticString) throws(SegueError) -> String? {
    guard let value = raw(key) else { return nil }
    return String(decoding: try Self.unescaped(value, key), as: UTF8.self)
  }

  /// A value of type *boolean*; a missing one is false.
  func boolean(_ key: StaticString) throws(SegueError) -> Bool {
    guard let value = raw(key) else { return false }
    if value.elementsEqual("true".utf8) { return true }
    if value.elementsEqual("false".utf8) { return false }
    throw SegueError(.malformed, "\(key): expected true or false, found \(String(decoding: value, as: UTF8.self))")
  }

  /// A value of type *string(s)*: elements end with `;`, which is optional after the last one.
  func list(_ key: StaticString) throws(SegueError) -> [String]? {
    guard let value = raw(key) else { return nil }
    var elements: [String] = []
    var element: [UInt8] = []
    var isEscaped = false
    for byte in value {
      if byte == UInt8(ascii: ";"), !isEscaped {
        elements.append(String(decoding: try Self.unescaped(element, key), as: UTF8.self))
        element.removeAll(keepingCapacity: true)
        continue
      }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      element.append(byte)
    }
    if !element.isEmpty { elements.append(String(decoding: try Self.unescaped(element, key), as: UTF8.self)) }
    return elements
  }

  /// Resolves `\s`, `\n`, `\t`, `\r`, `\\`, and in lists `\;`.
  static func unescaped(_ value: [UInt8], _ key: StaticString) throws(SegueError) -> [UInt8] {
    guard value.contains(UInt8(ascii: "\\")) else { return value }
    var result: [UInt8] = []
    var index = 0
    while index < value.count {
      let byte = value[index]
      index += 1
      guard byte == UInt8(ascii: "\\") else {
        result.append(byte)
        continue
      }
      let letter = index < value.count ? value[index] : 0
      index += 1
      switch letter {
      case UInt8(ascii: "s"): result.append(0x20)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "\\"), UInt8(ascii: ";"): result.append(letter)
      default:
        throw SegueError(.malformed, "\(key): a backslash is followed by none of s, n, t, r, \\ and ;")
      }
    }
    return result
  }
}

/// Reads the lines of a `.desktop` file.
private struct DesktopEntryParser {
  private(set) var entries: [(key: String, value: [UInt8])] = []
  private var line = 0
  /// Nil before the first group.
  private var isInEntry: Bool?
  private var hasEntry = false
  private var keys: Set<[UInt8]> = []

  mutating func read(_ bytes: UnsafeRawBufferPointer) throws(SegueError) {
    var start = 0
    while start < bytes.count {
      var end = start
      while end < bytes.count, bytes[end] != 0x0A { end += 1 }
      line += 1
      try readLine(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      start = end + 1
    }
    guard hasEntry else { throw SegueError(.malformed, "there is no group [Desktop Entry]") }
  }

  private mutating func readLine(_ bytes: UnsafeRawBufferPointer) throws(SegueError) {
    var text = bytes[...]
    if text.last == 0x0D { text = text.dropLast() }
    guard let first = text.first, first != UInt8(ascii: "#") else { return }
    if first == UInt8(ascii: "[") { return try beginGroup(text) }
    guard !text.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { return }
    guard let isInEntry else { throw problem("expected a group before the first key") }
    guard isInEntry else { return }
    guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { throw problem("expected KEY=VALUE") }
    let key = Self.trimmed(text[..<equals])
    guard !key.isEmpty, key.allSatisfy(Self.isKey) else {
      throw problem("the key \(String(decoding: key, as: UTF8.self)) has other characters than A-Z, a-z, 0-9 and -")
    }
    guard keys.insert(Array(key)).inserted else {
      throw problem("the key \(String(decoding: key, as: UTF8.self)) is there twice")
    }
    // Values for a locale are not needed.
    guard !key.contains(UInt8(ascii: "[")) else { return }
    entries.append((key: String(decoding: key, as: UTF8.self), value: Array(Self.trimmed(text[(equals + 1)...]))))
  }

  private mutating func beginGroup(_ text: Slice<UnsafeRawBufferPointer>) throws(SegueError) {
    let group = Self.trimmed(text)
    guard group.last == UInt8(ascii: "]") else { throw problem("expected [GROUP]") }
    let isEntry = group.dropFirst().dropLast().elementsEqual("Desktop Entry".utf8)
    guard !isEntry || !hasEntry else { throw problem("the group [Desktop Entry] is there twice") }
    isInEntry = isEntry
    hasEntry = hasEntry || isEntry
  }

  private static func isKey(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
      true
    // Those of a locale: `Name[sr_YU@Latn.UTF-8]`. Some files have `_` in names of their own.
    case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "."): true
    default: false
    }
  }

  private static func trimmed(_ text: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var text = text
    while let first = text.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
    while let last = text.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
    return text
  }

  private func problem(_ text: DiagnosticText) -> SegueError { SegueError(.malformed, "line \(line): \(text)") }
}
