// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A message between devices of one account about it, over a link on which both have shown their certificates
/// (docs/trust.md). Each is an array that begins with its number, in deterministic CBOR.
enum TrustMessage: Sendable {
  /// The first one of both sides: the term, the number and the SHA-256 of the roster, the date by the own clock, and
  /// the version of rosters that this side takes.
  case numbers(term: UInt64, roster: UInt64, digest: [UInt8], date: Int64, version: UInt64)
  /// A roster, which the manager has signed twice; any device may carry it.
  case roster(encoding: [UInt8], signature: [UInt8], managerSignature: [UInt8])
  /// To the manager: asks for another certificate, for the key of the link's.
  case renew
  /// From the manager: the certificate.
  case certificate([UInt8])
  /// To the manager: another name.
  case rename(String)
  /// To the manager: this device leaves.
  case leave
  /// From the manager: why it does not do what was asked.
  case refusal(status: Status, reason: String)

  func encoding() throws(SegueError) -> [UInt8] {
    try ValueWriter.array { writer throws(SegueError) in
      switch self {
      case .numbers(let term, let roster, let digest, let date, let version):
        try writer.put(UInt64(1))
        try writer.put(term)
        try writer.put(roster)
        try writer.put(data: digest)
        try writer.put(date: date)
        try writer.put(version)
      case .renew: try writer.put(UInt64(3))
      case .certificate(let certificate):
        try writer.put(UInt64(4))
        try writer.put(data: certificate)
      case .rename(let name):
        try writer.put(UInt64(5))
        try writer.put(name)
      case .leave: try writer.put(UInt64(6))
      case .refusal(let status, let reason):
        try writer.put(UInt64(7))
        try writer.put(UInt64(status.rawValue))
        try writer.put(reason)
      // The numbers in between are those of messages about other things.
      case .roster(let encoding, let signature, let managerSignature):
        try writer.put(UInt64(12))
        try writer.put(data: encoding)
        try writer.put(data: signature)
        try writer.put(data: managerSignature)
      }
    }
  }

  /// Reads a message; nil for one of a later version. Throws MALFORMED, and UNSUPPORTED_VERSION for a roster of the
  /// former version, which does not count.
  static func known(_ encoding: [UInt8]) throws(SegueError) -> TrustMessage? {
    var fields = try Fields(encoding, "account message", atMost: Limits.joinBytes)
    switch try fields.unsigned("number") {
    case 1:
      return .numbers(
        term: try fields.unsigned("term", atMost: Limits.rosterNumber),
        roster: try fields.unsigned("roster", atMost: Limits.rosterNumber),
        digest: try fields.data("digest", count: 32), date: try fields.date("date"),
        version: try fields.optionalUnsigned("version") ?? Roster.formerVersion)
    case 2:
      throw SegueError(
        .unsupportedVersion, "runs an older Segue, whose list of devices does not count here; update Segue there")
    case 3: return .renew
    case 4: return .certificate(try fields.data("certificate", atMost: Limits.certificateBytes))
    case 5: return .rename(try fields.newName("name"))
    case 6: return .leave
    case 7:
      let number = try fields.unsigned("status", atMost: UInt64(Int32.max))
      let reason = try fields.text("reason", atMost: Limits.title)
      let status = Status(rawValue: Int32(number)) ?? .declined
      return .refusal(status: status == .ok ? .declined : status, reason: reason)
    case 12:
      return .roster(
        encoding: try fields.data("roster", atMost: Limits.rosterBytes),
        signature: try fields.data("signature", count: 64),
        managerSignature: try fields.data("manager's signature", count: 64))
    default: return nil
    }
  }
}
