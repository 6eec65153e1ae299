// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Glibc
import SegueModel

/// Any text as a URL, compared with the grammar of RFC 3986, appendix A, as a regular expression of the C library.
func fuzzURLs(_ bytes: UnsafeRawBufferPointer) {
  let isURL = AbsoluteURL.schemeCount(bytes) != nil
  require(isURL == Grammar.uri.matches(bytes), "RFC 3986 sees it otherwise")
  guard isURL else { return }
  let text = String(decoding: bytes, as: UTF8.self)
  guard let url = AbsoluteURL(text) else { fatalError("the text of a URL is none") }
  require(Text.isSame(url.text, text), "the URL is another")
  var writer = ValueWriter()
  guard (try? writer.put(url: bytes)) != nil, let value = try? writer.finish() else {
    fatalError("a URL that no value holds")
  }
  require(Text.isSame((try? Value(cbor: value.encoding))?.url, text), "another URL came back")
  var activity = try! Activity(type: "type")
  let isWeb = (try? activity.setWebpageURL(text)) != nil
  require(isWeb == Grammar.web.matches(bytes), "a web page or not")
}

/// Compiled once; bytes beyond ASCII match nothing.
private struct Grammar {
  static let uri = Grammar("\(scheme):(//\(authority)\(rest)|/(\(pchar)+\(rest))?|\(pchar)+\(rest))?\(end)")
  /// With a host that is not empty.
  static let web = Grammar("[hH][tT][tT][pP][sS]?://(\(userinfo)@)?(\(literal)|\(name)+)(:[0-9]*)?\(rest)\(end)")

  private static let scheme = "[A-Za-z][A-Za-z0-9+.-]*"
  private static let plain = "[A-Za-z0-9._~!$&'()*+,;=-]"
  private static let encoded = "%[0-9A-Fa-f][0-9A-Fa-f]"
  private static let name = "(\(plain)|\(encoded))"
  private static let pchar = "([A-Za-z0-9._~!$&'()*+,;=:@-]|\(encoded))"
  private static let userinfo = "([A-Za-z0-9._~!$&'()*+,;=:-]|\(encoded))*"
  private static let authority = "(\(userinfo)@)?(\(literal)|\(name)*)(:[0-9]*)?"
  private static let rest = "(/\(pchar)*)*"
  private static let end = "([?](\(pchar)|[/?])*)?(#(\(pchar)|[/?])*)?"
  private static let literal = "\\[(\(address)|[vV][0-9A-Fa-f]+[.]([A-Za-z0-9._~!$&'()*+,;=:-])+)\\]"

  private static let group = "[0-9A-Fa-f]{1,4}"
  private static let octet = "([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
  private static let last = "(\(group):\(group)|\(octet)[.]\(octet)[.]\(octet)[.]\(octet))"
  private static let address = """
    ((\(group):){6}\(last)|::(\(group):){5}\(last)|(\(group))?::(\(group):){4}\(last)\
    |((\(group):){0,1}\(group))?::(\(group):){3}\(last)|((\(group):){0,2}\(group))?::(\(group):){2}\(last)\
    |((\(group):){0,3}\(group))?::\(group):\(last)|((\(group):){0,4}\(group))?::\(last)\
    |((\(group):){0,5}\(group))?::\(group)|((\(group):){0,6}\(group))?::)
    """

  private nonisolated(unsafe) let expression = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)

  private init(_ text: String) {
    require(regcomp(expression, "^(\(text))$", REG_EXTENDED | REG_NOSUB) == 0, "not an expression: \(text)")
  }

  func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.contains(0), !bytes.contains(10) else { return false }
    return (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer {
      regexec(expression, $0.baseAddress, 0, nil, 0) == 0
    }
  }
}
