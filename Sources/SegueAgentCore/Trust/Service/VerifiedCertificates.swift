// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Certificates that were found valid: they stay so until they end, as long as the account revokes no others. Each
/// message of a link is checked against the account, and to verify a signature each time costs more than the message.
struct VerifiedCertificates {
  /// The device itself, and each other one with a certificate and the one that replaces it.
  static let limit = 2 * Limits.devices

  private struct Entry {
    let certificate: [UInt8]
    let fields: CertificateFields
    /// When it was verified.
    let date: Int64
  }

  /// The root and the revocations against which they were verified.
  private var root: [UInt8] = []
  private var revocations: [UInt8] = []
  /// Newest last.
  private var entries: [Entry] = []

  /// Reads a certificate, and says what is wrong with it now; nil if nothing is. Throws MALFORMED, SYSTEM.
  mutating func check(
    _ certificate: [UInt8], _ membership: Membership, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> (fields: CertificateFields, problem: CertificateProblem?) {
    align(membership)
    if let known = entries.first(where: { $0.certificate == certificate }),
      known.date <= date, date < min(known.fields.until, membership.rootEnd)
    {
      return (known.fields, nil)
    }
    let fields = try cryptography.readCertificate(certificate)
    let problem = try cryptography.problem(of: certificate, root: root, revocations: revocations, at: date)
    entries.removeAll { $0.certificate == certificate }
    guard problem == nil else { return (fields, problem) }
    add(Entry(certificate: certificate, fields: fields, date: date))
    return (fields, nil)
  }

  /// Takes what TLS has verified, unless the account has other revocations by now.
  mutating func take(_ shown: PeerCertificate, _ membership: Membership) {
    align(membership)
    guard let verification = shown.verification, verification.root == root, verification.revocations == revocations,
      !entries.contains(where: { $0.certificate == shown.encoding })
    else { return }
    add(Entry(certificate: shown.encoding, fields: verification.fields, date: verification.date))
  }

  private mutating func align(_ membership: Membership) {
    guard root != membership.record.root || revocations != membership.roster.revocations else { return }
    (root, revocations, entries) = (membership.record.root, membership.roster.revocations, [])
  }

  private mutating func add(_ entry: Entry) {
    if entries.count >= Self.limit { entries.removeFirst() }
    entries.append(entry)
  }
}
