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
    var bytes = host.map(lowered)
    if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
    guard !bytes.isEmpty, bytes.count <= limit else { return nil }
    let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.allSatisfy(isLabel), let last = labels.last else { return nil }
    guard isNumber(last) else { return HostName(text: Text.decoded(bytes), isName: true) }
    // A browser reads 127.1, 0x7f000001 and 017700000001 as 127.0.0.1, which is not what people read.
    guard labels.count == 4, labels.allSatisfy(isOctet) else { return nil }
    return HostName(text: Text.decoded(bytes), isName: false)
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

  private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
    !label.isEmpty && label.count <= labelLimit
      && label.allSatisfy { byte in
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || isDigit(byte) || byte == UInt8(ascii: "-")
          || byte == UInt8(ascii: "_")
      }
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
