// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Base64 with padding (RFC 4648 §4), in its one canonical form.
enum Base64 {
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  private static let padding = UInt8(ascii: "=")

  /// The characters for `count` bytes.
  static func size(_ count: Int) -> Int { (count &+ 2) / 3 &* 4 }

  /// Writes the characters for all bytes to `target`, which has room for them.
  static func encode(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) {
    let characters = alphabet.utf8Start
    var (from, to) = (0, 0)
    while from < bytes.count {
      let count = min(3, bytes.count &- from)
      var word = UInt32(bytes[from]) << 16
      if count > 1 { word |= UInt32(bytes[from &+ 1]) << 8 }
      if count > 2 { word |= UInt32(bytes[from &+ 2]) }
      for place in 0..<4 {
        let character = place <= count ? characters[Int(word >> 18)] : padding
        target.storeBytes(of: character, toByteOffset: to &+ place, as: UInt8.self)
        word = word << 6 & 0xff_ffff
      }
      from &+= 3
      to &+= 4
    }
  }

  /// Decodes text to `target`, which has room for as many bytes, and may be where the text is. Returns the number of
  /// bytes; nil unless `encode` would give the same text.
  static func decode(_ text: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Int? {
    guard text.count & 3 == 0 else { return nil }
    var pads = 0
    while pads < min(2, text.count), text[text.count &- 1 &- pads] == padding { pads &+= 1 }
    var used = 0
    for from in stride(from: 0, to: text.count, by: 4) {
      let isLast = from &+ 4 == text.count
      let count = isLast ? 4 &- pads : 4
      var word: UInt32 = 0
      var all: UInt32 = 0
      for place in 0..<4 {
        let number = place < count ? UInt32(number(text[from &+ place])) : 0
        all |= number
        word = word << 6 | number
      }
      // Bits that belong to no byte are zero in the canonical form.
      guard all < 64, count == 4 || word & (count == 3 ? 0xff : 0xffff) == 0 else { return nil }
      target.storeBytes(of: UInt8(truncatingIfNeeded: word >> 16), toByteOffset: used, as: UInt8.self)
      if count > 2 {
        target.storeBytes(of: UInt8(truncatingIfNeeded: word >> 8), toByteOffset: used &+ 1, as: UInt8.self)
      }
      if count > 3 { target.storeBytes(of: UInt8(truncatingIfNeeded: word), toByteOffset: used &+ 2, as: UInt8.self) }
      used &+= count &- 1
    }
    return used
  }

  /// The six bits that a character stands for; 64 for no character of the alphabet.
  @inline(__always)
  private static func number(_ character: UInt8) -> UInt8 {
    let letter = character | 0x20
    if letter &- UInt8(ascii: "a") < 26 { return character < 0x60 ? character &- 65 : character &- 71 }
    if character &- UInt8(ascii: "0") < 10 { return character &+ 4 }
    return character == UInt8(ascii: "+") ? 62 : character == UInt8(ascii: "/") ? 63 : 64
  }
}
