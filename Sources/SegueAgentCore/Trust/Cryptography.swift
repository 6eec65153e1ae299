// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The primitives that an account is made of. SegueOpenSSL has them from OpenSSL; simulations bring a stand-in.
///
/// Keys are Ed25519 (RFC 8032). A private key is PKCS#8 in DER, a public key a SubjectPublicKeyInfo in DER. All dates
/// are seconds since 1970. Bytes from outside may be anything: each function reads them within bounds, and throws
/// MALFORMED for what it cannot read. All functions throw SYSTEM if the implementation fails.
public protocol Cryptography: AnyObject {
  /// Draws unpredictable bytes.
  func random(_ count: Int) throws(SegueError) -> [UInt8]
  /// Returns 32 bytes. No copy of the bytes is left behind.
  func sha256(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> [UInt8]

  // MARK: Keys

  /// Makes a private key.
  func makeKey() throws(SegueError) -> Secret
  func publicKey(of key: Secret) throws(SegueError) -> [UInt8]
  /// Returns 64 bytes.
  func sign(_ message: [UInt8], with key: Secret) throws(SegueError) -> [UInt8]
  func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool
  /// Encrypts a private key: PKCS#8 with scrypt and AES-256 (RFC 5208, RFC 7914), as PEM.
  func seal(_ key: Secret, passphrase: [UInt8]) throws(SegueError) -> [UInt8]
  /// Throws NOT_ALLOWED if the passphrase is wrong. Takes what `seal` makes, and nothing that costs more to open.
  func open(_ sealed: [UInt8], passphrase: [UInt8]) throws(SegueError) -> Secret

  // MARK: Certificates (RFC 5280), requests (PKCS#10, RFC 2986)

  /// Makes the certificate of an account: signed by itself, for nothing but certificates and revocations.
  func makeRoot(_ fields: CertificateFields, key: Secret) throws(SegueError) -> [UInt8]
  /// Makes the certificate of a device, for both ends of TLS.
  func makeCertificate(_ fields: CertificateFields, root: [UInt8], rootKey: Secret) throws(SegueError) -> [UInt8]
  /// Makes a list of revoked certificates, without a date at which it ends.
  func makeRevocations(_ fields: RevocationFields, root: [UInt8], rootKey: Secret) throws(SegueError) -> [UInt8]
  /// Makes a request for a certificate, which proves that its maker has the key.
  func makeRequest(key: Secret) throws(SegueError) -> [UInt8]

  /// Reads the certificate of an account. Throws NOT_ALLOWED unless it is one, signed by itself.
  func readRoot(_ certificate: [UInt8]) throws(SegueError) -> CertificateFields
  /// Reads a certificate, and checks nothing but its form.
  func readCertificate(_ certificate: [UInt8]) throws(SegueError) -> CertificateFields
  /// Throws NOT_ALLOWED unless the root has signed it.
  func readRevocations(_ list: [UInt8], root: [UInt8]) throws(SegueError) -> RevocationFields
  /// Returns the public key. Throws NOT_ALLOWED unless the request is signed with it.
  func readRequest(_ request: [UInt8]) throws(SegueError) -> [UInt8]
  /// Checks a device's certificate as TLS will: signature, purpose, dates, revocation, strictly.
  /// - Returns: what is wrong; nil if nothing is.
  func problem(
    of certificate: [UInt8], root: [UInt8], revocations: [UInt8], at date: Int64
  ) throws(SegueError) -> CertificateProblem?
}

/// The fields of a certificate.
public struct CertificateFields: Sendable {
  /// The subject's common name, 64 characters at most.
  public let name: String
  /// The only URI of subjectAltName; empty in a root.
  public let uri: String
  public let publicKey: [UInt8]
  /// 16 bytes, the first one from 1 to 127; of certificates from outside 1 to 20 bytes.
  public let serial: [UInt8]
  public let from, until: Int64

  public init(name: String, uri: String, publicKey: [UInt8], serial: [UInt8], from: Int64, until: Int64) {
    self.name = name
    self.uri = uri
    self.publicKey = publicKey
    self.serial = serial
    self.from = from
    self.until = until
  }
}

/// The fields of a list of revoked certificates.
public struct RevocationFields: Sendable {
  /// Rises with each list.
  public let number: UInt64
  /// From when on the list counts. The number says which one is the last.
  public let date: Int64
  /// Serial numbers.
  public let revoked: [[UInt8]]

  public init(number: UInt64, date: Int64, revoked: [[UInt8]]) {
    self.number = number
    self.date = date
    self.revoked = revoked
  }
}

/// Why a certificate is not accepted.
public enum CertificateProblem: Sendable, Equatable {
  case notYetValid
  case expired
  case revoked
  /// Another root, a wrong signature, purpose or form.
  case notTrusted
}
