// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An input as a source of decisions. Behind its end all of them are 0, so that a shorter input is a simpler story.
struct Input {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  /// The upper half of all identifiers.
  private let names: UInt64

  init(_ bytes: UnsafeRawBufferPointer, names: UInt64 = 0) {
    self.bytes = bytes
    self.names = names
  }

  var isEmpty: Bool { offset >= bytes.count }

  mutating func byte() -> UInt8 {
    guard offset < bytes.count else { return 0 }
    defer { offset += 1 }
    return bytes[offset]
  }

  mutating func bool() -> Bool { byte() & 1 == 1 }

  /// Less than `bound`, which is at most 256.
  mutating func number(below bound: Int) -> Int { Int(byte()) % bound }

  /// Any number; those that one byte holds cost two, so that edges and small ones are found soon.
  mutating func number() -> UInt64 {
    switch byte() % 4 {
    case 0: return UInt64(byte())
    case 1: return UInt64.max - UInt64(byte())
    case 2: return 1 << UInt64(byte() % 64)
    default:
      var number: UInt64 = 0
      for _ in 0..<8 { number = number << 8 | UInt64(byte()) }
      return number
    }
  }

  /// The next bytes, as many as their first says, `most` at most.
  mutating func bytes(atMost most: Int = 255) -> UnsafeRawBufferPointer {
    let count = min(Int(byte()), most, bytes.count - offset)
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  mutating func text(atMost most: Int = 255) -> String { String(decoding: bytes(atMost: most), as: UTF8.self) }

  /// One of sixteen, so that they meet again.
  mutating func identifier() -> Identifier { Identifier(high: names, low: UInt64(byte() % 16)) }

  /// Any 16 bytes, as far as there are any left.
  mutating func anyIdentifier() -> Identifier {
    Identifier(bytes: (0..<Identifier.size).map { _ in byte() }) ?? Identifier(high: 0, low: 0)
  }

  /// The unread rest.
  mutating func rest() -> UnsafeRawBufferPointer {
    defer { offset = bytes.count }
    return UnsafeRawBufferPointer(rebasing: bytes[min(offset, bytes.count)...])
  }
}
