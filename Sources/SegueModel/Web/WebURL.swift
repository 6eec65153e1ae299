// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The web pages that an activity may name.
enum WebURL {
  /// Checks a URL: nil, or absolute by RFC 3986, http or https, with a host (R1.5).
  static func check(_ url: String?, _ name: String) throws(SegueError) {
    guard let url else { return }
    try Text.check(Optional(url), name, atMost: Limits.url)
    guard let uri = AbsoluteURL(url) else {
      throw SegueError(.invalidURL, "\(name): not an absolute URL by RFC 3986")
    }
    guard uri.hasScheme("http") || uri.hasScheme("https") else {
      throw SegueError(.invalidURL, "\(name): the scheme must be http or https")
    }
    guard hasHost(uri) else { throw SegueError(.invalidURL, "\(name): has no host") }
  }

  /// Whether there is a host between `//` and the path, apart from a user and a port.
  private static func hasHost(_ url: AbsoluteURL) -> Bool {
    Text.withBytes(url.text) { text in
      var start = url.schemeCount + 1
      guard text.count >= start + 2, text[start] == UInt8(ascii: "/"), text[start + 1] == UInt8(ascii: "/") else {
        return false
      }
      start += 2
      for end in start..<text.count {
        switch text[end] {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return hasHost(text[start..<end])
        case UInt8(ascii: "@"): start = end + 1
        default: break
        }
      }
      return hasHost(text[start...])
    }
  }

  /// - Parameter address: what follows the user.
  private static func hasHost(_ address: Slice<UnsafeRawBufferPointer>) -> Bool {
    address.first.map { $0 != UInt8(ascii: ":") } ?? false
  }
}
