// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueModel

/// Places of pages as parts of their URLs (R12.6).
@Suite struct TextDirectiveTests {
  private func url(_ url: String, _ entries: [(String, Value)]) throws -> String {
    let state = try Value.dictionary(entries.map { (key: .string($0.0), value: $0.1) })
    return TextDirective.url(url, for: state)
  }

  @Test(
    "a place becomes a directive, whatever bytes its text has (R12.6, W10, W20)",
    arguments: [
      ("Two words", "Two%20words"), ("  Two words\n", "Two%20words"), ("a-b,c&d", "a%2Db%2Cc%26d"),
      ("\u{FC}\u{0}\n--flag #", "%C3%BC%00%0A%2D%2Dflag%20%23"), ("\u{5929}", "%E5%A4%A9"),
      (":~:text=x", "%3A~%3Atext%3Dx"),
    ])
  func text(_ text: String, _ escaped: String) throws {
    #expect(try url("https://example.com/", [("text", .string(text))]) == "https://example.com/#:~:text=\(escaped)")
    #expect(try url("https://example.com/#a", [("text", .string(text))]) == "https://example.com/#a:~:text=\(escaped)")
  }

  @Test("a word that goes on is left out: a directive matches whole words (R12.6)")
  func words() throws {
    let words = String(repeating: "word ", count: 10)
    let whole = String(repeating: "word%20", count: 9) + "word"
    func made(_ text: String, _ after: Value) throws -> String {
      try url("http://a/", [("text", .string(text)), ("after", after)]).replacing("http://a/#:~:text=", with: "")
    }
    #expect(try made(words + "part", .string("ner of words")) == whole)
    #expect(
      try made(words + "part", .string(" of words")) == "\(whole)%20part,-of%20words&text=\(whole)%20part")
    #expect(try made(words + "part", .string("")) == whole + "%20part")
    #expect(try made(words + "part", .integer(7)) == whole + "%20part")
    #expect(try made("A short part", .string("ner")) == "A%20short%20part,-ner&text=A%20short%20part")
    let long = String(repeating: "word ", count: 1_000)
    #expect(try made(long, .null) == String(repeating: "word%20", count: 63) + "word")
  }

  @Test("a text that stands several times is found by what stands around it, in whole words (R12.6)")
  func context() throws {
    func made(_ before: String, _ after: String) throws -> String {
      let state: [(String, Value)] = [
        ("text", .string("Notes")), ("before", .string(before)), ("after", .string(after)),
      ]
      return try url("http://a/", state).replacing("http://a/#:~:text=", with: "")
    }
    #expect(try made("the end.", "") == "the%20end.-,Notes&text=Notes")
    #expect(try made(" the end.", " A-b") == "the%20end.-,Notes,-A%2Db&text=Notes")
    #expect(
      try made("ut off, as thirty two characters", "") == "off%2C%20as%20thirty%20two%20characters-,Notes&text=Notes")
    #expect(
      try made("", " thirty two characters are cut o") == "Notes,-thirty%20two%20characters%20are%20cut&text=Notes")
    #expect(try made("a line  and another", "  one more  line") == "and%20another-,Notes,-one%20more&text=Notes")
    #expect(try made(String(repeating: "x", count: 32), "") == "Notes")
    #expect(try made(String(repeating: "word ", count: 40), " ") == "Notes")
  }

  @Test(
    "without text, with a directive, and with a URL that would be too long, the URL stays (R12.6)",
    arguments: [
      ("https://a/", .string("")), ("https://a/", .string(" \n")), ("https://a/", .integer(1)),
      ("https://a/#:~:text=b", .string("c")), ("https://a/#b:~:", .string("c")),
      ("https://a/" + String(repeating: "x", count: Limits.url - 19), .string("c")),
    ] as [(String, Value)])
  func stays(_ page: String, _ text: Value) throws {
    #expect(try url(page, [("text", text)]) == page)
    #expect(TextDirective.url(page, for: text) == page)
  }
}
