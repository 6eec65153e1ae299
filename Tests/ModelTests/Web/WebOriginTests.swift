// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The origins of web pages (R12.1).
@Suite struct WebOriginTests {
  @Test(arguments: [
    ("https://example.com", "https://example.com"), ("HTTPS://Example.COM/a/b?c#d", "https://example.com"),
    ("http://example.com:80/", "http://example.com"), ("https://example.com:80/", "https://example.com:80"),
    ("https://example.com:0443", "https://example.com"), ("https://example.com:", "https://example.com"),
    ("https://example.com./", "https://example.com"), ("https://user:pw@example.com/", "https://example.com"),
    ("https://example.com@evil.test/", "https://evil.test"), ("https://a.b?https://example.com", "https://a.b"),
    ("https://evil.test#@example.com", "https://evil.test"),
    ("https://evil.test/@example.com", "https://evil.test"), ("http://[::1]:8080/x", "http://[::1]:8080"),
    ("http://[2001:DB8::A]", "http://[2001:db8::a]"), ("http://u@[::ffff:1.2.3.4]:80", "http://[::ffff:1.2.3.4]"),
    ("http://127.0.0.1:3000/", "http://127.0.0.1:3000"), ("http://localhost:8000", "http://localhost:8000"),
    ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example"),
    ("https://a_b.example/", "https://a_b.example"), ("https://example.com:65535", "https://example.com:65535"),
  ])
  func `the origin of a URL is scheme, host and port (R12.1)`(url: String, origin: String) {
    #expect(WebOrigin.of(url)?.text == origin)
    #expect(WebOrigin.read(origin)?.text == origin)
  }

  @Test(arguments: [
    "", "example.com", "ftp://example.com/", "file:///a", "javascript:alert(1)", "https:example.com", "https://",
    "https:///a", "https://user@/", "https://:443/", "https://./", "https://a..b/", "https://.a/", "https://a../",
    "https://ex%61mple.com/", "https://example.com:65536/", "https://example.com:0/", "https://example.com:1x/",
    "https://example.com:99999999999999999999/", "https://[v1.a]/", "https://a!b/", "https://1.2.3/", "https://127.1/",
    "https://2130706433/", "https://0x7f000001/", "https://1.2.3.04/", "https://1.2.3.256/", "https://a.1/",
    "https://a.0x1/", "https://[::1/", "http://a b/", "http://é.example/",
  ])
  func `a URL that browsers would read in another way, or not at all, has no origin (R12.1, W3, W10)`(url: String) {
    #expect(WebOrigin.of(url) == nil)
    #expect(WebOrigin.read(url) == nil)
  }

  @Test func `labels and names are as long as in the DNS`() {
    let label = String(repeating: "a", count: 63)
    #expect(WebOrigin.of("https://\(label).b/") != nil)
    #expect(WebOrigin.of("https://\(label)a.b/") == nil)
    let name = "\(label).\(label).\(label).\(String(repeating: "b", count: 61))"
    let longest = WebOrigin.of("https://\(name):65535/")
    #expect(longest?.text.utf8.count == Limits.webOrigin)
    #expect(WebOrigin.read(longest?.text ?? "") != nil)
    #expect(WebOrigin.of("https://\(name)b/") == nil)
    #expect(WebOrigin.of("https://a/" + String(repeating: "b", count: Limits.url)) == nil)
  }

  @Test func `only the text of an origin is read as one`() {
    for text in [
      "https://example.com/", "https://example.com:443", "https://example.com.", "HTTPS://example.com",
      "https://u@example.com", "https://example.com#", "https://example.com?",
    ] { #expect(WebOrigin.read(text) == nil, "\(text)") }
  }

  @Test func `an address is no name`() {
    #expect(WebOrigin.of("https://example.com")?.host.isName == true)
    for url in ["https://1.2.3.4", "https://[::1]"] { #expect(WebOrigin.of(url)?.host.isName == false) }
  }
}
