// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueAgentCore
import SegueModel
import SegueSystem

/// Certificates and requests (RFC 5280, RFC 2986).
extension OpenSSLCryptography {
  public func makeRoot(_ fields: CertificateFields, key: Secret) throws(SegueError) -> [UInt8] {
    let key = try privateKey(key)
    defer { f.pointee.EVP_PKEY_free(key) }
    let certificate = try unsigned(fields)
    defer { f.pointee.X509_free(certificate) }
    return try sign(
      certificate, by: certificate, key,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
      ])
  }

  public func makeCertificate(
    _ fields: CertificateFields, root: [UInt8], rootKey: Secret
  ) throws(SegueError) -> [UInt8] {
    let key = try privateKey(rootKey)
    defer { f.pointee.EVP_PKEY_free(key) }
    let root = try certificate(root)
    defer { f.pointee.X509_free(root) }
    guard DeviceIdentity(uri: fields.uri) != nil else {
      throw SegueError(.invalidArgument, "a certificate needs the URI of a device")
    }
    let certificate = try unsigned(fields)
    defer { f.pointee.X509_free(certificate) }
    return try sign(
      certificate, by: root, key,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "clientAuth,serverAuth"), (NID_subject_alt_name, String(joining: "URI:\(fields.uri)")),
        (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
      ])
  }

  public func makeRequest(key: Secret) throws(SegueError) -> [UInt8] {
    let key = try privateKey(key)
    defer { f.pointee.EVP_PKEY_free(key) }
    guard let request = f.pointee.X509_REQ_new() else { throw failed("a request") }
    defer { f.pointee.X509_REQ_free(request) }
    guard f.pointee.X509_REQ_set_version(request, 0) == 1, f.pointee.X509_REQ_set_pubkey(request, key) == 1,
      f.pointee.X509_REQ_sign(request, key, nil) > 0
    else { throw failed("a request") }
    return try encoded("a request") { f.pointee.i2d_X509_REQ(request, $0) }
  }

  public func readRequest(_ request: [UInt8]) throws(SegueError) -> [UInt8] {
    defer { f.pointee.ERR_clear_error() }
    let read = decoded(
      request, { f.pointee.d2i_X509_REQ(nil, $0, $1) }, free: { f.pointee.X509_REQ_free($0) })
    guard let read else { throw malformed("a request for a certificate") }
    defer { f.pointee.X509_REQ_free(read) }
    guard let key = f.pointee.X509_REQ_get0_pubkey(read), f.pointee.EVP_PKEY_get_base_id(key) == NID_ED25519,
      f.pointee.X509_REQ_verify(read, key) == 1
    else { throw SegueError(.notAllowed, "a request for a certificate is not signed with its own Ed25519 key") }
    return try encoded("a public key") { f.pointee.i2d_PUBKEY(key, $0) }
  }

  public func readRoot(_ certificate: [UInt8]) throws(SegueError) -> CertificateFields {
    defer { f.pointee.ERR_clear_error() }
    let root = try self.certificate(certificate)
    defer { f.pointee.X509_free(root) }
    guard f.pointee.X509_check_ca(root) == 1, let key = f.pointee.X509_get0_pubkey(root),
      f.pointee.EVP_PKEY_get_base_id(key) == NID_ED25519, f.pointee.X509_verify(root, key) == 1,
      f.pointee.X509_NAME_cmp(f.pointee.X509_get_subject_name(root), f.pointee.X509_get_issuer_name(root)) == 0
    else { throw SegueError(.notAllowed, "a certificate of an account is not signed by itself, or is for no account") }
    return try fields(of: root)
  }

  public func readCertificate(_ certificate: [UInt8]) throws(SegueError) -> CertificateFields {
    defer { f.pointee.ERR_clear_error() }
    let certificate = try self.certificate(certificate)
    defer { f.pointee.X509_free(certificate) }
    return try fields(of: certificate)
  }

  public func problem(
    of certificate: [UInt8], root: [UInt8], revocations: [UInt8], at date: Int64
  ) throws(SegueError) -> CertificateProblem? {
    defer { f.pointee.ERR_clear_error() }
    let certificate = try self.certificate(certificate)
    defer { f.pointee.X509_free(certificate) }
    let root = try self.certificate(root)
    defer { f.pointee.X509_free(root) }
    let list = try self.list(revocations)
    defer { f.pointee.X509_CRL_free(list) }
    guard let store = f.pointee.X509_STORE_new() else { throw failed("a verification") }
    defer { f.pointee.X509_STORE_free(store) }
    guard f.pointee.X509_STORE_add_cert(store, root) == 1, f.pointee.X509_STORE_add_crl(store, list) == 1,
      let context = f.pointee.X509_STORE_CTX_new()
    else { throw failed("a verification") }
    defer { f.pointee.X509_STORE_CTX_free(context) }
    guard f.pointee.X509_STORE_CTX_init(context, store, certificate, nil) == 1 else { throw failed("a verification") }
    let parameters = f.pointee.X509_STORE_CTX_get0_param(context)
    _ = f.pointee.X509_VERIFY_PARAM_set_flags(parameters, trust_verification())
    _ = f.pointee.X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_CLIENT)
    f.pointee.X509_VERIFY_PARAM_set_time(parameters, time_t(date))
    if f.pointee.X509_verify_cert(context) == 1 { return isForBothEnds(certificate) ? nil : .notTrusted }
    return switch f.pointee.X509_STORE_CTX_get_error(context) {
    case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CRL_NOT_YET_VALID: .notYetValid
    case X509_V_ERR_CERT_HAS_EXPIRED: .expired
    case X509_V_ERR_CERT_REVOKED: .revoked
    default: .notTrusted
    }
  }

  /// Whether a certificate is good for both ends of TLS: devices are at either.
  public func isForBothEnds(_ certificate: OpaquePointer) -> Bool {
    f.pointee.X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1
      && f.pointee.X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1
  }

  // MARK: - Reading

  /// The caller frees it.
  func certificate(_ der: [UInt8]) throws(SegueError) -> OpaquePointer {
    let certificate = decoded(der, { f.pointee.d2i_X509(nil, $0, $1) }, free: { f.pointee.X509_free($0) })
    guard let certificate else { throw malformed("a certificate") }
    // BER that is not DER would give one certificate several fingerprints.
    guard let same = try? encoded("a certificate", { f.pointee.i2d_X509(certificate, $0) }), same == der else {
      f.pointee.X509_free(certificate)
      throw malformed("a certificate")
    }
    return certificate
  }

  /// Reads a certificate of OpenSSL's.
  public func fields(of certificate: OpaquePointer) throws(SegueError) -> CertificateFields {
    guard f.pointee.X509_get0_pubkey(certificate) != nil else { throw malformed("the key of a certificate") }
    var uri = [CChar](repeating: 0, count: 256)
    let size = tls_subject_uri(f, certificate, &uri, Int32(uri.count))
    return CertificateFields(
      name: name(f.pointee.X509_get_subject_name(certificate)),
      uri: size > 0 ? String(decoding: uri[..<Int(size)].map { UInt8(bitPattern: $0) }, as: UTF8.self) : "",
      // As it stands there: to encode a key that was read takes longer than all of this.
      publicKey: try encoded("a public key") {
        f.pointee.i2d_X509_PUBKEY(f.pointee.X509_get_X509_PUBKEY(certificate), $0)
      },
      serial: bytes(of: f.pointee.X509_get0_serialNumber(certificate)),
      from: try seconds(f.pointee.X509_get0_notBefore(certificate)),
      until: try seconds(f.pointee.X509_get0_notAfter(certificate)))
  }

  /// The common name as UTF-8; empty without one.
  private func name(_ subject: OpaquePointer?) -> String {
    let index = f.pointee.X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
    guard index >= 0, let entry = f.pointee.X509_NAME_get_entry(subject, index) else { return "" }
    var start: UnsafeMutablePointer<UInt8>?
    let count = f.pointee.ASN1_STRING_to_UTF8(&start, f.pointee.X509_NAME_ENTRY_get_data(entry))
    guard count >= 0, let start else { return "" }
    defer { f.pointee.CRYPTO_free(start, "", 0) }
    return String(decoding: UnsafeBufferPointer(start: start, count: min(Int(count), Limits.title)), as: UTF8.self)
  }

  /// The magnitude of a number, big-endian.
  func bytes(of number: UnsafePointer<ASN1_INTEGER>?) -> [UInt8] {
    guard let start = f.pointee.ASN1_STRING_get0_data(number) else { return [] }
    let count = max(0, min(Int(f.pointee.ASN1_STRING_length(number)), 20))
    return Array(UnsafeBufferPointer(start: start, count: count))
  }

  /// Seconds since 1970.
  func seconds(_ time: UnsafePointer<ASN1_TIME>?) throws(SegueError) -> Int64 {
    guard let epoch = f.pointee.ASN1_TIME_set(nil, 0) else { throw failed("a date") }
    defer { f.pointee.ASN1_TIME_free(epoch) }
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard let time, f.pointee.ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { throw malformed("a date") }
    return Int64(days) * 86_400 + Int64(seconds)
  }

  // MARK: - Making

  /// A certificate without issuer, extensions and signature. The caller frees it.
  private func unsigned(_ fields: CertificateFields) throws(SegueError) -> OpaquePointer {
    guard let certificate = f.pointee.X509_new() else { throw failed("a certificate") }
    do throws(SegueError) {
      try fill(certificate, fields)
    } catch {
      f.pointee.X509_free(certificate)
      throw error
    }
    return certificate
  }

  private func fill(_ certificate: OpaquePointer, _ fields: CertificateFields) throws(SegueError) {
    let key = decoded(
      fields.publicKey, { f.pointee.d2i_PUBKEY(nil, $0, $1) }, free: { f.pointee.EVP_PKEY_free($0) })
    guard let key else { throw malformed("a public key") }
    defer { f.pointee.EVP_PKEY_free(key) }
    let name = Array(fields.name.utf8)
    guard f.pointee.X509_set_version(certificate, 2) == 1, f.pointee.X509_set_pubkey(certificate, key) == 1,
      f.pointee.ASN1_STRING_set(
        f.pointee.X509_get_serialNumber(certificate), fields.serial, Int32(fields.serial.count)) == 1,
      f.pointee.X509_NAME_add_entry_by_txt(
        f.pointee.X509_get_subject_name(certificate), "CN", trust_utf8(), name, Int32(name.count), -1, 0) == 1
    else { throw failed("a certificate") }
    let from = try time(fields.from)
    defer { f.pointee.ASN1_TIME_free(from) }
    let until = try time(fields.until)
    defer { f.pointee.ASN1_TIME_free(until) }
    guard f.pointee.X509_set1_notBefore(certificate, from) == 1, f.pointee.X509_set1_notAfter(certificate, until) == 1
    else { throw failed("a certificate") }
  }

  private func sign(
    _ certificate: OpaquePointer, by issuer: OpaquePointer, _ key: OpaquePointer,
    extensions: [(number: Int32, value: String)]
  ) throws(SegueError) -> [UInt8] {
    guard f.pointee.X509_set_issuer_name(certificate, f.pointee.X509_get_subject_name(issuer)) == 1 else {
      throw failed("a certificate")
    }
    for (number, value) in extensions {
      var context = X509V3_CTX()
      f.pointee.X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
      guard let item = f.pointee.X509V3_EXT_conf_nid(nil, &context, number, value) else {
        throw failed("an extension of a certificate")
      }
      defer { f.pointee.X509_EXTENSION_free(item) }
      guard f.pointee.X509_add_ext(certificate, item, -1) == 1 else { throw failed("a certificate") }
    }
    // Ed25519 hashes by itself: no digest.
    guard f.pointee.X509_sign(certificate, key, nil) > 0 else { throw failed("a certificate") }
    return try encoded("a certificate") { f.pointee.i2d_X509(certificate, $0) }
  }

  /// The caller frees it.
  func time(_ seconds: Int64) throws(SegueError) -> UnsafeMutablePointer<ASN1_TIME> {
    guard let time = f.pointee.ASN1_TIME_set(nil, time_t(seconds)) else { throw failed("a date") }
    return time
  }
}
