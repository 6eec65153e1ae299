// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A certificate that the other end of a link has shown, and what is known of it from TLS.
public struct PeerCertificate: Sendable {
  /// The result of a verification by TLS, which checks the same as `Cryptography.problem`, for both ends.
  public struct Verification: Sendable {
    let fields: CertificateFields
    let root, revocations: [UInt8]
    /// When, in seconds since 1970.
    let date: Int64

    /// - Parameters:
    ///   - fields: what the certificate says.
    ///   - root: against which it was verified, as `revocations`.
    public init(fields: CertificateFields, root: [UInt8], revocations: [UInt8], at now: Instant) {
      self.fields = fields
      self.root = root
      self.revocations = revocations
      date = now.seconds
    }
  }

  /// In DER.
  public let encoding: [UInt8]
  /// Nil if it has to be verified.
  public let verification: Verification?

  public init(_ encoding: [UInt8], _ verification: Verification?) {
    self.encoding = encoding
    self.verification = verification
  }
}
