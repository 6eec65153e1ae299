// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Integers as text.
enum IntegerText {
  /// A decimal number, or a hexadecimal one after `0x`, with blanks around it and a sign. Nil if it is none, or has
  /// more than 64 bits.
  static func read(_ text: [UInt8]) -> Int64? {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    var digits = text[...]
    while let first = digits.first, isBlank(first) { digits = digits.dropFirst() }
    while let last = digits.last, isBlank(last) { digits = digits.dropLast() }
    var isNegative = false
    if let sign = digits.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      digits = digits.dropFirst()
    }
    var base: Int64 = 10
    if digits.count > 2, digits.first == UInt8(ascii: "0"), digits[digits.startIndex + 1] | 0x20 == UInt8(ascii: "x") {
      base = 16
      digits = digits.dropFirst(2)
    }
    guard !digits.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in digits {
      guard let digit = digit(byte), digit < base else { return nil }
      let (product, isTooLarge) = value.multipliedReportingOverflow(by: base)
      // Downwards, for there is one more negative number.
      let (sum, isTooSmall) = product.subtractingReportingOverflow(digit)
      guard !isTooLarge, !isTooSmall else { return nil }
      value = sum
    }
    guard !isNegative else { return value }
    return value == .min ? nil : -value
  }

  private static func digit(_ byte: UInt8) -> Int64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(byte) - 0x30
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int64(byte) - 0x57
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int64(byte) - 0x37
    default: nil
    }
  }
}
