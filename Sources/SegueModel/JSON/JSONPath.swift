// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Paths in JSON text (RFC 6901): a slash before each key or index.
enum JSONPath {
  static func append(_ index: Int, to path: DiagnosticText.Pieces) {
    path.appendLiteral("/")
    path.appendInterpolation(index)
  }

  /// Appends a key; `~` and `/` in it become `~0` and `~1`.
  static func append(_ key: UnsafeRawBufferPointer, to path: DiagnosticText.Pieces) {
    path.appendLiteral("/")
    var start = 0
    for place in 0...key.count {
      let byte = place < key.count ? key[place] : 0
      guard place == key.count || byte == UInt8(ascii: "~") || byte == UInt8(ascii: "/") else { continue }
      path.appendInterpolation(Text.decoded(UnsafeRawBufferPointer(rebasing: key[start..<place])))
      if byte == UInt8(ascii: "~") { path.appendLiteral("~0") }
      if byte == UInt8(ascii: "/") { path.appendLiteral("~1") }
      start = place + 1
    }
  }

  /// The end of an error message; nothing for the empty path.
  static func suffix(_ path: DiagnosticText.Pieces) -> DiagnosticText {
    let path = DiagnosticText(stringInterpolation: path)
    return path.string.utf8.isEmpty ? "" : ", path \(path)"
  }
}
