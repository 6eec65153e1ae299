// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Whether bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
public enum UTF8Text {
  public static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    return isValid(base, bytes.count)
  }

  @inline(__always)
  static func isValid(_ base: UnsafeRawPointer, _ count: Int) -> Bool {
    isASCII(base, count) || isValidBeyondASCII(base, 0, count)
  }

  /// Checks whole words; the last one overlaps the one before instead of being shorter.
  @inline(__always)
  private static func isASCII(_ base: UnsafeRawPointer, _ count: Int) -> Bool {
    if count >= 8 {
      var offset = 0
      while offset < count &- 8 {
        if base.loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { return false }
        offset &+= 8
      }
      return base.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    }
    if count >= 4 {
      let first = base.loadUnaligned(as: UInt32.self)
      return (first | base.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)) & 0x8080_8080 == 0
    }
    if count == 0 { return true }
    let first = base.load(as: UInt8.self)
    let middle = base.load(fromByteOffset: count >> 1, as: UInt8.self)
    return (first | middle | base.load(fromByteOffset: count &- 1, as: UInt8.self)) < 0x80
  }

  private static func isValidBeyondASCII(_ base: UnsafeRawPointer, _ start: Int, _ count: Int) -> Bool {
    var offset = start
    while offset < count {
      let first = base.load(fromByteOffset: offset, as: UInt8.self)
      if first < 0x80 {
        offset &+= 1
        continue
      }
      let length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
      guard first >= 0xc2, first <= 0xf4, count &- offset >= length else { return false }
      let second = base.load(fromByteOffset: offset &+ 1, as: UInt8.self)
      // The second byte reveals overlong forms, surrogates and numbers above U+10FFFF (RFC 3629 §4).
      let least: UInt8 = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80
      let most: UInt8 = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf
      guard second >= least, second <= most else { return false }
      for later in 2..<max(length, 2) where base.load(fromByteOffset: offset &+ later, as: UInt8.self) & 0xc0 != 0x80 {
        return false
      }
      offset &+= length
    }
    return true
  }
}
