// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueAgentCore
import SegueCrypto
import SegueModel

/// One end of a TLS connection, by OpenSSL.
public final class TLSSession: SecureSession {
  private static let recordSize = SecureChannel.recordSize
  /// Bytes of ciphertext that wait to be sent, from which on nothing is encrypted.
  static let outputLimit = 5 * recordSize
  /// Messages of the handshake that may come after it is over. Devices send none; each `KeyUpdate` has this end derive
  /// keys, and answer.
  static let lateMessageLimit = 16

  private let context: TLSContext
  private let role: SessionRole
  let session: OpaquePointer
  private let buffers: RecordBuffers
  private var headers: RecordHeaders
  /// Records, and messages of the handshake; once that is over, those after it. OpenSSL counts them.
  private let arrivals: UnsafeMutablePointer<tls_arrivals>
  /// The device at the other end, once both have shown their certificates; nil while joining.
  public private(set) var peer: DeviceIdentity?
  /// Whether the handshake is over, and the other end is the one that it has to be.
  public private(set) var isAuthenticated = false
  /// Whether application bytes have arrived. Only then does a client know that the server has accepted its certificate.
  public private(set) var hasReceived = false
  /// The records at the last `takeRecordCount`.
  private var countedRecords: UInt32 = 0
  /// Whether the other end has ended the session.
  public private(set) var isClosed = false
  /// Whether the other end has refused the certificate of this one as revoked. A client does so before it is
  /// authenticated.
  public private(set) var isCalledRevoked = false
  /// Whether OpenSSL has said that the session is broken.
  private var hasFailed = false

  private var f: UnsafePointer<openssl> { context.functions }

  /// Throws SYSTEM if OpenSSL has no memory.
  public convenience init(_ role: SessionRole, _ context: TLSContext) throws(SegueError) {
    let functions = context.functions
    guard let session = functions.pointee.SSL_new(context.context) else {
      throw SegueError(.system, "TLS: OpenSSL says \(OpenSSL.takeError(functions))")
    }
    let buffers = RecordBuffers(outputLimit: Self.outputLimit)
    guard buffers.use(functions, session) else {
      functions.pointee.SSL_free(session)
      throw SegueError(.system, "TLS: OpenSSL says \(OpenSSL.takeError(functions))")
    }
    self.init(role, context, session, buffers)
    switch role {
    case .client: functions.pointee.SSL_set_connect_state(session)
    case .server: functions.pointee.SSL_set_accept_state(session)
    }
  }

  private init(
    _ role: SessionRole, _ context: TLSContext, _ session: OpaquePointer, _ buffers: RecordBuffers
  ) {
    self.role = role
    self.context = context
    self.session = session
    self.buffers = buffers
    headers = RecordHeaders(ofClient: role == .server)
    arrivals = .allocate(capacity: 1)
    arrivals.initialize(to: tls_arrivals())
    tls_count_arrivals(f, session, arrivals)
  }

  deinit {
    f.pointee.SSL_free(session)
    arrivals.deallocate()
  }

  // MARK: The handshake

  /// Goes on with the handshake; a client's begins with it. Throws what is wrong with the other end, after which
  /// only `takeOutput` may be called: it has the alert that tells the other end.
  public func advance() throws(SegueError) {
    guard !isAuthenticated else { return }
    let result = call { f.pointee.SSL_do_handshake(session) }
    guard result == 1 else {
      guard f.pointee.SSL_get_error(session, result) == SSL_ERROR_WANT_READ else { throw failure() }
      return
    }
    try checkProtocol()
    if let own = context.identity {
      peer = try authenticated(own)
    } else if f.pointee.SSL_session_reused(session) == 0 {
      // OpenSSL calls a key that was used a session that was resumed.
      throw SegueError(.notAllowed, "a device joins without the key of an invite")
    }
    isAuthenticated = true
    arrivals.pointee.messages = 0
  }

