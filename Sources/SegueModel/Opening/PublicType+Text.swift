// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The values of public types as texts, one argument of a program each (R13.7).
extension PublicType.Key {
  /// The text of a value; nil: the table does not allow the value, or no program could take it.
  func text(of value: Value) -> String? {
    let text: String? =
      switch kind {
      case .url: value.url ?? value.string
      case .string: value.string
      case .bool: value.bool.map { $0 ? "true" : "false" }
      case .integer: (value.int64 ?? value.double.flatMap { Int64(exactly: $0) }).map { String($0) }
      case .double: (value.double ?? value.int64.map { Double($0) }).flatMap { Self.decimal($0) }
      }
    return text.flatMap { allows($0) ? $0 : nil }
  }

  /// Whether a text is one that `text(of:)` can return. It comes from another process.
  func allows(_ text: String) -> Bool {
    // Most programs would read it as an option.
    guard text.utf8.first != UInt8(ascii: "-"), text.utf8.count <= Limits.url, !Text.has(text, 0) else { return false }
    switch kind {
    case .url(let schemes): return Self.isOpenable(text, schemes)
    case .integer(let least): return Self.number(Array(text.utf8)).map { $0 >= least } ?? false
    case .double(let least, let most): return Self.isDecimal(Array(text.utf8), least, most)
    case .bool: return Text.isSame(text, "true") || Text.isSame(text, "false")
    case .string(let form): return Self.has(text, form)
    }
  }

  // MARK: URLs

  private static func isOpenable(_ text: String, _ schemes: [StaticString]) -> Bool {
    guard let url = AbsoluteURL(text), !AbsoluteURL.hasUser(text) else { return false }
    if url.hasScheme("file") { return OpenedDocument.path(of: text) != nil }
    return schemes.contains { url.hasScheme($0) }
  }

  // MARK: Numbers

  /// Digits behind the point: a thousandth of a second, or of a page.
  private static var digits: Int { 3 }

  /// Nil: it is no number, or has more digits than a double has exactly.
  private static func decimal(_ value: Double) -> String? {
    guard let thousandths = Int64(exactly: (value * 1000).rounded()), (0...(1 << 53)).contains(thousandths) else {
      return nil
    }
    let fraction = Array(String(1000 + thousandths % 1000).utf8)[1...]
    return String(joining: "\(thousandths / 1000).\(Text.decoded(Array(fraction)))")
  }

  private static func isDecimal(_ text: [UInt8], _ least: Double, _ most: Double) -> Bool {
    guard text.count > digits + 1, text[text.count - digits - 1] == UInt8(ascii: ".") else { return false }
    guard let whole = number(Array(text.dropLast(digits + 1))), let fraction = number(Array(text.suffix(digits))) else {
      return false
    }
    let value = Double(whole) + Double(fraction) / 1000
    return value >= least && value <= most
  }

  /// Digits alone.
  private static func number(_ text: [UInt8]) -> Int64? {
    guard !text.isEmpty else { return nil }
    var number: Int64 = 0
    for byte in text {
      guard (0x30...0x39).contains(byte) else { return nil }
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = product.addingReportingOverflow(Int64(byte) - 0x30)
      guard !isTooLarge, !isLarger else { return nil }
      number = sum
    }
    return number
  }

  // MARK: Strings

  private static func has(_ text: String, _ form: PublicType.Key.Form) -> Bool {
    let bytes = Array(text.utf8)
    switch form {
    case .line: return !bytes.isEmpty && !bytes.contains { $0 < 0x20 || $0 == 0x7F }
    case .oneOf(let texts): return texts.contains { Text.isSame(text, $0) }
    case .mime:
      let parts = bytes.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
      return parts.count == 2
        && parts.allSatisfy {
          !$0.isEmpty && $0.allSatisfy { isOf("A-Za-z0-9!#$&^_.+", $0) || $0 == UInt8(ascii: "-") }
        }
    case .name(let first, let rest):
      guard let start = bytes.first, isOf(first, start) else { return false }
      return bytes.dropFirst().allSatisfy { isOf(rest, $0) }
    }
  }

  /// - Parameter set: characters, and ranges as in `A-Z`; a hyphen at the end stands for itself.
  private static func isOf(_ set: StaticString, _ byte: UInt8) -> Bool {
    let bytes = UnsafeBufferPointer(start: set.utf8Start, count: set.utf8CodeUnitCount)
    var index = 0
    while index < bytes.count {
      let isRange = index + 2 < bytes.count && bytes[index + 1] == UInt8(ascii: "-")
      if byte >= bytes[index], byte <= bytes[index + (isRange ? 2 : 0)] { return true }
      index += isRange ? 3 : 1
    }
    return false
  }
}
