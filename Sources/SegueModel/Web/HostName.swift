// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The host of a web page, by which a server is found: a name of the DNS in ASCII, or an address.
public struct HostName: Sendable {
  /// In lower case, without a trailing dot; an IPv6 address in brackets.
  public let text: String
  /// Whether it is a name, and no address.
  public let isName: Bool

  /// Bytes of a name, and of each of its labels (RFC 1035 §2.3.4).
  public static let limit = 253
  static let labelLimit = 63

  /// Nil if it is no host: another character than letters, digits, `-`, `_` and dots, an empty or long label, numbers
  /// that browsers read as another address than they show.
  /// - Parameter host: as it stands in a URL, case and trailing dot included.
  public static func read(_ host: Slice<UnsafeRawBufferPointer>) -> HostName? {
    if host.first == UInt8(ascii: "[") { return address(of: host) }
    let dot = UInt8(ascii: ".")
    let end = host.last == dot ? host.endIndex - 1 : host.endIndex
    var bytes: [UInt8] = []
    // The first byte of the label, and the labels before it.
    var start = 0
    var count = 0
    var octets = 0
    var isLastNumber = false
    for index in host.startIndex...end {
      let byte = index == end ? dot : lowered(host[index])
      guard byte == dot else {
        guard isOfLabel(byte), bytes.count < limit else { return nil }
        bytes.append(byte)
        continue
      }
      let label = bytes[start...]
      guard 1...labelLimit ~= label.count else { return nil }
      count += 1
      isLastNumber = isNumber(label)
      if isOctet(label) { octets += 1 }
      guard index < end else { break }
      bytes.append(dot)
      start = bytes.count
    }
    // A browser reads 127.1, 0x7f000001 and 017700000001 as 127.0.0.1, which is not what people read.
    guard !isLastNumber || count == 4 && octets == 4 else { return nil }
    return HostName(text: Text.decoded(bytes), isName: !isLastNumber)
  }

  public static func read(_ host: String) -> HostName? { Text.withBytes(host) { read($0[...]) } }

  /// Whether this is the same host.
  public func isSame(as other: HostName) -> Bool { Text.isSame(text, other.text) }

  /// - Parameter literal: an IPv6 address, or one of a later version, in brackets, by the grammar of RFC 3986.
  private static func address(of literal: Slice<UnsafeRawBufferPointer>) -> HostName? {
    let bytes = literal.map(lowered)
    // The address of a later version begins with a `v`.
    guard bytes.count > 3, bytes.last == UInt8(ascii: "]"), bytes.count <= 47, bytes[1] != UInt8(ascii: "v"),
      bytes.dropFirst().dropLast().allSatisfy({
        isDigit($0) || (0x61...0x66).contains($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
      })
    else { return nil }
    return HostName(text: Text.decoded(bytes), isName: false)
  }

  static func lowered(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private static func isOfLabel(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || isDigit(byte) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_")
  }

  /// Whether browsers take a host that ends with this label for an IPv4 address (WHATWG URL §3.5).
  private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
    if label.allSatisfy(isDigit) { return true }
    return label.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")])
      && label.dropFirst(2).allSatisfy { isDigit($0) || (0x61...0x66).contains($0) }
  }

  /// A number from 0 to 255 without leading zeros.
  private static func isOctet(_ label: ArraySlice<UInt8>) -> Bool {
    guard label.count <= 3, label.allSatisfy(isDigit), label.count == 1 || label.first != UInt8(ascii: "0") else {
      return false
    }
    return label.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 255
  }
}
