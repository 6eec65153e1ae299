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
  /// Bytes of what stands before or after it: 32 characters of four bytes.
  private static let contextLimit = 128
  /// Bytes from which on that may have been cut within a word.
  private static let contextCutFrom = 30
  private static let blank = UInt8(ascii: " ")

  /// Returns a URL with a directive for a place. Returns the URL alone if the place has no text, if the URL has a
  /// directive, or if both together are longer than `Limits.url`. The text may stand several times on the page: the
  /// first directive is for the one with the same surroundings, the second counts where a browser does not find that.
  /// - Parameter state: `SegueBrowserState`, as another app has sent it.
  static func url(_ url: String, for state: Value) -> String {
    guard let text = state["text"]?.string, !hasDirective(url) else { return url }
    let before = state["before"]?.string ?? ""
    let after = state["after"]?.string ?? ""
    let (words, isCut) = wholeWords(text, before: after)
    guard !words.isEmpty else { return url }
    let prefix = context(before, isBefore: true)
    let suffix = isCut ? [] : context(after, isBefore: false)
    var result = Text.bytes(url)
    if !Text.has(url, UInt8(ascii: "#")) { result.append(UInt8(ascii: "#")) }
    add(mark, to: &result)
    if !prefix.isEmpty || !suffix.isEmpty {
      if !prefix.isEmpty {
        escape(prefix, to: &result)
        add("-,", to: &result)
      }
      escape(words, to: &result)
      if !suffix.isEmpty {
        add(",-", to: &result)
        escape(suffix, to: &result)
      }
      add("&text=", to: &result)
    }
    escape(words, to: &result)
    return result.count <= Limits.url ? Text.decoded(result) : url
  }

  private static func add(_ text: StaticString, to result: inout [UInt8]) {
    for index in 0..<text.utf8CodeUnitCount { result.append(text.utf8Start[index]) }
  }

  private static func escape(_ text: ArraySlice<UInt8>, to result: inout [UInt8]) {
    for byte in text {
      // A hyphen is syntax of the directive.
      if byte == UInt8(ascii: "-") {
        result += [0x25, 0x32, 0x44]
      } else {
        FilePath.append([byte], to: &result, keepingSlashes: false)
      }
    }
  }

  /// The line that stands before or after a text, as far as it has whole words. Lines of the surroundings are parted by
  /// two blanks, since a directive matches within a line.
  private static func context(_ text: String, isBefore: Bool) -> ArraySlice<UInt8> {
    let size = Text.size(text)
    guard size <= contextLimit else { return [] }
    let bytes = trimmed(Text.bytes(text)[...])
    let ends = bytes.indices.filter { isBlank(bytes[$0]) && $0 > bytes.startIndex && isBlank(bytes[$0 - 1]) }
    if let end = isBefore ? ends.last : ends.first {
      return trimmed(isBefore ? bytes[end...] : bytes[..<end])
    }
    guard size >= contextCutFrom else { return bytes }
    if isBefore { return bytes.firstIndex(where: isBlank).map { trimmed(bytes[$0...]) } ?? [] }
    return bytes.lastIndex(where: isBlank).map { trimmed(bytes[..<$0]) } ?? []
  }

  /// The text without its last word if that may go on: a directive matches whole words.
  private static func wholeWords(
    _ text: String, before after: String
  ) -> (words: ArraySlice<UInt8>, isCut: Bool) {
    let words = Text.bytes(Text.start(of: text, atMost: textLimit))[...]
    let isCut = words.count < Text.size(text)
    let goesOn = Text.withBytes(after) { bytes in bytes.first.map { !isBlank($0) } ?? false }
    guard isCut || goesOn && words.count >= cutFrom else { return (trimmed(words), false) }
    return (trimmed(words.lastIndex(where: isBlank).map { words[..<$0] } ?? words), true)
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
