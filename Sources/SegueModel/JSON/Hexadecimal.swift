// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Hexadecimal digits.
enum Hexadecimal {
  /// The digit of the lowest four bits.
  static func digit(_ number: UInt8) -> UInt8 {
    let low = number & 15
    return low < 10 ? UInt8(ascii: "0") &+ low : UInt8(ascii: "a") &- 10 &+ low
  }

  /// The number that a digit stands for, nil for another character.
  static func number(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
