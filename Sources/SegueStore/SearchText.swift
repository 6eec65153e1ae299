// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Text as the index has it, and what is asked of the index.
///
/// The tokenizer takes Chinese, Japanese and Korean, which have no blanks between words, as one word to the next mark.
/// So each such character is stored as a word, and asked for as one; several of them are asked for as a phrase.
///
/// The tokenizer removes accents and folds case, one character into one. Differences that it leaves are folded here: ß
/// is ss, and vowel points and elongation, which Arabic and Hebrew have or have not, are left out.
enum SearchText {
  /// The text, folded, with blanks around each character that is a word by itself.
  static func spaced(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars where !isPoint(scalar.value) {
      if scalar.value == 0xdf || scalar.value == 0x1e9e {
        result.append("s")
        result.append("s")
      } else if isWord(scalar.value) {
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

  /// The FTS5 expression for all words of a query; nil if nothing is asked for. A word that ends in `*` is a prefix.
  /// Marks and symbols alone find nothing; beside words they count for nothing.
  /// Throws LIMIT_EXCEEDED beyond `Limits.query` bytes or `Limits.queryWords` words.
  static func expression(_ query: String) throws(SegueError) -> String? {
    guard query.utf8.count <= Limits.query else {
      throw SegueError(.limitExceeded, "query: \(query.utf8.count) bytes, at most \(Limits.query) are allowed")
    }
    var words: [String] = []
    var word = String.UnicodeScalarView()
    var hasMarks = false
    func end() {
      if let phrase = phrase(word) {
        words.append(phrase)
      } else if word.contains(where: { $0 != "*" }) {
        hasMarks = true
      }
      word = String.UnicodeScalarView()
    }
    for scalar in query.unicodeScalars {
      if isBlank(scalar.value) { end() } else { word.append(scalar) }
    }
    end()
    guard words.count <= Limits.queryWords else {
      throw SegueError(.limitExceeded, "query: \(words.count) words, at most \(Limits.queryWords) are allowed")
    }
    if words.isEmpty { return hasMarks ? "\"\"" : nil }
    return words.joined(separator: " ")
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

  /// Points and signs of Hebrew and Arabic, which the tokenizer takes for the end of a word; and elongation.
  private static func isPoint(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x591...0x5bd, 0x5bf, 0x5c1...0x5c2, 0x5c4...0x5c5, 0x5c7, 0x610...0x61a, 0x640, 0x64b...0x65f, 0x670,
      0x6d6...0x6dc, 0x6df...0x6e4, 0x6e7...0x6e8, 0x6ea...0x6ed:
      true
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
