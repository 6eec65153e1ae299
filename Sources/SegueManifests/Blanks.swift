// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Blanks at both ends of a text, which manifests have around names and types.
enum Blanks {
  static func trimmed(_ text: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var text = text
    while let first = text.first, isBlank(first) { text = text.dropFirst() }
    while let last = text.last, isBlank(last) { text = text.dropLast() }
    return text
  }

  static func trimmed(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard let first = bytes.first, let last = bytes.last, isBlank(first) || isBlank(last) else { return text }
    return bytes.withUnsafeBytes { String(decoding: trimmed($0[...]), as: UTF8.self) }
  }

  /// Values of XML may have line breaks there, too.
  private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
