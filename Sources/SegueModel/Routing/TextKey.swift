// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A text as a key: its UTF-8 bytes. Swift's own hash treats composed and decomposed letters as equal.
struct TextKey: Hashable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: TextKey, right: TextKey) -> Bool { Text.isSame(left.text, right.text) }

  func hash(into hasher: inout Hasher) { Text.withBytes(text) { hasher.combine(bytes: $0) } }
}
