// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueCrypto
import SegueModel
import SegueSystem

/// Private keys: Ed25519 in PKCS#8 (RFC 8410), the only form that is stored.
extension OpenSSL {
  /// All of it but the seed: version, algorithm, and the heads of two octet strings.
  static let privateKeyHead: [UInt8] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
  ]
  /// Bytes.
  static let seedSize = 32

  /// Returns OpenSSL's own copy, in its memory for keys, which the caller frees; nil unless it is such a key. A key
  /// that is made of its seed (EVP_PKEY_new_raw_private_key) would be in ordinary memory.
  public static func privateKey(
    _ der: Secret, _ functions: UnsafePointer<openssl>
  ) throws(SegueError) -> OpaquePointer? {
    try der.withBytes { der in
      guard der.count == privateKeyHead.count + seedSize, der.starts(with: privateKeyHead) else { return nil }
      var start = der.bindMemory(to: UInt8.self).baseAddress
      guard let info = functions.pointee.d2i_PKCS8_PRIV_KEY_INFO(nil, &start, der.count) else { return nil }
      defer { functions.pointee.PKCS8_PRIV_KEY_INFO_free(info) }
      return functions.pointee.EVP_PKCS82PKEY(info)
    }
  }
}
