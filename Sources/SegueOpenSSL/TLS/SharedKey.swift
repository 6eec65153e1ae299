// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueCrypto
import SegueModel

/// The external pre-shared key of an invite in the memory where OpenSSL looks for it (RFC 8446 §2.2). A context has it
/// as its first extra datum, and owns it.
final class SharedKey {
  private static let identitySize = 16
  private static let keySize = 32
  /// TLS_AES_128_GCM_SHA256, whose hash goes with the key (RFC 8446 §4.2.11).
  private static let suite: (UInt8, UInt8) = (0x13, 0x01)

  /// The identity, then the key.
  private let bytes: UnsafeMutablePointer<UInt8>

  /// - Parameters:
  ///   - identity: 16 bytes.
  ///   - key: 32 bytes.
  init(identity: [UInt8], key: [UInt8]) {
    bytes = .allocate(capacity: Self.identitySize + Self.keySize)
    bytes.initialize(repeating: 0, count: Self.identitySize + Self.keySize)
    for (index, byte) in identity.prefix(Self.identitySize).enumerated() { bytes[index] = byte }
    for (index, byte) in key.prefix(Self.keySize).enumerated() { bytes[Self.identitySize + index] = byte }
  }

  deinit {
    openssl_erase(bytes, Self.identitySize + Self.keySize)
    bytes.deallocate()
  }

  /// Has sessions of a context use it, whichever end they are. This object outlives the context.
  func use(_ functions: UnsafePointer<openssl>, _ context: OpaquePointer) throws(SegueError) {
    guard functions.pointee.SSL_CTX_set_ex_data(context, 0, bytes) == 1 else {
      throw SegueError(.system, "TLS: OpenSSL says \(OpenSSL.takeError(functions))")
    }
    functions.pointee.SSL_CTX_set_psk_use_session_callback(context) { session, _, identity, size, key in
      guard let session, let bytes = SharedKey.bytes(of: session) else { return 0 }
      identity?.pointee = UnsafePointer(bytes)
      size?.pointee = SharedKey.identitySize
      key?.pointee = SharedKey.session(bytes, for: session)
      return 1
    }
    functions.pointee.SSL_CTX_set_psk_find_session_callback(context) { session, identity, size, key in
      key?.pointee = nil
      // Without a key there is no certificate to fall back on: the handshake fails.
      guard let session, let identity, size == SharedKey.identitySize, let bytes = SharedKey.bytes(of: session),
        let functions = try? OpenSSL.functions(), functions.pointee.CRYPTO_memcmp(bytes, identity, size) == 0
      else { return 1 }
      key?.pointee = SharedKey.session(bytes, for: session)
      return 1
    }
  }

  private static func bytes(of session: OpaquePointer) -> UnsafeMutablePointer<UInt8>? {
    guard let functions = try? OpenSSL.functions(), let context = functions.pointee.SSL_get_SSL_CTX(session) else {
      return nil
    }
    return functions.pointee.SSL_CTX_get_ex_data(context, 0)?.assumingMemoryBound(to: UInt8.self)
  }

  /// Makes what OpenSSL takes a key as, which it then owns; nil without memory.
  private static func session(_ bytes: UnsafePointer<UInt8>, for session: OpaquePointer) -> OpaquePointer? {
    guard let functions = try? OpenSSL.functions(), let made = functions.pointee.SSL_SESSION_new() else { return nil }
    let f = functions.pointee
    let isSet = withUnsafeBytes(of: suite) { suite in
      f.SSL_SESSION_set1_master_key(made, bytes + identitySize, keySize) == 1
        && f.SSL_SESSION_set_cipher(
          made, f.SSL_CIPHER_find(session, suite.baseAddress?.assumingMemoryBound(to: UInt8.self))) == 1
        && f.SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) == 1
    }
    guard isSet else {
      f.SSL_SESSION_free(made)
      return nil
    }
    return made
  }
}
