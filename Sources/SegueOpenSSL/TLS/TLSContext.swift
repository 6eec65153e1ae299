// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueAgentCore
import SegueCrypto
import SegueModel
import SegueSystem

/// The settings that TLS sessions share: the rules of links and of joining. TLS 1.3 alone, X25519 or P-256, AES-128-GCM
/// or ChaCha20-Poly1305, no resumption. For links a certificate at both ends, revocations checked for the whole chain,
/// and the application protocol `segue/1`; for joining the pre-shared key of an invite alone (RFC 9257), and
/// `segue-join/1`.
///
/// New revocations or a renewed certificate need a new context; sessions keep theirs.
public final class TLSContext: SecurityContext {
  private static let groups = "X25519:P-256"
  private static let suites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"

  let functions: UnsafePointer<openssl>
  let context: OpaquePointer
  /// This device, by its certificate; nil for joining.
  public let identity: DeviceIdentity?
  /// The account's revoked certificates; nil for joining.
  private let revocations: OpaquePointer?
  /// The credentials against which certificates are verified; nil for joining.
  let credentials: DeviceCredentials?
  /// For joining: the identity of the key, and the key; nil for links.
  private let sharedKey: SharedKey?
  /// The name of the application protocol, with its length before it.
  let protocolName: UnsafeMutablePointer<UInt8>

  /// - Parameter applicationProtocol: another name than `segue/1` is for tests of a downgrade.
  /// Throws INVALID_ARGUMENT if the credentials do not fit together, SYSTEM without OpenSSL 3.
  public convenience init(
    _ credentials: DeviceCredentials, applicationProtocol: String = "segue/1"
  ) throws(SegueError) {
    let functions = try OpenSSL.functions()
    guard let context = functions.pointee.SSL_CTX_new(functions.pointee.TLS_method()) else {
      throw SegueError(.system, "TLS: OpenSSL says \(OpenSSL.takeError(functions))")
    }
    let protocolName = Self.encoded(applicationProtocol)
    do throws(SegueError) {
      try Self.setRules(functions, context, protocolName)
      guard tls_require_certificates(functions, context) == 1, tls_check_revocations(functions, context) == 1 else {
        throw SegueError(.system, "TLS 1.3: OpenSSL says \(OpenSSL.takeError(functions))")
      }
      tls_show_certificate_alone(functions, context)
      let (identity, revocations) = try Self.setCredentials(functions, context, credentials)
      self.init(functions, context, identity, revocations, credentials, nil, protocolName)
    } catch {
      functions.pointee.SSL_CTX_free(context)
      protocolName.deallocate()
      throw error
    }
  }

  /// For connections on which a device joins with an invite. Throws SYSTEM without OpenSSL 3.
  public convenience init(joiningWith invite: Invite) throws(SegueError) {
    let functions = try OpenSSL.functions()
    guard let context = functions.pointee.SSL_CTX_new(functions.pointee.TLS_method()) else {
      throw SegueError(.system, "TLS: OpenSSL says \(OpenSSL.takeError(functions))")
    }
    let protocolName = Self.encoded(String(joining: "\(Invite.applicationProtocol)"))
    do throws(SegueError) {
      try Self.setRules(functions, context, protocolName)
      let key = SharedKey(identity: invite.keyIdentity, key: invite.sharedKey)
      try key.use(functions, context)
      self.init(functions, context, nil, nil, nil, key, protocolName)
    } catch {
      functions.pointee.SSL_CTX_free(context)
      protocolName.deallocate()
      throw error
    }
  }

  /// The name of a protocol with its length before it.
  private static func encoded(_ applicationProtocol: String) -> UnsafeMutablePointer<UInt8> {
    let name = Array(applicationProtocol.utf8.prefix(255))
    let encoded = UnsafeMutablePointer<UInt8>.allocate(capacity: name.count + 1)
    encoded[0] = UInt8(name.count)
    for (index, byte) in name.enumerated() { encoded[index + 1] = byte }
    return encoded
  }

