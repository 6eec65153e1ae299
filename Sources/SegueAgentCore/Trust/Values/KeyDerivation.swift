// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// HKDF with SHA-256 (RFC 5869).
enum KeyDerivation {
  /// - Parameter info: says what the key is for: each use has its own.
  /// - Parameter count: at most 255 * 32 bytes.
  static func key(from secret: [UInt8], salt: [UInt8] = [], info: [UInt8], count: Int = 32) -> [UInt8] {
    let zeros = [UInt8](repeating: 0, count: 32)
    let pseudorandom = SecureHash.hmacSHA256(secret, key: salt.isEmpty ? zeros : salt)
    var (key, block, number): ([UInt8], [UInt8], UInt8) = ([], [], 0)
    while key.count < count, number < 255 {
      number += 1
      block = SecureHash.hmacSHA256(block + info + [number], key: pseudorandom)
      key += block
    }
    return Array(key.prefix(count))
  }

  static func key(from secret: [UInt8], label: StaticString, count: Int = 32) -> [UInt8] {
    key(from: secret, info: label.bytes, count: count)
  }
}

extension StaticString {
  var bytes: [UInt8] { Array(UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)) }
}

/// Compares secrets: the time it takes does not depend on where they differ.
func isSameSecret(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  guard left.count == right.count else { return false }
  var difference: UInt8 = 0
  for index in left.indices { difference |= left[index] ^ right[index] }
  return difference == 0
}