  private func checkProtocol() throws(SegueError) {
    var (name, size): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
    f.pointee.SSL_get0_alpn_selected(session, &name, &size)
    let expected = UnsafeBufferPointer(start: context.protocolName + 1, count: Int(context.protocolName[0]))
    guard f.pointee.SSL_version(session) == TLS1_3_VERSION,
      UnsafeBufferPointer(start: name, count: Int(size)).elementsEqual(expected)
    else { throw SegueError(.unsupportedVersion, "the other device speaks another protocol than segue/1 over TLS 1.3") }
  }

  /// The identity of the other end. OpenSSL has checked the chain, the dates, the purposes and the revocations.
  private func authenticated(_ own: DeviceIdentity) throws(SegueError) -> DeviceIdentity {
    guard f.pointee.SSL_session_reused(session) == 0 else { throw SegueError(.notAllowed, "a TLS session was resumed") }
    guard let certificate = f.pointee.SSL_get1_peer_certificate(session) else {
      throw SegueError(.notAllowed, "the other device shows no certificate")
    }
    defer { f.pointee.X509_free(certificate) }
    guard let device = TLSContext.identifier(certificate, context.functions) else {
      throw SegueError(.system, "the public key of a certificate cannot be hashed")
    }
    let identity = DeviceIdentity(account: own.account, device: device)
    guard TLSContext.isNamed(identity, in: certificate, context.functions) else {
      throw SegueError(.notAllowed, "the other device's certificate is another's than its name says")
    }
    guard identity != own else {
      throw SegueError(.invalidState, "the connection leads back to this device")
    }
    guard !context.isRevoked(device, certificate) else {
      throw SegueError(.notAllowed, "the other device was removed from the account")
    }
    return identity
  }

  /// The certificate of the other end, which is authenticated, and what this session has verified of it; nil while
  /// joining.
  public func shown(at now: Instant) -> PeerCertificate? {
    guard peer != nil, let certificate = f.pointee.SSL_get1_peer_certificate(session) else { return nil }
    defer { f.pointee.X509_free(certificate) }
    return encoding(of: certificate).map { PeerCertificate($0, verification(of: certificate, at: now)) }
  }

  public var certificate: [UInt8]? {
    guard peer != nil, let certificate = f.pointee.SSL_get1_peer_certificate(session) else { return nil }
    defer { f.pointee.X509_free(certificate) }
    return encoding(of: certificate)
  }

  private func encoding(of certificate: OpaquePointer) -> [UInt8]? {
    var encoding: UnsafeMutablePointer<UInt8>?
    let size = f.pointee.i2d_X509(certificate, &encoding)
    guard size > 0, let encoding else { return nil }
    defer { f.pointee.CRYPTO_free(encoding, "", 0) }
    return Array(UnsafeBufferPointer(start: encoding, count: Int(size)))
  }

  /// Nil if TLS, which has seen one end, has not verified all that an account asks for.
  private func verification(of certificate: OpaquePointer, at now: Instant) -> PeerCertificate.Verification? {
    guard let credentials = context.credentials, let cryptography = try? OpenSSLCryptography(),
      cryptography.isForBothEnds(certificate), let fields = try? cryptography.fields(of: certificate)
    else { return nil }
    return PeerCertificate.Verification(
      fields: fields, root: credentials.root, revocations: credentials.revocations, at: now)
  }

