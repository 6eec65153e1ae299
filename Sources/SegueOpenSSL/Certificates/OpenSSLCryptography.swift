// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueAgentCore
import SegueCrypto
import SegueModel
import SegueSystem

/// The primitives of accounts from OpenSSL 3, which is loaded when the first object is made.
///
/// Data that OpenSSL reads has come from outside: it is bounded, and must be in DER, whole, with nothing after it.
public final class OpenSSLCryptography: Cryptography {
  /// A table that lives as long as the process.
  let f: UnsafePointer<openssl>

  /// Throws SYSTEM without OpenSSL 3.
  public convenience init() throws(SegueError) { self.init(try OpenSSL.functions()) }

  private init(_ functions: UnsafePointer<openssl>) { f = functions }

  public func random(_ count: Int) throws(SegueError) -> [UInt8] {
    // The kernel's, which OpenSSL's configuration of this system cannot replace.
    try RandomBytes.draw(count)
  }

  public func sha256(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    guard f.pointee.EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, f.pointee.EVP_sha256(), nil) == 1 else {
      throw failed("a digest")
    }
    return digest
  }

  // MARK: - Keys

  public func makeKey() throws(SegueError) -> Secret {
    let head = OpenSSL.privateKeyHead
    return try Secret.make(count: head.count + OpenSSL.seedSize) { bytes throws(SegueError) in
      bytes.copyBytes(from: head)
      try RandomBytes.fill(UnsafeMutableRawBufferPointer(rebasing: bytes[head.count...]))
    }
  }

  public func publicKey(of key: Secret) throws(SegueError) -> [UInt8] {
    let key = try privateKey(key)
    defer { f.pointee.EVP_PKEY_free(key) }
    return try encoded("a public key") { f.pointee.i2d_PUBKEY(key, $0) }
  }

  public func sign(_ message: [UInt8], with key: Secret) throws(SegueError) -> [UInt8] {
    let key = try privateKey(key)
    defer { f.pointee.EVP_PKEY_free(key) }
    guard let context = f.pointee.EVP_MD_CTX_new() else { throw failed("a signature") }
    defer { f.pointee.EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 64)
    var size = signature.count
    guard f.pointee.EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
      f.pointee.EVP_DigestSign(context, &signature, &size, message, message.count) == 1, size == signature.count
    else { throw failed("a signature") }
    return signature
  }

  public func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
    defer { f.pointee.ERR_clear_error() }
    let key = decoded(publicKey, { f.pointee.d2i_PUBKEY(nil, $0, $1) }, free: { f.pointee.EVP_PKEY_free($0) })
    guard let key else { return false }
    defer { f.pointee.EVP_PKEY_free(key) }
    guard signature.count == 64, f.pointee.EVP_PKEY_get_base_id(key) == NID_ED25519,
      let context = f.pointee.EVP_MD_CTX_new()
    else { return false }
    defer { f.pointee.EVP_MD_CTX_free(context) }
    return f.pointee.EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && f.pointee.EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// The caller frees it. Throws MALFORMED unless it is an Ed25519 key in PKCS#8.
  func privateKey(_ der: Secret) throws(SegueError) -> OpaquePointer {
    defer { f.pointee.ERR_clear_error() }
    guard let key = try OpenSSL.privateKey(der, f) else { throw malformed("a private key") }
    return key
  }

  // MARK: - Keys under a passphrase

  /// OpenSSL's PKCS#8 stops at 32 MiB, which N = 2^15 would need. 290 ms each way.
  private static let scrypt: (cost: UInt64, block: UInt64, lanes: UInt64) = (1 << 14, 8, 5)
  private static let saltSize = 16

  public func seal(_ key: Secret, passphrase: [UInt8]) throws(SegueError) -> [UInt8] {
    let info = try key.withBytes { key throws(SegueError) -> OpaquePointer? in
      var start = key.bindMemory(to: UInt8.self).baseAddress
      return f.pointee.d2i_PKCS8_PRIV_KEY_INFO(nil, &start, key.count)
    }
    guard let info else { throw malformed("a private key") }
    defer { f.pointee.PKCS8_PRIV_KEY_INFO_free(info) }
    guard let algorithm = parameters(salt: try random(Self.saltSize), vector: nil) else {
      throw failed("a recovery file")
    }
    let sealed = passphrase.withUnsafeBytes { bytes in
      f.pointee.PKCS8_set0_pbe(
        bytes.bindMemory(to: CChar.self).baseAddress, Int32(truncatingIfNeeded: bytes.count), info, algorithm)
    }
    guard let sealed else {
      f.pointee.X509_ALGOR_free(algorithm)
      throw failed("a recovery file")
    }
    defer { f.pointee.X509_SIG_free(sealed) }
    guard let memory = f.pointee.BIO_new(f.pointee.BIO_s_mem()) else { throw failed("a recovery file") }
    defer { _ = f.pointee.BIO_free(memory) }
    guard f.pointee.PEM_write_bio_PKCS8(memory, sealed) == 1 else { throw failed("a recovery file") }
    var text = [UInt8](repeating: 0, count: Limits.recoveryFile)
    let count = f.pointee.BIO_read(memory, &text, Int32(text.count))
    guard count > 0 else { throw failed("a recovery file") }
    return Array(text[..<Int(count)])
  }

  public func open(_ sealed: [UInt8], passphrase: [UInt8]) throws(SegueError) -> Secret {
    defer { f.pointee.ERR_clear_error() }
    let file = sealed.withUnsafeBytes { bytes -> OpaquePointer? in
      guard bytes.count <= Limits.recoveryFile,
        let memory = f.pointee.BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
      else { return nil }
      defer { _ = f.pointee.BIO_free(memory) }
      // Without a callback OpenSSL asks at the terminal for the passphrase of an old form of encryption.
      return f.pointee.PEM_read_bio_PKCS8(memory, nil, { _, _, _, _ in -1 }, nil)
    }
    guard let file else { throw malformed("a recovery file") }
    defer { f.pointee.X509_SIG_free(file) }
    guard try isOwnForm(file) else {
      throw SegueError(.malformed, "the recovery file was not made by Segue: its passphrase is kept in another way")
    }
    let info = passphrase.withUnsafeBytes { bytes in
      f.pointee.PKCS8_decrypt(
        file, bytes.bindMemory(to: CChar.self).baseAddress, Int32(truncatingIfNeeded: bytes.count))
    }
    guard let info else { throw SegueError(.notAllowed, "recovery file: the passphrase is wrong") }
    defer { f.pointee.PKCS8_PRIV_KEY_INFO_free(info) }
    var start: UnsafeMutablePointer<UInt8>?
    let count = Int(f.pointee.i2d_PKCS8_PRIV_KEY_INFO(info, &start))
    guard count > 0, let start else { throw failed("a key") }
    defer { f.pointee.CRYPTO_clear_free(start, count, "", 0) }
    let key = try Secret.copy(of: UnsafeRawBufferPointer(start: start, count: count))
    f.pointee.EVP_PKEY_free(try privateKey(key))
    return key
  }

  private func parameters(salt: [UInt8], vector: [UInt8]?) -> UnsafeMutablePointer<X509_ALGOR>? {
    var (salt, vector) = (salt, vector)
    let (cost, block, lanes) = Self.scrypt
    guard vector != nil else {
      return f.pointee.PKCS5_pbe2_set_scrypt(
        f.pointee.EVP_aes_256_cbc(), &salt, Int32(salt.count), nil, cost, block, lanes)
    }
    return f.pointee.PKCS5_pbe2_set_scrypt(
      f.pointee.EVP_aes_256_cbc(), &salt, Int32(salt.count), &vector!, cost, block, lanes)
  }

  /// Whether the passphrase is kept as `seal` does it. Others could make `open` take hours: the file says how much work
  /// it is. Compared with two forms that differ in salt and vector only.
  private func isOwnForm(_ file: OpaquePointer) throws(SegueError) -> Bool {
    var algorithm: UnsafePointer<X509_ALGOR>?
    f.pointee.X509_SIG_get0(file, &algorithm, nil)
    guard let algorithm else { return false }
    let found = try encoded("a recovery file") { f.pointee.i2d_X509_ALGOR(algorithm, $0) }
    var forms: [[UInt8]] = []
    for byte: UInt8 in [0, 0xff] {
      let filler = [UInt8](repeating: byte, count: 16)
      guard let form = parameters(salt: filler, vector: filler) else { throw failed("a recovery file") }
      defer { f.pointee.X509_ALGOR_free(form) }
      forms.append(try encoded("a recovery file") { f.pointee.i2d_X509_ALGOR(form, $0) })
    }
    guard found.count == forms[0].count, found.count == forms[1].count else { return false }
    return found.indices.allSatisfy { forms[0][$0] != forms[1][$0] || found[$0] == forms[0][$0] }
  }

  // MARK: - DER

  /// The bytes that `i2d` writes into memory of OpenSSL's.
  func encoded(
    _ what: StaticString, _ i2d: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
  ) throws(SegueError) -> [UInt8] {
    var start: UnsafeMutablePointer<UInt8>?
    let count = i2d(&start)
    guard count > 0, let start else { throw failed(what) }
    defer { f.pointee.CRYPTO_free(start, "", 0) }
    return Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }

  /// The object that `d2i` reads, if it takes all bytes. The caller frees it.
  func decoded(
    _ der: [UInt8], _ d2i: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
    free: (OpaquePointer) -> Void
  ) -> OpaquePointer? {
    guard !der.isEmpty, der.count <= Limits.rosterBytes else { return nil }
    return der.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      guard let object = d2i(&place, bytes.count) else { return nil }
      if place == bytes.baseAddress.map({ $0 + bytes.count }) { return object }
      free(object)
      return nil
    }
  }

  func failed(_ what: StaticString) -> SegueError {
    SegueError(.system, "OpenSSL cannot make \(what): \(OpenSSL.takeError(f))")
  }

  func malformed(_ what: StaticString) -> SegueError {
    SegueError(.malformed, "\(what) cannot be read: \(OpenSSL.takeError(f))")
  }
}
