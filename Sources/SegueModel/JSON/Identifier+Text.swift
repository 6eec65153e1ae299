// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A UUID as text (RFC 9562 §4): 8, 4, 4, 4 and 12 hexadecimal digits.
extension Identifier {
  /// Characters.
  public static let textSize = 36

  private static func isHyphen(_ place: Int) -> Bool { place == 8 || place == 13 || place == 18 || place == 23 }

  /// Nil unless the text is a UUID, with letters of either case.
  public init?(hexadecimal text: UnsafeRawBufferPointer) {
    guard text.count == Self.textSize else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for place in 0..<Self.textSize {
      if Self.isHyphen(place) {
        guard text[place] == UInt8(ascii: "-") else { return nil }
      } else {
        guard let digit = Hexadecimal.number(text[place]) else { return nil }
        high = high << 4 | low >> 60
        low = low << 4 | UInt64(digit)
      }
    }
    self.init(high: high, low: low)
  }

  /// Writes `textSize` characters, with small letters.
  public func writeText(to target: UnsafeMutableRawPointer) {
    withUnsafeTemporaryAllocation(byteCount: Self.size, alignment: 8) { bytes in
      guard let base = bytes.baseAddress else { return }
      write(to: base)
      var nibble = 0
      for place in 0..<Self.textSize {
        if Self.isHyphen(place) {
          target.storeBytes(of: UInt8(ascii: "-"), toByteOffset: place, as: UInt8.self)
          continue
        }
        let byte = bytes[nibble / 2]
        let digit = Hexadecimal.digit(nibble & 1 == 0 ? byte >> 4 : byte)
        target.storeBytes(of: digit, toByteOffset: place, as: UInt8.self)
        nibble += 1
      }
    }
  }
}
