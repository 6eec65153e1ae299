// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Bytewise order, the order of keys and of elements of sets (RFC 8949 §4.2.1).
public enum ByteOrder {
  /// Negative, zero or positive if `left` is before, equal to or after `right`. A prefix is before the longer one.
  @inline(__always)
  static func compare(
    _ left: UnsafeRawPointer, _ leftCount: Int, _ right: UnsafeRawPointer, _ rightCount: Int
  ) -> Int {
    let count = min(leftCount, rightCount)
    var offset = 0
    while count &- offset >= 8 {
      let a = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let b = right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if a != b { return a.bigEndian < b.bigEndian ? -1 : 1 }
      offset &+= 8
    }
    while offset < count {
      let a = left.load(fromByteOffset: offset, as: UInt8.self)
      let b = right.load(fromByteOffset: offset, as: UInt8.self)
      if a != b { return a < b ? -1 : 1 }
      offset &+= 1
    }
    return leftCount &- rightCount
  }

  /// Compares the same number of bytes on either side.
  public static func isSame(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard let a = left.baseAddress, let b = right.baseAddress else { return true }
    return compare(a, left.count, b, right.count) == 0
  }

  static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
    left.withUnsafeBytes { a in
      right.withUnsafeBytes { b in
        guard let a = a.baseAddress, let b = b.baseAddress else { return left.count - right.count }
        return compare(a, left.count, b, right.count)
      }
    }
  }
}
