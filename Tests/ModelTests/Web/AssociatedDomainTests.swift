// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The claims of apps on sites (R12.8).
@Suite struct AssociatedDomainTests {
  private func covers(_ claim: String, _ url: String) throws -> Bool {
    let domain = try #require(try AssociatedDomain.read("activitycontinuation:\(claim)"))
    let origin = try #require(WebOrigin.of(url), "\(url)")
    return domain.covers(origin)
  }

  @Test(arguments: [
    ("example.com", "https://example.com/a"), ("EXAMPLE.com.", "https://example.COM./"),
    ("example.com", "http://example.com/"), ("example.com?mode=developer", "https://example.com:443/"),
    ("*.example.com", "https://www.example.com/"), ("*.example.com", "https://a.b.example.com./"),
    ("xn--bcher-kva.example", "https://XN--bcher-kva.example/"), ("example.com", "https://user@example.com/"),
    ("localhost", "http://localhost/"),
  ])
  func `a claim is for the pages of its host, or of those below it (R12.8)`(claim: String, url: String) throws {
    #expect(try covers(claim, url))
  }

  @Test(arguments: [
    ("example.com", "https://notexample.com/"), ("*.example.com", "https://notexample.com/"),
    ("example.com", "https://example.com.evil.test/"), ("*.example.com", "https://example.com.evil.test/"),
    ("example.com", "https://www.example.com/"), ("*.example.com", "https://example.com/"),
    ("example.com", "https://xn--example-9d0b.com/"), ("example.com", "https://example.com:8443/"),
    ("example.com", "http://example.com:443/"), ("example.com", "https://example.com@evil.test/"),
    ("*.example.com", "https://evil.test/.example.com"), ("*.example.com", "https://1.2.3.4/"),
    ("example.com", "https://[2001:db8::1]/"), ("*.0.0.com", "https://evil.com/"),
  ])
  func `a claim is for no other site (R12.8, W3)`(claim: String, url: String) throws {
    #expect(try !covers(claim, url))
  }

  @Test(arguments: [
    "", "*", "*.", "*.com", "*.com.", "*.*.example.com", "www.*.com", "*example.com", "a b.com", "bücher.example",
    "example.com:8443", "example.com/", "https://example.com", "-a.com", "a-.com", "a_b.com", "a..com", ".a.com",
    "1.2.3.4", "[::1]", "127.1", "0x7f000001", "*.1.2.3.4", "example.com#a", "?mode=developer",
    String(repeating: "a", count: 64) + ".com",
  ])
  func `these are no sites that an app can claim (R12.8, W3)`(claim: String) {
    #expect(throws: SegueError.self) { try AssociatedDomain.read("activitycontinuation:\(claim)") }
  }

  @Test func `other services are not Handoff's, and their entries are no errors (R12.8)`() throws {
    for entry in ["applinks:example.com", "webcredentials:*", "appclips:", "ActivityContinuation:a.com", "a.com", ""] {
      #expect(try AssociatedDomain.read(entry) == nil)
    }
  }

  @Test func `only a claim for developers may be for a private address (R12.8, W13)`() throws {
    func isForDevelopers(_ query: String) throws -> Bool? {
      try AssociatedDomain.read("activitycontinuation:example.com\(query)")?.isForDevelopers
    }
    #expect(try isForDevelopers("?mode=developer") == true)
    #expect(try isForDevelopers("?mode=managed+developer") == true)
    for query in ["", "?", "?mode=", "?mode=managed", "?mode=developers", "?developer", "?other=developer"] {
      #expect(try isForDevelopers(query) == false)
    }
  }
}
