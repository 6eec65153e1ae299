// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An IPv4 or IPv6 address as text, read without the system: dotted numbers (RFC 6943 §3.1.1, the strict form), or RFC
/// 4291 §2.2.
enum HostAddress {
  /// Whether a text is the address of one machine: not of none (0.0.0.0, ::), and not of many (multicast, broadcast).
  static func isOfMachine(_ text: String) -> Bool {
    let text = Array(text.utf8)
    guard text.count <= 45 else { return false }
    if let bytes = dotted(text[...]) { return isOfMachine(bytes) }
    guard let bytes = groups(text) else { return false }
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
    if isMapped { return isOfMachine(Array(bytes[12...])) }
    return bytes[0] != 0xff && bytes.contains { $0 != 0 }
  }

  private static func isOfMachine(_ bytes: [UInt8]) -> Bool { bytes[0] != 0 && bytes[0] < 224 }

  /// Four numbers, none with a zero before it.
  private static func dotted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard !part.isEmpty, part.count <= 3, part.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
        part.count == 1 || part.first != 0x30
      else { return nil }
      guard let byte = UInt8(exactly: part.reduce(0) { $0 * 10 + Int($1 - 0x30) }) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// Eight groups of up to four digits; "::" once for groups of zeros; the last two may be dotted.
  private static func groups(_ text: [UInt8]) -> [UInt8]? {
    let colon = UInt8(ascii: ":")
    var halves: [ArraySlice<UInt8>] = [text[...]]
    if let gap = text.indices.dropLast().first(where: { text[$0] == colon && text[$0 + 1] == colon }) {
      halves = [text[..<gap], text[(gap + 2)...]]
    }
    var read: [[UInt8]] = []
    for (index, half) in halves.enumerated() {
      guard let bytes = bytes(half, isLast: index == halves.count - 1) else { return nil }
      read.append(bytes)
    }
    let count = read.reduce(0) { $0 + $1.count }
    guard halves.count == 1 ? count == 16 : count <= 14 else { return nil }
    return halves.count == 1 ? read[0] : read[0] + [UInt8](repeating: 0, count: 16 - count) + read[1]
  }

  private static func bytes(_ half: ArraySlice<UInt8>, isLast: Bool) -> [UInt8]? {
    guard !half.isEmpty else { return [] }
    var bytes: [UInt8] = []
    let parts = half.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if isLast, index == parts.count - 1, let tail = dotted(part) {
        bytes += tail
        continue
      }
      guard !part.isEmpty, part.count <= 4 else { return nil }
      var number: UInt16 = 0
      for digit in part {
        switch digit {
        case 0x30...0x39: number = number << 4 | UInt16(digit - 0x30)
        case 0x41...0x46, 0x61...0x66: number = number << 4 | UInt16((digit | 0x20) - 0x57)
        default: return nil
        }
      }
      bytes += [UInt8(number >> 8), UInt8(number & 0xff)]
    }
    return bytes
  }
}
