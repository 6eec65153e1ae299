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
    let rest = url.text.utf8.dropFirst(url.scheme.count + 1)
    guard rest.starts(with: "//".utf8) else { return false }
    let authority = rest.dropFirst(2).prefix {
      $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
    }
    let afterUser =
      authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] } ?? authority
    guard let first = afterUser.first else { return false }
    return first != UInt8(ascii: ":")
  }
}
