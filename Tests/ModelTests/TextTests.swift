// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueModel

@Suite struct TextTests {
  private func given(_ text: String, _ limit: Int) -> Status {
    status { () throws(SegueError) in try Text.check(text, "name", atMost: limit) }
  }

  @Test func `text that must be there is not empty, and within its bytes (section 9)`() {
    #expect(given("", 3) == .invalidArgument)
    #expect(given("abc", 3) == .ok)
    #expect(given("abcd", 3) == .limitExceeded)
    #expect(given("éé", 3) == .limitExceeded)
    #expect(throws: SegueError(.limitExceeded, "name: 4 bytes, at most 3 are allowed")) {
      try Text.check(Optional("abcd"), "name", atMost: 3)
    }
  }

  @Test(arguments: [
    "\n", "\u{0}", "\u{1f}", "\u{7f}", "\u{80}", "\u{9b}", "\u{9f}", "\u{200e}", "\u{200f}", "\u{2028}", "\u{2029}",
    "\u{202e}", "\u{2066}", "\u{2069}",
  ]) func `a blank stands for a control character in a line, at each place of it`(control: String) {
    #expect(Text.oneLine("a\(control)b") == Array("a b".utf8))
    #expect(Text.withOneLine("a\(control)") { Array($0) } == Array("a ".utf8))
    #expect(Text.oneLine("\(control)\(control)é\(control)") == Array("  é ".utf8))
  }

  @Test(arguments: ["", " ~", "\u{a0}é", "\u{200d}", "\u{2027}\u{202f}", "\u{2065}\u{206a}", "\u{20ac}", "👩‍👧"])
  func `all else stays in a line`(text: String) {
    #expect(Text.oneLine(text) == Array(text.utf8))
    #expect(Text.withOneLine(text) { Array($0) } == Array(text.utf8))
  }

  @Test(arguments: [("", ""), ("abcd", "abcd"), ("abcde", "abcd"), ("abcé", "abc"), ("ab€", "ab"), ("aé€", "aé")])
  func `the start of a text ends with a whole character`(text: String, start: String) {
    #expect(Text.start(of: text, atMost: 4) == start)
  }

  @Test func `the same text is the same bytes, and no text is no text (R1.2)`() {
    #expect(Text.isSame("\u{e9}", "\u{e9}") && !Text.isSame("\u{e9}", "e\u{301}"))
    #expect(Text.isSame(nil, nil) && !Text.isSame(nil, "") && !Text.isSame("", nil))
    #expect(Text.isSame(Optional("a"), Optional("a")) && !Text.isSame(Optional("a"), Optional("b")))
  }

  @Test(arguments: ["", "a", "fifteen letters", "sixteen letters!", "é\u{0}👩‍👧", String(repeating: "é", count: 100)])
  func `text and its bytes are the same, whether they are few or many`(text: String) {
    let bytes = Array(text.utf8)
    #expect(Text.size(text) == bytes.count && Text.bytes(text) == bytes)
    #expect(Text.terminated(text) == bytes.map { CChar(bitPattern: $0) } + [0])
    #expect(Text.isSame(Text.decoded(bytes), text))
  }

  @Test(arguments: [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]])
  func `bytes that are no text become one that says so, and no URL`(bytes: [UInt8]) {
    let text = Text.decoded(bytes)
    #expect(text.unicodeScalars.contains("\u{FFFD}"))
    #expect(AbsoluteURL("http://example.com/\(text)") == nil)
    #expect(text.utf8.prefix { $0 < 0x80 }.elementsEqual(bytes.prefix { $0 < 0x80 }))
  }
}
