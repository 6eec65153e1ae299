// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel
import Testing

struct DecimalNumberTests {
  /// Checks that our reader gives the same number as the standard library of ordinary Swift, which is not in Embedded
  /// mode.
  private func check(_ text: String) {
    let theirs = Double(text)!
    guard theirs.isFinite else { return #expect(status(json(text)) == .unsupportedValue, "\(text)") }
    #expect((try? json(text).get().double)?.bitPattern == theirs.bitPattern, "\(text)")
  }

  /// The exact decimal digits of the middle between a double, which is positive and finite, and the next one.
  private func middle(_ double: Double) -> String {
    var integer = Decimals(2 * double.significandBitPattern + (double.isNormal ? 1 << 53 : 0) + 1)
    let power = Int(max(double.exponentBitPattern, 1)) - 1076
    // n · 2^-p is n · 5^p · 10^-p.
    integer.multiply(by: power < 0 ? 5 : 2, times: abs(power))
    return integer.digits + ".0e\(min(power, 0))"
  }

  @Test(arguments: 0..<8)
  func `Shortest digits of any double are read as that double`(seed: Int) {
    var random = Seeded(seed: UInt64(seed))
    for _ in 0..<5000 {
      let number = Double(bitPattern: random.next())
      guard number.isFinite else { continue }
      let text = "\(number)"
      check(text.contains { $0 == "." || $0 == "e" } ? text : text + ".0")
    }
  }

  @Test(arguments: 0..<8)
  func `Any number of digits is rounded to the nearest double`(seed: Int) {
    var random = Seeded(seed: UInt64(seed))
    func digits(_ most: Int) -> String {
      (0..<Int.random(in: 1...most, using: &random)).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
    }
    for _ in 0..<2000 {
      check(
        "\(Int.random(in: 1...9, using: &random))\(digits(30)).\(digits(40))e\(Int.random(in: -380...320, using: &random))"
      )
      check("0.\(String(repeating: "0", count: Int.random(in: 0...400, using: &random)))\(digits(25))")
    }
  }

  @Test(arguments: 0..<8)
  func `The middle between two doubles goes to the even one, and what is next to it to its side`(seed: Int) {
    var random = Seeded(seed: UInt64(seed))
    for round in 0..<60 {
      var number = Double(bitPattern: random.next() & ~(1 << 63))
      if round % 3 == 0 { number = Double(bitPattern: random.next() >> UInt64.random(in: 12...63, using: &random)) }
      guard number.isFinite, number.nextUp.isFinite else { continue }
      let middle = middle(number)
      let even = number.significandBitPattern & 1 == 0 ? number : number.nextUp
      #expect((try? json(middle).get().double) == even, "\(middle)")
      let above = middle.replacing(".0e", with: ".\(String(repeating: "0", count: 800))1e")
      #expect((try? json(above).get().double) == number.nextUp, "\(above)")
      check(middle)
      check(above)
    }
  }

  @Test(arguments: [
    "0.0", "0e5", "1.0", "1e22", "1e23", "9007199254740993.0", "9007199254740992.9999999999999999999999999999999999999",
    "2.2250738585072011e-308", "2.2250738585072014e-308", "4.9406564584124654e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e-324",
    "6.631236846766476e-316", "3.237883913302901e-319", "18446744073709551615.0", "18446744073709551616.0",
    "100000000000000000000000000000000000000000000000000000000000000000000000000000000000.0e-70", "0.000001e310",
    "17976931348623157000000000000000000000000000000000000000000.0e250",
  ])
  func `Numbers at the edges`(text: String) { check(text) }

  @Test func `The smallest double has everything above its half`() {
    let half = middle(0)
    #expect((try? json(half).get().double) == 0)
    #expect((try? json(half.replacing(".0e", with: ".1e")).get().double) == .leastNonzeroMagnitude)
  }
}

/// A natural number as decimal digits.
private struct Decimals {
  /// Nine digits each, the lowest first.
  private var parts: [UInt64]

  init(_ number: UInt64) { parts = [number % 1_000_000_000, number / 1_000_000_000] }

  mutating func multiply(by factor: UInt64, times: Int) {
    for _ in 0..<times {
      var carry: UInt64 = 0
      for index in parts.indices {
        carry += parts[index] * factor
        parts[index] = carry % 1_000_000_000
        carry /= 1_000_000_000
      }
      if carry > 0 { parts.append(carry) }
    }
  }

  var digits: String {
    parts.reversed().map { String(String($0 + 1_000_000_000).dropFirst()) }.joined().trimmingPrefix { $0 == "0" }
      .description
  }
}
