// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Reads the lines of a `.desktop` file.
struct DesktopEntryParser {
  private enum Group {
    /// Before the first one.
    case none
    case entry, other
  }

  private(set) var entries: [(key: String, value: [UInt8])] = []
  private(set) var warnings = ManifestWarnings()
  private var line = 0
  private var group = Group.none
  private var hasEntry = false
  private var keys: Set<[UInt8]> = []

  mutating func read(_ bytes: UnsafeRawBufferPointer) throws(SegueError) {
    var start = 0
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      warnings.add("line 1: begins with a byte order mark; expected none")
      start = 3
    }
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
    let isText = UTF8Text.isValid(bytes)
    guard let first = text.first, first != UInt8(ascii: "#") else {
      if !isText { warnings.add("line \(line): is not UTF-8") }
      return
    }
    if first == UInt8(ascii: "[") { return try beginGroup(text) }
    guard !text.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { return }
    guard group != .other else {
      if !isText { warnings.add("line \(line): is not UTF-8") }
      return
    }
    let equals = text.firstIndex(of: UInt8(ascii: "="))
    let key = Blanks.trimmed(text[..<(equals ?? text.endIndex)])
    guard group == .entry else { return try refuse(key, "expected a group before the first key") }
    guard let equals else { return try refuse(key, "expected KEY=VALUE") }
    guard !key.isEmpty, key.allSatisfy(Self.isKey) else {
      return try refuse(key, "the key \(Self.shown(key)) has other characters than A-Z, a-z, 0-9 and -")
    }
    guard isText else { return try refuse(key, "the value of \(Self.shown(key)) is not UTF-8") }
    guard keys.insert(Array(key)).inserted else { return try refuse(key, "the key \(Self.shown(key)) is there twice") }
    // Values for a locale are not needed.
    guard !key.contains(UInt8(ascii: "[")) else { return }
    entries.append((key: Self.shown(key), value: Array(Blanks.trimmed(text[(equals + 1)...]))))
  }

  private mutating func beginGroup(_ text: Slice<UnsafeRawBufferPointer>) throws(SegueError) {
    let header = Blanks.trimmed(text)
    group = .other
    guard header.last == UInt8(ascii: "]") else { return warnings.add("line \(line): expected [GROUP]") }
    guard header.dropFirst().dropLast().elementsEqual("Desktop Entry".utf8) else { return }
    // Either may be the one that is meant.
    guard !hasEntry else { throw problem("the group [Desktop Entry] is there twice") }
    (group, hasEntry) = (.entry, true)
  }

  /// The line with that key is wrong: the error if the key is needed, else a warning.
  private mutating func refuse(
    _ key: Slice<UnsafeRawBufferPointer>, _ text: DiagnosticText
  ) throws(SegueError) {
    guard !Self.isNeeded(key) else { throw problem(text) }
    warnings.add("line \(line): \(text)")
  }

  /// Whether an app would be another one, or start otherwise, without that key: a line that is wrong would change what
  /// the file says.
  private static func isNeeded(_ key: Slice<UnsafeRawBufferPointer>) -> Bool {
    let prefix = UnsafeBufferPointer(
      start: DesktopEntryManifest.prefix.utf8Start, count: DesktopEntryManifest.prefix.utf8CodeUnitCount)
    if key.starts(with: prefix) { return !key.contains(UInt8(ascii: "[")) }
    let names: [StaticString] = [
      "Type", "Name", "Hidden", "TryExec", "Exec", "Path", "Terminal", "DBusActivatable",
    ]
    return names.contains {
      key.elementsEqual(UnsafeBufferPointer(start: $0.utf8Start, count: $0.utf8CodeUnitCount))
    }
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

  private static func shown(_ key: Slice<UnsafeRawBufferPointer>) -> String {
    Text.decoded(UnsafeRawBufferPointer(rebasing: key))
  }

  private func problem(_ text: DiagnosticText) -> SegueError { SegueError(.malformed, "line \(line): \(text)") }
}
