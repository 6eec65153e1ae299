// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

struct AbsoluteURLTests {
  @Test(arguments: [
    "http://example.com", "https://user:pw@example.com:8080/a/b;c?d=e&f#g", "file:///home/anna/x",
    "urn:isbn:0451450523",
    "mailto:a@b.c", "a:", "a+b-c.1:/x", "http://[::1]/", "http://[2001:db8::7]:80", "http://[1:2:3:4:5:6:7:8]/",
    "http://[::ffff:1.2.3.4]", "http://[1:2:3:4:5:6:1.2.3.4]", "http://[1::]", "http://[v7.a:b]", "http://u@[::1]",
    "x://", "x:////a", "http://a%20b/%C3%A9", "x:?", "x:#", "x:?/?#/?", "http://h:/", "tel:+1-816-555-1212",
  ])
  func `These are absolute URLs (RFC 3986)`(url: String) {
    #expect(AbsoluteURL(url) != nil, "\(url)")
    #expect((try? Value.url(url))?.url == url)
  }

  @Test(arguments: [
    "", ":", "a", "/a/b", "//h/a", "1a:b", "a b:c", "é:x", "http://é/", "http://a b/", "x:%", "x:%2", "x:%2g",
    "x:a#b#c",
    "http://h:8x/", "http://a:b:c/", "http://a@b@c/", "http://[::1", "http://[1:2]", "http://[1::2::3]",
    "http://[1:2:3:4:5:6:7:8:9]", "http://[1:2:3:4:5:6:7::8]x", "http://[12345::]", "http://[::1.2.3]",
    "http://[::256.1.1.1]", "http://[::01.1.1.1]", "http://[:1]", "http://[]", "http://[v.a]", "http://[v1.]",
    "x:<a>", "x:a\\b", "x:a\0", "x:\"", "x:a|b", "x:[a]", "http://h/[", "\u{feff}x:y",
  ])
  func `These are not`(url: String) {
    #expect(AbsoluteURL(url) == nil, "\(url)")
    #expect(status { () throws(SegueError) in _ = try Value.url(url) } == .invalidURL)
  }

  @Test func `The scheme is found, without regard to case`() {
    #expect(AbsoluteURL("HtTpS://x")?.hasScheme("https") == true)
    #expect(AbsoluteURL("http://x")?.hasScheme("https") == false)
  }

  @Test(arguments: 0..<8)
  func `What the grammar makes is accepted, and refused with one byte that it never makes`(seed: Int) {
    var random = Seeded(seed: UInt64(seed))
    let plain = [
      "a", "Z", "0", "-", ".", "_", "~", "!", "$", "&", "'", "(", ")", "*", "+", ",", ";", "=", "%2f", "%AB",
    ]
    func some(_ extra: [String], _ random: inout Seeded) -> String {
      (0..<Int.random(in: 0...8, using: &random)).map { _ in (plain + extra).randomElement(using: &random)! }.joined()
    }
    for _ in 0..<500 {
      var url = "s" + ["", "1", "+x", "-.9"].randomElement(using: &random)! + ":"
      if Bool.random(using: &random) {
        url += "//" + (Bool.random(using: &random) ? some([":"], &random) + "@" : "") + some([], &random)
        if Bool.random(using: &random) { url += ":\(UInt16.random(in: 0 ... .max, using: &random))" }
        if Bool.random(using: &random) { url += "/" + some([":", "@", "/"], &random) }
      } else {
        url += some([":", "@"], &random)
      }
      if Bool.random(using: &random) { url += "?" + some([":", "@", "/", "?"], &random) }
      if Bool.random(using: &random) { url += "#" + some([":", "@", "/", "?"], &random) }
      #expect(AbsoluteURL(url) != nil, "seed \(seed): \(url)")
      var broken = Array(url.utf8)
      let place = Int.random(in: 0...broken.count, using: &random)
      broken.insert(
        [0, 0x20, 0x22, 0x3c, 0x3e, 0x5c, 0x5e, 0x60, 0x7b, 0x7c, 0x7d, 0x7f, 0x80, 0xff].randomElement(
          using: &random)!, at: place)
      #expect(broken.withUnsafeBytes { AbsoluteURL.schemeCount($0) } == nil, "seed \(seed): \(url)")
    }
  }
}
