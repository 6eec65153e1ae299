// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The name of a host, for the helper that looks names up (R14.2): at most 253 bytes of ASCII, in labels of 1 to 63
/// letters, digits, hyphens and underscores. It begins with no hyphen, so that it is no option of a program, and its
/// last label is no number, so that a resolver does not read it as an address.
public struct DeviceHostName: Equatable, Sendable {
  /// Bytes.
  public static let sizeLimit = 253
  private static let labelLimit = 63

  /// In lower case, without a dot at its end.
  public let text: String

  /// Nil: the text is no name of a host.
  public init?(_ text: String) {
    var bytes = Array(text.utf8)
    if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
    guard !bytes.isEmpty, bytes.count <= Self.sizeLimit else { return nil }
    for index in bytes.indices where UInt8(ascii: "A")...UInt8(ascii: "Z") ~= bytes[index] { bytes[index] |= 0x20 }
    let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.allSatisfy({ Self.isLabel($0) }), let last = labels.last, !Self.isNumber(last) else { return nil }
    self.text = String(decoding: bytes, as: UTF8.self)
  }

  /// Whether it is this machine by its meaning (RFC 6761 §6.3): a tunnel of the user's may begin here.
  var isLocalhost: Bool {
    Text.isSame(text, "localhost") || text.utf8.reversed().starts(with: ".localhost".utf8.reversed())
  }

  private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
    let hyphen = UInt8(ascii: "-")
    guard 1...labelLimit ~= label.count, label.first != hyphen, label.last != hyphen else { return false }
    return label.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), hyphen, UInt8(ascii: "_"): true
      default: false
      }
    }
  }

  /// Digits alone, or 0x and hexadecimal digits: inet_aton(3) reads both.
  private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
    let isDigit = { (byte: UInt8) in UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
    if label.allSatisfy(isDigit) { return true }
    guard label.starts(with: "0x".utf8) else { return false }
    return label.dropFirst(2).allSatisfy { isDigit($0) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0 }
  }
}
