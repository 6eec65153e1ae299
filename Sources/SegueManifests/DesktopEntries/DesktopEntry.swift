// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A `.desktop` file: the keys of its group `Desktop Entry`, as the Desktop Entry Specification (1.5) reads them. Lines
/// that are wrong and say nothing that is needed here are read past, with a warning.
struct DesktopEntry {
  /// The file, absolute.
  let path: String
  /// The lines that are wrong.
  let warnings: ManifestWarnings
  private let entries: [(key: String, value: [UInt8])]

  /// Throws MALFORMED, which names line, key, and what was expected, if a line is wrong that is needed.
  static func read(_ bytes: UnsafeRawBufferPointer, path: String) throws(SegueError) -> DesktopEntry {
    guard bytes.count <= Limits.manifestBytes else {
      throw SegueError(.limitExceeded, "\(bytes.count) bytes, at most \(Limits.manifestBytes) are allowed")
    }
    var parser = DesktopEntryParser()
    try parser.read(bytes)
    return DesktopEntry(path: path, warnings: parser.warnings, entries: parser.entries)
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
    throw SegueError(.malformed, "\(key): expected true or false, found \(Text.decoded(value))")
  }

  /// A value of type *string(s)*: elements end with `;`, which is optional after the last one. Blanks around an element
  /// are none of it, unless they are escaped.
  func list(_ key: StaticString) throws(SegueError) -> [String]? {
    guard let value = raw(key) else { return nil }
    var elements: [String] = []
    var element: [UInt8] = []
    var isEscaped = false
    for byte in value {
      if byte == UInt8(ascii: ";"), !isEscaped {
        elements.append(try Self.element(element, key))
        element.removeAll(keepingCapacity: true)
        continue
      }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      element.append(byte)
    }
    if !element.isEmpty { elements.append(try Self.element(element, key)) }
    return elements
  }

  private static func element(_ value: [UInt8], _ key: StaticString) throws(SegueError) -> String {
    let trimmed = value.withUnsafeBytes { Array(Blanks.trimmed($0[...])) }
    return String(decoding: try unescaped(trimmed, key), as: UTF8.self)
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
