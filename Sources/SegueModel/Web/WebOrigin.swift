// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The origin of a web page (RFC 6454 §4): scheme, host and port, never a path (R12.1). An object, since it goes with
/// each offer.
public final class WebOrigin: Sendable {
  public enum Scheme: Sendable {
    case http, https

    public var name: StaticString {
      switch self {
      case .http: "http"
      case .https: "https"
      }
    }

    var defaultPort: UInt16 {
      switch self {
      case .http: 80
      case .https: 443
      }
    }
  }

  public let scheme: Scheme
  public let host: HostName
  /// 1 to 65535.
  public let port: UInt16
  /// `https://example.com`, `http://[::1]:8080`: in lower case, without the scheme's own port and a trailing dot.
  public let text: String

  private init(_ scheme: Scheme, _ host: HostName, _ port: UInt16) {
    self.scheme = scheme
    self.host = host
    self.port = port
    let isDefault = port == scheme.defaultPort
    text =
      isDefault
      ? String(joining: "\(scheme.name)://\(host.text)") : String(joining: "\(scheme.name)://\(host.text):\(Int(port))")
  }

  /// Whether the port is the scheme's own.
  public var hasDefaultPort: Bool { scheme.defaultPort == port }

  /// Whether nobody on the way can change the page (W3C Secure Contexts §3.1): it comes by https, or from this machine.
  public var isSecure: Bool {
    if case .https = scheme { return true }
    return Text.withBytes(host.text) { name in
      guard host.isName else { return name.starts(with: "127.".utf8) || name.elementsEqual("[::1]".utf8) }
      return name.elementsEqual("localhost".utf8) || name.suffix(10).elementsEqual(".localhost".utf8)
    }
  }

  /// Whether both are the same, or there is neither.
  public static func isSame(_ one: WebOrigin?, _ other: WebOrigin?) -> Bool { Text.isSame(one?.text, other?.text) }

  /// The origin of an absolute URL. Nil if there is none: another scheme, a host that no server has, a port that is no
  /// number from 1 to 65535.
  public static func of(_ url: String?) -> WebOrigin? {
    guard let url, Text.size(url) <= Limits.url, let absolute = AbsoluteURL(url) else { return nil }
    let scheme: Scheme
    if absolute.hasScheme("https") {
      scheme = .https
    } else if absolute.hasScheme("http") {
      scheme = .http
    } else {
      return nil
    }
    return Text.withBytes(url) { text in
      let rest = text[(absolute.schemeCount + 1)...]
      guard rest.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) else { return nil }
      return of(scheme, authority: rest.dropFirst(2).prefix { !isEnd($0) })
    }
  }

  /// The origin that `text` is. Nil unless the text is as `text` of an origin is.
  public static func read(_ text: String) -> WebOrigin? {
    guard Text.size(text) <= Limits.webOrigin, let origin = of(text), Text.isSame(origin.text, text) else { return nil }
    return origin
  }

  /// Whether the authority of a URL ends before the byte.
  private static func isEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  /// - Parameter authority: by the grammar of RFC 3986: `user@host:port`, of which user and port may be absent.
  private static func of(_ scheme: Scheme, authority: Slice<UnsafeRawBufferPointer>) -> WebOrigin? {
    let address = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
    var end = address.endIndex
    if address.first == UInt8(ascii: "[") {
      guard let bracket = address.lastIndex(of: UInt8(ascii: "]")) else { return nil }
      end = bracket + 1
    } else if let colon = address.lastIndex(of: UInt8(ascii: ":")) {
      end = colon
    }
    guard let host = HostName.read(address[..<end]) else { return nil }
    let digits = address[end...].dropFirst()
    guard !digits.isEmpty else { return WebOrigin(scheme, host, scheme.defaultPort) }
    return port(digits).map { WebOrigin(scheme, host, $0) }
  }

  private static func port(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt16? {
    var number = 0
    for byte in digits {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
      guard number <= UInt16.max else { return nil }
    }
    return number == 0 ? nil : UInt16(exactly: number)
  }
}