  private init(
    _ functions: UnsafePointer<openssl>, _ context: OpaquePointer, _ identity: DeviceIdentity?,
    _ revocations: OpaquePointer?, _ credentials: DeviceCredentials?, _ sharedKey: SharedKey?,
    _ protocolName: UnsafeMutablePointer<UInt8>
  ) {
    self.functions = functions
    self.context = context
    self.identity = identity
    self.revocations = revocations
    self.credentials = credentials
    self.sharedKey = sharedKey
    self.protocolName = protocolName
  }

  // Sessions hold their context: none uses the name afterwards.
  deinit {
    functions.pointee.SSL_CTX_free(context)
    functions.pointee.X509_CRL_free(revocations)
    protocolName.deallocate()
  }

  public func isRevoked(_ device: Identifier, _ certificate: [UInt8]) -> Bool {
    let f = functions.pointee
    // In doubt, as without memory, the connection ends.
    guard let certificate = Self.decode(certificate, { f.d2i_X509(nil, $0, $1) }) else { return true }
    defer { f.X509_free(certificate) }
    return isRevoked(device, certificate)
  }

  func isRevoked(_ device: Identifier, _ certificate: OpaquePointer) -> Bool {
    guard let revocations, let members = credentials?.members else { return false }
    return functions.pointee.X509_CRL_get0_by_cert(revocations, nil, certificate) != 0
      || members.standing(of: device) == .removed
  }

  public func lists(_ device: Identifier) -> Bool { credentials?.members.standing(of: device) == .listed }

  public func makeSession(_ role: SessionRole) throws(SegueError) -> any SecureSession { try TLSSession(role, self) }

  public func joining(with invite: Invite) throws(SegueError) -> any SecurityContext {
    try TLSContext(joiningWith: invite)
  }

  private static func setRules(
    _ functions: UnsafePointer<openssl>, _ context: OpaquePointer, _ protocolName: UnsafePointer<UInt8>
  ) throws(SegueError) {
    guard tls_require_1_3(functions, context) == 1, tls_set_groups(functions, context, groups) == 1,
      functions.pointee.SSL_CTX_set_ciphersuites(context, suites) == 1,
      tls_refuse_resumption(functions, context) == 1,
      tls_set_protocol(functions, context, protocolName) == 1
    else { throw SegueError(.system, "TLS 1.3: OpenSSL says \(OpenSSL.takeError(functions))") }
    tls_pad_records(functions, context)
  }

  private static func setCredentials(
    _ functions: UnsafePointer<openssl>, _ context: OpaquePointer, _ credentials: DeviceCredentials
  ) throws(SegueError) -> (DeviceIdentity, revocations: OpaquePointer) {
    func wrong(_ what: StaticString) -> SegueError {
      SegueError(.invalidArgument, "\(what): OpenSSL says \(OpenSSL.takeError(functions))")
    }
    let f = functions.pointee
    let certificate = decode(credentials.certificate) { f.d2i_X509(nil, $0, $1) }
    let root = decode(credentials.root) { f.d2i_X509(nil, $0, $1) }
    var revocations = decode(credentials.revocations) { f.d2i_X509_CRL(nil, $0, $1) }
    let key = try OpenSSL.privateKey(credentials.key, functions)
    defer {
      f.X509_free(certificate)
      f.X509_free(root)
      f.X509_CRL_free(revocations)
      f.EVP_PKEY_free(key)
    }
    guard let certificate else { throw wrong("the device's certificate") }
    guard let root else { throw wrong("the account's root") }
    guard let list = revocations else { throw wrong("the account's revocations") }
    guard let key else { throw wrong("the device's key") }
    guard f.SSL_CTX_use_certificate(context, certificate) == 1 else { throw wrong("the device's certificate") }
    guard f.SSL_CTX_use_PrivateKey(context, key) == 1, f.SSL_CTX_check_private_key(context) == 1 else {
      throw wrong("the device's key")
    }
    let store = f.SSL_CTX_get_cert_store(context)
    guard f.X509_STORE_add_cert(store, root) == 1 else { throw wrong("the account's root") }
    guard f.X509_CRL_verify(list, f.X509_get0_pubkey(root)) == 1, f.X509_STORE_add_crl(store, list) == 1 else {
      throw wrong("the account's revocations")
    }
    checkDateAlone(of: store, functions)
    let identity = try identity(certificate, root, functions)
    // It is the context's now.
    revocations = nil
    return (identity, list)
  }

