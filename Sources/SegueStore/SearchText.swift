import SegueModel

/// Text as the index has it, and what is asked of the index.
///
/// The tokenizer takes Chinese, Japanese and Korean, which have no blanks between words, as one word to the next mark.
/// So each such character is stored as a word, and asked for as one; several of them are asked for as a phrase.
enum SearchText {
  /// The text with blanks around each character that is a word by itself.
  static func spaced(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isWord(scalar.value) {
        result.append(" ")
        result.append(scalar)
        result.append(" ")
      } else {
        // SQLite would end the text at a zero.
        result.append(scalar.value == 0 ? " " : scalar)
      }
    }
    return String(result)
  }

  /// What to ask FTS5 for all words of a query; nil if there are none. A word that ends in `*` is a prefix.
  /// Throws LIMIT_EXCEEDED beyond `Limits.query` bytes or `Limits.queryWords` words.
  static func expression(_ query: String) throws(SegueError) -> String? {
    guard query.utf8.count <= Limits.query else {
      throw SegueError(.limitExceeded, "query: \(query.utf8.count) bytes, at most \(Limits.query) are allowed")
    }
    var words: [String] = []
    var word = String.UnicodeScalarView()
    for scalar in query.unicodeScalars {
      if isBlank(scalar.value) {
        if let phrase = phrase(word) { words.append(phrase) }
        word = String.UnicodeScalarView()
      } else {
        word.append(scalar)
      }
    }
    if let phrase = phrase(word) { words.append(phrase) }
    guard words.count <= Limits.queryWords else {
      throw SegueError(.limitExceeded, "query: \(words.count) words, at most \(Limits.queryWords) are allowed")
    }
    return words.isEmpty ? nil : words.joined(separator: " ")
  }

  /// A word as a string of FTS5 (its manual, section 3.1); nil if nothing is in it that the index could have.
  private static func phrase(_ word: String.UnicodeScalarView) -> String? {
    let isPrefix = word.last == "*"
    guard word.contains(where: { isWordLike($0.value) }) else { return nil }
    var quoted = String.UnicodeScalarView()
    quoted.append("\"")
    // A mark of quotation separates words like any other mark.
    for scalar in spaced(String(word)).unicodeScalars { quoted.append(scalar == "\"" ? " " : scalar) }
    quoted.append("\"")
    if isPrefix { quoted.append(contentsOf: " *".unicodeScalars) }
    return String(quoted)
  }

  /// Whether a character may be part of a word: letters and digits of ASCII, and whatever is beyond it.
  private static func isWordLike(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x80...: true
    default: false
    }
  }

  private static func isBlank(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0...0x20, 0x7f, 0x85, 0xa0, 0x1680, 0x2000...0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000: true
    default: false
    }
  }

  /// Kana, ideographs and Hangul syllables, of which each is a word.
  private static func isWord(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x3005...0x3007, 0x3040...0x30ff, 0x31f0...0x31ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xac00...0xd7af,
      0xf900...0xfaff, 0xff66...0xff9f, 0x20000...0x3ffff:
      true
    default: false
    }
  }
}
