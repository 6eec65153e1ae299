// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A natural number of any size, for the few numbers of a text that need an exact comparison.
struct LargeInteger {
  /// The lowest bits first; the last one is not zero.
  private var words: [UInt32] = []

  init(_ number: UInt64) {
    var rest = number
    while rest > 0 {
      words.append(UInt32(truncatingIfNeeded: rest))
      rest >>= 32
    }
  }

  mutating func multiply(by factor: UInt32, adding summand: UInt32 = 0) {
    var carry = UInt64(summand)
    for index in words.indices {
      carry = carry &+ UInt64(words[index]) &* UInt64(factor)
      words[index] = UInt32(truncatingIfNeeded: carry)
      carry >>= 32
    }
    if carry > 0 { words.append(UInt32(truncatingIfNeeded: carry)) }
  }

  mutating func multiply(byFiveTo power: Int) {
    var left = power
    while left >= 13 {
      multiply(by: 1_220_703_125)  // 5¹³
      left -= 13
    }
    for _ in 0..<left { multiply(by: 5) }
  }

  /// Multiplies by 2^`bits`.
  mutating func shift(_ bits: Int) {
    multiply(by: 1 << UInt32(bits & 31))
    if !words.isEmpty { words = [UInt32](repeating: 0, count: bits / 32) + words }
  }

  /// Negative, zero or positive if it is less than, equal to or greater than the other one.
  func compare(_ other: LargeInteger) -> Int {
    if words.count != other.words.count { return words.count - other.words.count }
    for index in words.indices.reversed() where words[index] != other.words[index] {
      return words[index] < other.words[index] ? -1 : 1
    }
    return 0
  }
}
