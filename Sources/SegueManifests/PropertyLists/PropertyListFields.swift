// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The entries of a dictionary, read by key: an error names the key, what was expected and what was found.
struct PropertyListFields {
  private let entries: [PropertyList.Entry]
  /// The place of the dictionary: empty, or `CFBundleDocumentTypes[0].`.
  private let place: String

  /// Throws MALFORMED unless the value is a dictionary.
  init(_ value: PropertyList, at place: String = "") throws(SegueError) {
    guard case .dictionary(let entries) = value else {
      let what: DiagnosticText = place.utf8.isEmpty ? "the property list" : DiagnosticText(of: place)
      throw SegueError(.malformed, "\(what): expected a dictionary, found \(value.kind)")
    }
    self.entries = entries
    self.place = place.utf8.isEmpty ? "" : String(joining: "\(place).")
  }

  /// The key with its place, for errors.
  func name(_ key: StaticString) -> String { String(joining: "\(place)\(key)") }

  func string(_ key: StaticString) throws(SegueError) -> String? {
    guard let value = self[key] else { return nil }
    guard case .string(let text) = value else { throw wrong(name(key), "a string", value) }
    return text
  }

  func boolean(_ key: StaticString) throws(SegueError) -> Bool? {
    guard let value = self[key] else { return nil }
    guard case .boolean(let answer) = value else { throw wrong(name(key), "a boolean", value) }
    return answer
  }

  func strings(_ key: StaticString) throws(SegueError) -> [String]? {
    guard let elements = try elements(key) else { return nil }
    var strings: [String] = []
    for (index, element) in elements.enumerated() {
      guard case .string(let text) = element else {
        throw wrong(String(joining: "\(name(key))[\(index)]"), "a string", element)
      }
      strings.append(text)
    }
    return strings
  }

  func integers(_ key: StaticString) throws(SegueError) -> [Int64]? {
    guard let elements = try elements(key) else { return nil }
    var integers: [Int64] = []
    for (index, element) in elements.enumerated() {
      guard case .integer(let number) = element else {
        throw wrong(String(joining: "\(name(key))[\(index)]"), "an integer", element)
      }
      integers.append(number)
    }
    return integers
  }

  func elements(_ key: StaticString) throws(SegueError) -> [PropertyList]? {
    guard let value = self[key] else { return nil }
    guard case .array(let elements) = value else { throw wrong(name(key), "an array", value) }
    return elements
  }

  private subscript(key: StaticString) -> PropertyList? {
    let name = UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount)
    return entries.first { $0.key.utf8.elementsEqual(name) }?.value
  }

  private func wrong(_ name: String, _ expected: StaticString, _ value: PropertyList) -> SegueError {
    SegueError(.malformed, "\(name): expected \(expected), found \(value.kind)")
  }
}
