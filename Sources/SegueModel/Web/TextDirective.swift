// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The part of a URL that names a text of the page: a browser that is started with the URL goes there (R12.6).
///
/// <https://wicg.github.io/scroll-to-text-fragment/>
enum TextDirective {
  private static let mark: StaticString = ":~:text="
  /// Bytes of text: 80 characters of four bytes.
  private static let textLimit = 320
  /// Bytes from which on a text may have been cut within a word.
  private static let cutFrom = 40
  private static let blank = UInt8(ascii: " ")

  /// Returns a URL with a directive for a place. Returns the URL alone if the place has no text, if the URL has a
  /// directive, or if both together are longer than `Limits.url`.
  /// - Parameter state: `SegueBrowserState`, as another app has sent it.
  static func url(_ url: String, for state: Value) -> String {
    guard let text = state["text"]?.string, !hasDirective(url) else { return url }
    let words = trimmed(wholeWords(text, before: state["after"]?.string))
    guard !words.isEmpty else { return url }
    var result = Text.bytes(url)
    if !Text.has(url, UInt8(ascii: "#")) { result.append(UInt8(ascii: "#")) }
    for index in 0..<mark.utf8CodeUnitCount { result.append(mark.utf8Start[index]) }
    for byte in words {
      // A hyphen is syntax of the directive.
      if byte == UInt8(ascii: "-") {
        result += [0x25, 0x32, 0x44]
      } else {
        FilePath.append([byte], to: &result, keepingSlashes: false)
      }
    }
    return result.count <= Limits.url ? Text.decoded(result) : url
  }

  /// The text without its last word if that may go on: a directive matches whole words.
  private static func wholeWords(_ text: String, before after: String?) -> ArraySlice<UInt8> {
    var words = Text.bytes(Text.start(of: text, atMost: textLimit))[...]
    let isCut = words.count < Text.size(text)
    let goesOn = after.map { Text.withBytes($0) { bytes in bytes.first.map { !isBlank($0) } ?? false } } ?? false
    if isCut || goesOn && words.count >= cutFrom, let end = words.lastIndex(where: isBlank) { words = words[..<end] }
    return words
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let first = text.first, isBlank(first) { text.removeFirst() }
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == blank || byte >= 0x09 && byte <= 0x0D }

  private static func hasDirective(_ url: String) -> Bool {
    Text.withBytes(url) { bytes in
      let marked = 3
      for start in 0..<max(0, bytes.count - marked + 1)
      where bytes[start] == UInt8(ascii: ":") && bytes[start + 1] == UInt8(ascii: "~")
        && bytes[start + 2] == UInt8(ascii: ":")
      { return true }
      return false
    }
  }
}