  /// Has the list of revocations, which was verified, not verified again in each handshake, and there for each
  /// certificate of the chain. Only the date is left of OpenSSL's check of a list. The list is the only one of the
  /// store, and the root its only issuer; whether it has a certificate is looked up as always.
  private static func checkDateAlone(of store: OpaquePointer?, _ functions: UnsafePointer<openssl>) {
    functions.pointee.X509_STORE_set_check_crl(store) { context, list in
      guard let list, let f = try? OpenSSL.functions().pointee else { return 0 }
      guard let begin = f.X509_CRL_get0_lastUpdate(list), f.X509_cmp_current_time(begin) < 0 else {
        f.X509_STORE_CTX_set_error(context, X509_V_ERR_CRL_NOT_YET_VALID)
        return 0
      }
      if let end = f.X509_CRL_get0_nextUpdate(list), f.X509_cmp_current_time(end) <= 0 {
        f.X509_STORE_CTX_set_error(context, X509_V_ERR_CRL_HAS_EXPIRED)
        return 0
      }
      return 1
    }
  }

  private static func decode(
    _ bytes: [UInt8], _ body: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
  ) -> OpaquePointer? {
    bytes.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return body(&start, buffer.count)
    }
  }

  private static func identity(
    _ certificate: OpaquePointer, _ root: OpaquePointer, _ functions: UnsafePointer<openssl>
  ) throws(SegueError) -> DeviceIdentity {
    guard let account = identifier(root, functions), let device = identifier(certificate, functions) else {
      throw SegueError(.system, "the public key of a certificate cannot be hashed")
    }
    let identity = DeviceIdentity(account: account, device: device)
    guard isNamed(identity, in: certificate, functions) else {
      throw SegueError(.invalidArgument, "the device's certificate is another's than its name says")
    }
    return identity
  }

  /// Returns the first 16 bytes of the SHA-256 of a certificate's public key.
  static func identifier(_ certificate: OpaquePointer, _ functions: UnsafePointer<openssl>) -> Identifier? {
    var hash = [UInt8](repeating: 0, count: KeyedHash.size)
    guard tls_public_key_hash(functions, certificate, &hash) == 1 else { return nil }
    return Identifier(bytes: hash.prefix(Identifier.size))
  }

  /// Whether a certificate's name, the only one in its subjectAltName, is that of a device.
  static func isNamed(
    _ identity: DeviceIdentity, in certificate: OpaquePointer, _ functions: UnsafePointer<openssl>
  ) -> Bool {
    let expected = Array(identity.uri.utf8)
    var name = [CChar](repeating: 0, count: expected.count)
    let size = tls_subject_uri(functions, certificate, &name, Int32(expected.count))
    return size == expected.count && name.map { UInt8(bitPattern: $0) } == expected
  }
}

/// The security of links, by OpenSSL.
public final class TLSSecurity: LinkSecurity {
  public init() {}

  public func context(of credentials: DeviceCredentials) throws(SegueError) -> any SecurityContext {
    try TLSContext(credentials)
  }

  public func context(joiningWith invite: Invite) throws(SegueError) -> any SecurityContext {
    try TLSContext(joiningWith: invite)
  }

  public func sign(_ message: [UInt8], with key: Secret) throws(SegueError) -> (key: [UInt8], signature: [UInt8]) {
    let cryptography = try OpenSSLCryptography()
    return (try cryptography.publicKey(of: key), try cryptography.sign(message, with: key))
  }

  public func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
    (try? OpenSSLCryptography())?.isSignature(signature, of: message, by: publicKey) ?? false
  }
}

extension SecureChannel {
  /// A connection that this device has dialled to join an account with an invite.
  /// - Parameter nonce: 16 new random bytes.
  /// Throws SYSTEM without OpenSSL 3.
  public convenience init(joiningWith invite: Invite, nonce: [UInt8]) throws(SegueError) {
    self.init(joiningWith: invite, nonce: nonce, try TLSContext(joiningWith: invite))
  }
}
