// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Bytes as hexadecimal digits, with small letters.
enum HexText {
  static func text(_ bytes: [UInt8]) -> String {
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      for half in [byte >> 4, byte & 15] { digits.append(half < 10 ? 0x30 + half : 0x57 + half) }
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Nil unless there are exactly two small digits for each of `count` bytes.
  static func bytes(_ text: some Collection<UInt8>, count: Int) -> [UInt8]? {
    guard text.count == 2 * count else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in text {
      let number: UInt8
      switch digit {
      case 0x30...0x39: number = digit - 0x30
      case 0x61...0x66: number = digit - 0x57
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | number)
        high = nil
      } else {
        high = number
      }
    }
    return bytes
  }
}
