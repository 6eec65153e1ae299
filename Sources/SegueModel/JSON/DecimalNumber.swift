// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A number in decimal notation, and the double nearest to it: exact for any number of digits, in bounded time, and
/// independent of the locale.
///
/// The double comes from an approximation of 128 bits, whose error is known. Only if the number is too close to the
/// middle between two doubles is it compared with that middle, digit by digit.
struct DecimalNumber {
  /// The first digits that are not leading zeros, `shownDigits` at most, as an integer.
  private(set) var significand: UInt64 = 0
  /// The digits in `significand`.
  private(set) var count = 0
  /// The power of ten of the last digit in `significand`.
  private(set) var exponent = 0
  /// Whether a digit behind `significand` is not zero.
  private(set) var hasMore = false

  /// As many digits as 64 bits hold.
  private static let shownDigits = 19
  /// With the most digits in `significand`, numbers of larger exponents are infinite, and of smaller ones zero.
  private static let exponents = -366...310

  /// Adds a digit, 0 to 9.
  @inline(__always)
  mutating func put(_ digit: UInt8, isFraction: Bool) {
    if count < Self.shownDigits {
      significand = significand &* 10 &+ UInt64(digit)
      if significand > 0 { count &+= 1 }
      if isFraction { exponent &-= 1 }
    } else {
      if digit > 0 { hasMore = true }
      if !isFraction { exponent &+= 1 }
    }
  }

  /// - Parameter power: of ten, saturated far inside of what `Int` holds.
  @inline(__always)
  mutating func multiply(byTenTo power: Int) { exponent &+= power }

  /// The nearest double, of two that are equally near the one with an even significand; nil if it is infinite.
  ///
  /// - Parameter digits: the digits that were put, and possibly a point.
  func nearestDouble(_ digits: UnsafeRawBufferPointer) -> Double? {
    if significand == 0 || exponent < Self.exponents.lowerBound { return 0 }
    if exponent > Self.exponents.upperBound { return nil }
    let near = ExtendedNumber(significand).times(.powerOfTen(exponent))
    // The significand of a double has 53 bits, below the smallest normal number fewer.
    let top = near.exponent + 127
    if top > 1023 { return nil }
    let precision = min(53, 53 + 1022 + top)
    // The error of the power, or one in the last digit of the significand, which is 10¹⁸ at least (10⁻¹⁸ < 2⁻⁵⁹).
    let margin: UInt128 = hasMore ? 1 << 70 : 1 << 16
    if precision < 0 {
      guard precision == -1, near.significand > UInt128.max &- margin else { return 0 }
      return compare(digits, with: 1, -1075) > 0 ? .leastNonzeroMagnitude : 0
    }
    let shift = UInt128(128 - precision)
    let kept = precision == 0 ? 0 : UInt64(truncatingIfNeeded: near.significand >> shift)
    let half: UInt128 = 1 << (shift - 1)
    let rest = precision == 0 ? near.significand : near.significand & (half << 1 &- 1)
    let isUp: Bool
    if rest > half &+ margin {
      isUp = true
    } else if rest < half &- margin {
      isUp = false
    } else {
      let order = compare(digits, with: 2 * kept + 1, near.exponent + Int(shift) - 1)
      isUp = order > 0 || (order == 0 && kept & 1 == 1)
    }
    // A significand that becomes 2⁵³ is carried into the exponent.
    let lowest = precision == 53 ? UInt64(top + 1022) << 52 : 0
    let bits = lowest &+ kept &+ (isUp ? 1 : 0)
    return bits < Double.infinity.bitPattern ? Double(bitPattern: bits) : nil
  }

  // MARK: - Exactly

  /// No middle between two doubles has more digits that are not zero.
  private static let longestMiddle = 768

  /// Negative, zero or positive if the number is less than, equal to or greater than `middle` · 2^`power`.
  @inline(never)
  private func compare(_ digits: UnsafeRawBufferPointer, with middle: UInt64, _ power: Int) -> Int {
    var left = LargeInteger(0)
    var used = 0
    var hasMore = false
    for byte in digits {
      let digit = byte &- UInt8(ascii: "0")
      guard digit <= 9, used > 0 || digit > 0 else { continue }
      if used < Self.longestMiddle { left.multiply(by: 10, adding: UInt32(digit)) } else if digit > 0 { hasMore = true }
      used += 1
    }
    // The digits that are left out, or that `significand` has less, count as powers of ten.
    let tens = exponent + count - min(used, Self.longestMiddle)
    var right = LargeInteger(middle)
    if tens > 0 { left.multiply(byFiveTo: tens) } else { right.multiply(byFiveTo: -tens) }
    if tens > power { left.shift(tens - power) } else { right.shift(power - tens) }
    let order = left.compare(right)
    return order == 0 && hasMore ? 1 : order
  }
}

/// A positive number of 128 significant bits, the highest of which is 1: `significand` · 2^`exponent`.
private struct ExtendedNumber {
  let significand: UInt128
  let exponent: Int

  init(_ number: UInt64) {
    significand = UInt128(number) << UInt128(64 + number.leadingZeroBitCount)
    exponent = -64 - number.leadingZeroBitCount
  }

  private init(significand: UInt128, exponent: Int) {
    self.significand = significand
    self.exponent = exponent
  }

  /// 10ⁿ, less than 2⁻¹¹⁵ of it off for |n| < 400: each multiplication adds 2⁻¹²⁷ to the errors of its factors.
  static func powerOfTen(_ power: Int) -> ExtendedNumber {
    var left = power.magnitude
    // 5, or 1/5; the powers of two are added at the end.
    var factor =
      power < 0
      ? ExtendedNumber(significand: 0xcccc_cccc_cccc_cccc_cccc_cccc_cccc_cccd, exponent: -130) : ExtendedNumber(5)
    var result = ExtendedNumber(1)
    while left > 0 {
      if left & 1 == 1 { result = result.times(factor) }
      left >>= 1
      if left > 0 { factor = factor.times(factor) }
    }
    return ExtendedNumber(significand: result.significand, exponent: result.exponent + power)
  }

  func times(_ other: ExtendedNumber) -> ExtendedNumber {
    let (a, b) = (UInt64(truncatingIfNeeded: significand >> 64), UInt64(truncatingIfNeeded: significand))
    let (c, d) = (UInt64(truncatingIfNeeded: other.significand >> 64), UInt64(truncatingIfNeeded: other.significand))
    let low = Self.product(b, d)
    let (one, two) = (Self.product(a, d), Self.product(b, c))
    let middle = (low >> 64) &+ (one & UInt128(UInt64.max)) &+ (two & UInt128(UInt64.max))
    let high = Self.product(a, c) &+ (one >> 64) &+ (two >> 64) &+ (middle >> 64)
    if high >> 127 == 1 { return ExtendedNumber(significand: high, exponent: exponent + other.exponent + 128) }
    let next = middle >> 63 & 1
    return ExtendedNumber(significand: high << 1 | next, exponent: exponent + other.exponent + 127)
  }

  private static func product(_ left: UInt64, _ right: UInt64) -> UInt128 {
    let (high, low) = left.multipliedFullWidth(by: right)
    return UInt128(high) << 64 | UInt128(low)
  }
}
