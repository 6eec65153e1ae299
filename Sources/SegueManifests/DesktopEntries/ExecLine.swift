// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The key `Exec` of a `.desktop` file, as the Desktop Entry Specification reads it: first the escape sequences of
/// strings are resolved, then quotes, then field codes. No shell is involved.
public enum ExecLine {
  /// The values that field codes stand for.
  public struct Fields {
    /// `%i`; nil: no icon.
    let icon: String?
    /// `%c`
    let name: String
    /// `%k`
    let path: String
    /// `%u`, `%U`, `%f`, `%F`: the web page that is opened; nil: none.
    let page: String?

    public init(icon: String?, name: String, path: String, page: String? = nil) {
      self.icon = icon
      self.name = name
      self.path = path
      self.page = page
    }
  }

  private struct Word {
    var text: [UInt8] = []
    var isQuoted = false
  }

  /// The program and its arguments. A page stands in the place of the first field code for it, else at the end: in one
  /// argument, and once.
  /// - Parameter value: the value as it stands in the file.
  /// Throws MALFORMED, which says what is wrong; LIMIT_EXCEEDED (all of it is longer than
  /// `Limits.manifestBytes`).
  public static func arguments(_ value: [UInt8], _ fields: Fields) throws(SegueError) -> [String] {
    let words = try words(try DesktopEntry.unescaped(value, "Exec"))
    var arguments: [String] = []
    var size = 0
    var page = fields.page
    for (index, word) in words.enumerated() {
      guard !word.isQuoted else {
        arguments.append(Text.decoded(word.text))
        continue
      }
      if word.text.elementsEqual("%i".utf8), index > 0 {
        if let icon = fields.icon, !icon.utf8.isEmpty { arguments += ["--icon", icon] }
        continue
      }
      guard let text = try expanded(word.text, fields, &page) else { continue }
      // Field codes may stand there many times.
      size += text.count
      guard size <= Limits.manifestBytes else { throw tooLong }
      arguments.append(Text.decoded(text))
    }
    try checkProgram(arguments.first)
    if let page { arguments.append(page) }
    return arguments
  }

  /// Splits at blanks, and removes quotes.
  private static func words(_ text: [UInt8]) throws(SegueError) -> [Word] {
    var words: [Word] = []
    var index = 0
    while index < text.count {
      guard text[index] != 0x20 else {
        index += 1
        continue
      }
      var word = Word()
      if text[index] == UInt8(ascii: "\"") {
        word.isQuoted = true
        index = try readQuoted(text, index + 1, into: &word.text)
        guard index == text.count || text[index] == 0x20 else {
          throw SegueError(.malformed, "Exec: an argument is quoted in part; expected a blank after the quote")
        }
      } else {
        while index < text.count, text[index] != 0x20 {
          guard !isReserved(text[index]) else {
            throw SegueError(
              .malformed, "Exec: the character \(shown(text[index])) is reserved; expected double quotes around it")
          }
          word.text.append(text[index])
          index += 1
        }
      }
      words.append(word)
    }
    return words
  }

  /// - Returns: the index after the closing quote.
  private static func readQuoted(
    _ text: [UInt8], _ start: Int, into word: inout [UInt8]
  ) throws(SegueError) -> Int {
    var index = start
    while index < text.count {
      let byte = text[index]
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return index
      case UInt8(ascii: "`"), UInt8(ascii: "$"):
        throw SegueError(.malformed, "Exec: the character \(shown(byte)) needs a backslash before it in quotes")
      case UInt8(ascii: "\\"):
        guard index < text.count, isEscapable(text[index]) else {
          throw SegueError(.malformed, "Exec: a backslash in quotes is followed by none of \", `, $ and \\")
        }
        word.append(text[index])
        index += 1
      case UInt8(ascii: "%"):
        // The result of a field code in quotes is undefined; a percent sign is not.
        guard index < text.count, text[index] == byte else {
          throw SegueError(.malformed, "Exec: a field code in quotes; expected it outside of them")
        }
        word.append(byte)
        index += 1
      default: word.append(byte)
      }
    }
    throw SegueError(.malformed, "Exec: a quote is not closed")
  }

  private static var tooLong: SegueError {
    SegueError(.limitExceeded, "Exec: more than \(Limits.manifestBytes) bytes with its field codes")
  }

  /// Nil: nothing is left of an argument that was only a field code.
  /// - Parameter page: the one that has no place yet; nil afterwards.
  private static func expanded(
    _ word: [UInt8], _ fields: Fields, _ page: inout String?
  ) throws(SegueError) -> [UInt8]? {
    guard word.contains(UInt8(ascii: "%")) else { return word }
    var result: [UInt8] = []
    var index = 0
    while index < word.count {
      let byte = word[index]
      index += 1
      guard byte == UInt8(ascii: "%") else {
        result.append(byte)
        continue
      }
      let code = index < word.count ? word[index] : 0
      index += 1
      guard result.count <= Limits.manifestBytes else { throw tooLong }
      switch code {
      case UInt8(ascii: "%"): result.append(code)
      case UInt8(ascii: "c"): result += Array(fields.name.utf8)
      case UInt8(ascii: "k"): result += Array(fields.path.utf8)
      case UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "u"), UInt8(ascii: "U"):
        if let text = page.take() {
          result += Array(text.utf8)
        } else if word.count == 2 {
          return nil
        }
      // These are deprecated.
      case UInt8(ascii: "d"), UInt8(ascii: "D"), UInt8(ascii: "n"), UInt8(ascii: "N"), UInt8(ascii: "v"),
        UInt8(ascii: "m"):
        if word.count == 2 { return nil }
      default:
        throw SegueError(.malformed, "Exec: %\(code == 0 ? "" : shown(code)) is no field code that may stand there")
      }
    }
    return result
  }

  /// Throws MALFORMED unless it is a program by its name, or by its absolute path.
  static func checkProgram(_ program: String?) throws(SegueError) {
    guard let program, !program.utf8.isEmpty else { throw SegueError(.malformed, "Exec: names no program") }
    if Text.has(program, UInt8(ascii: "=")) {
      throw SegueError(.malformed, "Exec: the program \(program) has an equals sign in its name")
    }
    if Text.has(program, UInt8(ascii: "/")), program.utf8.first != UInt8(ascii: "/") {
      throw SegueError(.malformed, "Exec: the program \(program): expected an absolute path, or only a name")
    }
  }

  private static func isEscapable(_ byte: UInt8) -> Bool {
    [UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "$"), UInt8(ascii: "\\")].contains(byte)
  }

  private static func isReserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x0A, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: ">"), UInt8(ascii: "<"),
      UInt8(ascii: "~"), UInt8(ascii: "|"), UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "$"),
      UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "`"):
      true
    default: false
    }
  }

  private static func shown(_ byte: UInt8) -> String {
    switch byte {
    case 0x09: "tab"
    case 0x0A: "newline"
    default: String(decoding: [byte], as: UTF8.self)
    }
  }
}
