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

  @Test func `the same text is the same bytes, and no text is no text (R1.2)`() {
    #expect(Text.isSame("\u{e9}", "\u{e9}") && !Text.isSame("\u{e9}", "e\u{301}"))
    #expect(Text.isSame(nil, nil) && !Text.isSame(nil, "") && !Text.isSame("", nil))
    #expect(Text.isSame(Optional("a"), Optional("a")) && !Text.isSame(Optional("a"), Optional("b")))
  }
}
