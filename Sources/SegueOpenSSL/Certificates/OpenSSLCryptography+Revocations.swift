// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueAgentCore
import SegueModel
import SegueSystem

/// Lists of revoked certificates (CRL, RFC 5280 §5), without a date at which they end: the highest number counts.
extension OpenSSLCryptography {
  public func makeRevocations(
    _ fields: RevocationFields, root: [UInt8], rootKey: Secret
  ) throws(SegueError) -> [UInt8] {
    let key = try privateKey(rootKey)
    defer { f.pointee.EVP_PKEY_free(key) }
    let root = try certificate(root)
    defer { f.pointee.X509_free(root) }
    guard let list = f.pointee.X509_CRL_new() else { throw failed("a list of revocations") }
    defer { f.pointee.X509_CRL_free(list) }
    let date = try time(fields.date)
    defer { f.pointee.ASN1_TIME_free(date) }
    guard let number = f.pointee.ASN1_INTEGER_new() else { throw failed("a list of revocations") }
    defer { f.pointee.ASN1_INTEGER_free(number) }
    guard f.pointee.X509_CRL_set_version(list, 1) == 1,
      f.pointee.X509_CRL_set_issuer_name(list, f.pointee.X509_get_subject_name(root)) == 1,
      f.pointee.X509_CRL_set1_lastUpdate(list, date) == 1,
      f.pointee.ASN1_INTEGER_set_uint64(number, fields.number) == 1,
      f.pointee.X509_CRL_add1_ext_i2d(list, NID_crl_number, number, 0, 0) == 1
    else { throw failed("a list of revocations") }
    var context = X509V3_CTX()
    f.pointee.X509V3_set_ctx(&context, root, nil, nil, list, 0)
    guard let item = f.pointee.X509V3_EXT_conf_nid(nil, &context, NID_authority_key_identifier, "keyid:always") else {
      throw failed("a list of revocations")
    }
    defer { f.pointee.X509_EXTENSION_free(item) }
    guard f.pointee.X509_CRL_add_ext(list, item, -1) == 1 else { throw failed("a list of revocations") }
    for serial in fields.revoked { try add(serial, date, to: list) }
    guard f.pointee.X509_CRL_sort(list) == 1, f.pointee.X509_CRL_sign(list, key, nil) > 0 else {
      throw failed("a list of revocations")
    }
    return try encoded("a list of revocations") { f.pointee.i2d_X509_CRL(list, $0) }
  }

  private func add(
    _ serial: [UInt8], _ date: UnsafeMutablePointer<ASN1_TIME>, to list: OpaquePointer
  ) throws(SegueError) {
    guard let number = f.pointee.ASN1_INTEGER_new() else { throw failed("a revocation") }
    defer { f.pointee.ASN1_INTEGER_free(number) }
    guard let entry = f.pointee.X509_REVOKED_new() else { throw failed("a revocation") }
    guard f.pointee.ASN1_STRING_set(number, serial, Int32(serial.count)) == 1,
      f.pointee.X509_REVOKED_set_serialNumber(entry, number) == 1,
      f.pointee.X509_REVOKED_set_revocationDate(entry, date) == 1,
      f.pointee.X509_CRL_add0_revoked(list, entry) == 1
    else {
      f.pointee.X509_REVOKED_free(entry)
      throw failed("a revocation")
    }
  }

  public func readRevocations(_ list: [UInt8], root: [UInt8]) throws(SegueError) -> RevocationFields {
    defer { f.pointee.ERR_clear_error() }
    let list = try self.list(list)
    defer { f.pointee.X509_CRL_free(list) }
    let root = try certificate(root)
    defer { f.pointee.X509_free(root) }
    guard let key = f.pointee.X509_get0_pubkey(root), f.pointee.X509_CRL_verify(list, key) == 1,
      f.pointee.X509_NAME_cmp(f.pointee.X509_CRL_get_issuer(list), f.pointee.X509_get_subject_name(root)) == 0
    else { throw SegueError(.notAllowed, "a list of revocations is not signed by the account") }
    guard f.pointee.X509_CRL_get0_nextUpdate(list) == nil else {
      throw SegueError(.notAllowed, "a list of revocations has a date at which it ends")
    }
    let extensionValue = f.pointee.X509_CRL_get_ext_d2i(list, NID_crl_number, nil, nil)
    guard let number = extensionValue?.assumingMemoryBound(to: ASN1_INTEGER.self) else {
      throw malformed("the number of a list of revocations")
    }
    defer { f.pointee.ASN1_INTEGER_free(number) }
    var value: UInt64 = 0
    guard f.pointee.ASN1_INTEGER_get_uint64(&value, number) == 1 else {
      throw malformed("the number of a list of revocations")
    }
    var revoked: [[UInt8]] = []
    if let entries = f.pointee.X509_CRL_get_REVOKED(list) {
      let count = f.pointee.OPENSSL_sk_num(entries)
      guard count <= Limits.revocations else { throw malformed("a list of too many revocations") }
      for index in 0..<max(0, count) {
        guard let entry = f.pointee.OPENSSL_sk_value(entries, index) else { continue }
        revoked.append(bytes(of: f.pointee.X509_REVOKED_get0_serialNumber(OpaquePointer(entry))))
      }
    }
    return RevocationFields(
      number: value, date: try seconds(f.pointee.X509_CRL_get0_lastUpdate(list)), revoked: revoked)
  }

  /// The caller frees it.
  func list(_ der: [UInt8]) throws(SegueError) -> OpaquePointer {
    let list = decoded(der, { f.pointee.d2i_X509_CRL(nil, $0, $1) }, free: { f.pointee.X509_CRL_free($0) })
    guard let list else { throw malformed("a list of revocations") }
    guard let same = try? encoded("a list of revocations", { f.pointee.i2d_X509_CRL(list, $0) }), same == der else {
      f.pointee.X509_CRL_free(list)
      throw malformed("a list of revocations")
    }
    return list
  }
}
