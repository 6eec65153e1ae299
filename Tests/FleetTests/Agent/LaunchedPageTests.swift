// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The pages that a launcher is asked to open (R12.3).
@Suite struct LaunchedPageTests {
  @Test(arguments: [
    "", "--flag", "-https://example.com/", " https://example.com/", "https://example.com/a b", "https://a/\n",
    "https://a/\0", "https://a/\"", "https://a/'\u{e9}", "javascript:alert(1)", "file:///etc/passwd",
    "https:example.com", "https://", "https://user:pw@example.com/", "https://example.com@evil.test/",
    "https://a/" + String(repeating: "b", count: Limits.url), "data:text/html,a", "https://127.1/", "https://a/\\",
  ])
  func `what is not one absolute http or https URL is no page, and refused (W10)`(page: String) {
    #expect(throws: SegueError.self) { try LaunchRequest(.openPage(page, browser: "firefox")).check() }
  }

  @Test func `a path with an at sign is no user`() throws {
    for page in ["https://a/@b", "https://a?@b", "https://a#@b", "http://[::1]:8080/@"] {
      try LaunchRequest(.openPage(page, browser: "firefox")).check()
    }
    #expect(throws: SegueError.self) { try LaunchRequest(.openPage("https://a/", browser: "")).check() }
  }
}
