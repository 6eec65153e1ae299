// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A URL with a scheme, checked byte for byte against the grammar `URI` of RFC 3986, appendix A, and never changed.
public struct AbsoluteURL: Sendable {
  public let text: String
  /// The bytes of the text before the first colon.
  let schemeCount: Int

  /// Nil unless `text` is an absolute URL.
  public init?(_ text: String) {
    guard let schemeCount = Text.withBytes(text, { AbsoluteURL.schemeCount($0) }) else { return nil }
    self.text = text
    self.schemeCount = schemeCount
  }

  /// Whether this is the scheme: schemes ignore case (RFC 3986 §3.1).
  public func hasScheme(_ name: StaticString) -> Bool {
    guard name.hasPointerRepresentation, name.utf8CodeUnitCount == schemeCount else { return false }
    return Text.withBytes(text) { text in
      for offset in 0..<schemeCount {
        let (byte, wanted) = (text[offset], name.utf8Start[offset])
        guard byte == wanted || (byte ^ wanted == 0x20 && Grammar.isLetter(byte)) else { return false }
      }
      return true
    }
  }

  /// The bytes of the scheme of an absolute URL; nil if the text is not one.
  public static func schemeCount(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard let base = bytes.baseAddress else { return nil }
    var grammar = Grammar(base: base, end: bytes.count)
    return grammar.schemeOfURI()
  }

  /// A cursor over the text; each function consumes one production of RFC 3986, appendix A, or returns false.
  private struct Grammar {
    let base: UnsafeRawPointer
    let end: Int
    var offset = 0

    init(base: UnsafeRawPointer, end: Int) {
      self.base = base
      self.end = end
    }

    /// URI = scheme ":" hier-part [ "?" query ] [ "#" fragment ]
    mutating func schemeOfURI() -> Int? {
      guard let first = peek(), Grammar.isLetter(first) else { return nil }
      while let byte = peek(), Grammar.isLetter(byte) || Grammar.isDigit(byte) || Grammar.isOneOf(byte, "+-.") {
        offset += 1
      }
      let schemeCount = offset
      guard take(":") else { return nil }
      if peek() == 0x2f, peek(1) == 0x2f {
        offset += 2
        guard authority() else { return nil }
        if let byte = peek(), !Grammar.isOneOf(byte, "/?#") { return nil }
      }
      guard characters(and: "/:@") else { return nil }
      if take("?"), !characters(and: "/:@?") { return nil }
      if take("#"), !characters(and: "/:@?") { return nil }
      return offset == end ? schemeCount : nil
    }

    /// authority = [ userinfo "@" ] host [ ":" port ]
    private mutating func authority() -> Bool {
      let start = offset
      guard characters(and: ":") else { return false }
      if take("@") {
        if peek() == 0x5b { return literal() && port() }
      } else {
        offset = start
        if peek() == 0x5b { return literal() && port() }
      }
      return characters(and: "") && port()
    }

    /// [ ":" *DIGIT ]
    private mutating func port() -> Bool {
      guard take(":") else { return true }
      while let byte = peek(), Grammar.isDigit(byte) { offset += 1 }
      return true
    }

    /// IP-literal = "[" ( IPv6address / IPvFuture ) "]"
    private mutating func literal() -> Bool {
      guard take("[") else { return false }
      guard take("v") || take("V") else { return addressOfVersion6() && take("]") }
      let digits = hexadecimals(atMost: end)
      guard digits > 0, take(".") else { return false }
      let start = offset
      while let byte = peek(), Grammar.isPlain(byte) || byte == 0x3a { offset += 1 }
      return offset > start && take("]")
    }

    /// Eight groups of 16 bits, the last two optionally as IPv4; "::" once in place of one or more of them.
    private mutating func addressOfVersion6() -> Bool {
      var groups = 0
      var isElided = false
      if peek() == 0x3a {
        guard peek(1) == 0x3a else { return false }
        offset += 2
        isElided = true
        if peek() == 0x5d { return true }
      }
      while true {
        let start = offset
        guard hexadecimals(atMost: 4) > 0 else { return false }
        if peek() == 0x2e {
          offset = start
          guard addressOfVersion4() else { return false }
          groups += 2
          break
        }
        groups += 1
        guard groups <= 8, take(":") else { break }
        if take(":") {
          guard !isElided else { return false }
          isElided = true
          if peek() == 0x5d { break }
        }
      }
      return isElided ? groups <= 7 : groups == 8
    }

    /// IPv4address = dec-octet "." dec-octet "." dec-octet "." dec-octet
    private mutating func addressOfVersion4() -> Bool {
      for part in 0..<4 {
        if part > 0, !take(".") { return false }
        let start = offset
        var number = 0
        while let byte = peek(), Grammar.isDigit(byte), offset - start < 3 {
          number = number * 10 + Int(byte - 0x30)
          offset += 1
        }
        let count = offset - start
        guard count > 0, number <= 255, count == 1 || base.load(fromByteOffset: start, as: UInt8.self) != 0x30 else {
          return false
        }
      }
      return true
    }

    /// Consumes unreserved characters, sub-delims, percent-encoded bytes and `others`; false if a percent sign is not
    /// followed by two hexadecimal digits.
    private mutating func characters(and others: StaticString) -> Bool {
      while let byte = peek() {
        if byte == 0x25 {
          guard let high = peek(1), let low = peek(2), Grammar.isHexadecimal(high), Grammar.isHexadecimal(low) else {
            return false
          }
          offset += 3
        } else if Grammar.isPlain(byte) || Grammar.isOneOf(byte, others) {
          offset += 1
        } else {
          return true
        }
      }
      return true
    }

    private mutating func hexadecimals(atMost most: Int) -> Int {
      let start = offset
      while offset - start < most, let byte = peek(), Grammar.isHexadecimal(byte) { offset += 1 }
      return offset - start
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
      end - offset > distance ? base.load(fromByteOffset: offset + distance, as: UInt8.self) : nil
    }

    private mutating func take(_ character: StaticString) -> Bool {
      guard let byte = peek(), Grammar.isOneOf(byte, character) else { return false }
      offset += 1
      return true
    }

    static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    static func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte | 0x20) }

    /// unreserved / sub-delims
    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool {
      byte < 0x80 && (byte < 0x40 ? lowPlain &>> UInt64(byte) : highPlain &>> UInt64(byte & 0x3f)) & 1 == 1
    }

    /// A bit for each such byte below 0x40: digits and `!$&'()*+,-.;=`.
    private static let lowPlain: UInt64 = 0x2bff_7fd2_0000_0000
    /// The same from 0x40 on: letters, `_` and `~`.
    private static let highPlain: UInt64 = 0x47ff_fffe_87ff_fffe

    static func isOneOf(_ byte: UInt8, _ characters: StaticString) -> Bool {
      let start = characters.utf8Start
      for index in 0..<characters.utf8CodeUnitCount where start[index] == byte { return true }
      return false
    }
  }
}

extension AbsoluteURL {
  /// Whether a URL has a user or a password before its host: people may take these for the host.
  public static func hasUser(_ url: String) -> Bool {
    var rest = url.utf8[...]
    while let byte = rest.popFirst(), byte != UInt8(ascii: ":") {}
    guard rest.starts(with: "//".utf8) else { return false }
    return rest.dropFirst(2).prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }.contains(UInt8(ascii: "@"))
  }
}