  /// Exports 32 bytes that both ends have alone (RFC 8446 §7.5), without a context. Throws SYSTEM.
  public func exporter(_ label: StaticString) throws(SegueError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 32)
    let isDone = label.withUTF8Buffer { label in
      label.withMemoryRebound(to: CChar.self) { label in
        f.pointee.SSL_export_keying_material(
          session, &bytes, bytes.count, label.baseAddress, label.count, nil, 0, 0) == 1
      }
    }
    guard isAuthenticated, isDone else {
      throw SegueError(.system, "TLS: OpenSSL says \(OpenSSL.takeError(context.functions))")
    }
    return bytes
  }

  /// Calls OpenSSL for this session. SSL_get_error(3) reads the errors of the thread: what the call for another session
  /// has left there must not count for this one.
  private func call(_ body: () -> Int32) -> Int32 {
    f.pointee.ERR_clear_error()
    return body()
  }

  private func failure() -> SegueError {
    hasFailed = true
    let result = f.pointee.SSL_get_verify_result(session)
    guard result == Int(X509_V_OK) else {
      _ = OpenSSL.takeError(context.functions)
      let reason = f.pointee.X509_verify_cert_error_string(result).map { String(cString: $0) } ?? "is not accepted"
      let isClock = result == Int(X509_V_ERR_CERT_NOT_YET_VALID) || result == Int(X509_V_ERR_CERT_HAS_EXPIRED)
      let hint: StaticString = isClock ? "; are the clocks of both devices right?" : ""
      return SegueError(.notAllowed, "the other device's certificate: \(reason)\(hint)")
    }
    let code = f.pointee.ERR_peek_last_error()
    if code & 0x7f_ffff == UInt(SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED) { isCalledRevoked = true }
    return SegueError(.connectionUnavailable, "TLS: \(OpenSSL.takeError(context.functions))")
  }

  // MARK: Bytes

  /// Takes bytes from the connection. Throws MALFORMED if they are no TLS 1.3, and what `body` throws.
  /// - Parameter body: reads what they say, which then need not be copied.
  public func receive(
    _ bytes: UnsafeRawBufferPointer, _ body: () throws(SegueError) -> Void
  ) throws(SegueError) {
    if !hasReceived { try headers.read(bytes) }
    try buffers.lend(bytes, body)
  }

  /// Decrypts into `buffer`, as much as there is or fits. Throws if a record was changed on its way, and LIMIT_EXCEEDED
  /// if the other end goes on with the handshake without end.
  /// - Returns: the number of bytes; 0 if no whole record has arrived, or the session is closed.
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(SegueError) -> Int {
    guard isAuthenticated, !isClosed else { return 0 }
    var filled = 0
    while filled < buffer.count, let base = buffer.baseAddress {
      let (before, counted) = (buffers.inputCount, arrivals.pointee.messages)
      let result = call { f.pointee.SSL_read(session, base + filled, Int32(clamping: buffer.count - filled)) }
      if result > 0 {
        filled += Int(result)
        hasReceived = true
        continue
      }
      switch f.pointee.SSL_get_error(session, result) {
      case SSL_ERROR_WANT_READ:
        guard arrivals.pointee.messages <= Self.lateMessageLimit else {
          throw SegueError(
            .limitExceeded,
            "TLS: more than \(Self.lateMessageLimit) messages of the handshake have come after it was over")
        }
        // A record without bytes for the application, of which a KeyUpdate takes two calls: another one may follow.
        let left = buffers.inputCount
        guard left > 0, left < before || arrivals.pointee.messages != counted else { return filled }
      case SSL_ERROR_ZERO_RETURN:
        isClosed = true
        return filled
      default: throw failure()
      }
    }
    return filled
  }

  /// - Returns: the number of records that have arrived since the last call, those without content included: their cost
  ///   does not depend on their size alone.
  public func takeRecordCount() -> Int {
    defer { countedRecords = arrivals.pointee.records }
    return Int(arrivals.pointee.records &- countedRecords)
  }

  /// Encrypts bytes, in whole records, as long as little output waits.
  /// - Returns: the number of bytes taken.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> Int {
    guard isAuthenticated, !isClosed else { return 0 }
    var taken = 0
    while taken < bytes.count, outputCount < Self.outputLimit, let base = bytes.baseAddress {
      let count = min(Self.recordSize, bytes.count - taken)
      let result = call { f.pointee.SSL_write(session, base + taken, Int32(count)) }
      guard result > 0 else { throw failure() }
      taken += Int(result)
    }
    return taken
  }

  /// Tells the other end that nothing follows.
  public func close() {
    // A broken session must not be shut down (SSL_shutdown(3)).
    if isAuthenticated, !hasFailed { _ = call { f.pointee.SSL_shutdown(session) } }
  }

  /// Bytes to send.
  public var outputCount: Int { buffers.outputCount }

  /// Takes the bytes to send in exchange for an array, whose memory is used for those that follow.
  public func takeOutput(into former: inout [UInt8]) { buffers.takeOutput(into: &former) }
}
