// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Any bytes as text and as identifiers.
func fuzzTexts(_ bytes: UnsafeRawBufferPointer) {
  let text = String(validating: bytes, as: UTF8.self)
  require(UTF8Text.isValid(bytes) == (text != nil), "Swift sees it otherwise")
  checkIdentifiers(bytes)
  guard let text else { return }
  let middle = text.unicodeScalars.index(text.startIndex, offsetBy: text.unicodeScalars.count / 2)
  let (left, right) = (String(text[..<middle]), String(text[middle...]))
  require(Text.isSame(left, right) == (Array(left.utf8) == Array(right.utf8)), "texts are bytes")
  let isShort = (try? Text.check(text as String?, "text", atMost: 16)) != nil
  require(isShort == (text.utf8.count <= 16), "the limit is another")
  require((try? Activity(type: text)) == nil || 1...Limits.type ~= text.utf8.count, "a type without bounds")
  guard let value = try? Value(cbor: Value.string(text).encoding) else { fatalError("text that no value holds") }
  require(Text.isSame(value.string, text), "another text came back")
}

private func checkIdentifiers(_ bytes: UnsafeRawBufferPointer) {
  let identifier = Identifier(bytes: bytes)
  require((identifier != nil) == (bytes.count == Identifier.size), "an identifier of another size")
  if let identifier { require(identifier.bytes.elementsEqual(bytes), "other bytes came back") }
  guard bytes.count >= 2 * Identifier.size else { return }
  let first = Array(bytes[..<Identifier.size])
  let second = Array(bytes[Identifier.size..<2 * Identifier.size])
  guard let left = Identifier(bytes: first), let right = Identifier(bytes: second) else { return }
  require((left < right) == first.lexicographicallyPrecedes(second), "identifiers are not in the order of their bytes")
  require((left == right) == (first == second), "equal, but not the same")
}
