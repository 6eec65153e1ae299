// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem

/// Primitives without cryptography, for simulations: exact where rules are decided, and a thousand times as fast.
///
/// A signature is a digest that its maker has put into a table, which all devices of one simulation share: so nobody
/// can forge one, and anybody can check one. Everything random comes from a seed.
final class StandInCryptography: Cryptography {
  /// The signatures that were made, by all devices of one simulation: of a public key and a message. Never iterated.
  final class Signatures {
    fileprivate var made: [[UInt8]: [UInt8]] = [:]
    init() {}
  }

  private static let keyHead: [UInt8] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
  ]
  private let signatures: Signatures
  private var seed: UInt64
  private var drawn: UInt64 = 0
  /// Certificates that were verified.
  private(set) var verifications = 0
  /// Messages that this device was to sign.
  private(set) var signings = 0

  init(_ signatures: Signatures = Signatures(), seed: UInt64) {
    self.signatures = signatures
    self.seed = seed
  }

  func random(_ count: Int) throws(SegueError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      drawn += 1
      bytes += SecureHash.sha256(Self.bytes(of: seed) + Self.bytes(of: drawn))
    }
    return Array(bytes.prefix(count))
  }

  private static func bytes(of number: UInt64) -> [UInt8] {
    stride(from: UInt64(0), to: 64, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  // MARK: Keys: "key", then 32 bytes

  func sha256(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> [UInt8] { SecureHash.sha256(Array(bytes)) }

  func makeKey() throws(SegueError) -> Secret { try Secret.copy(of: Array("key".utf8) + (try random(32))) }

  func publicKey(of key: Secret) throws(SegueError) -> [UInt8] {
    let key = key.bytes
    guard key.count == 35, key.starts(with: Array("key".utf8)) else { throw malformed("a private key") }
    return Self.keyHead + SecureHash.sha256(key)
  }

  func sign(_ message: [UInt8], with key: Secret) throws(SegueError) -> [UInt8] {
    signings += 1
    let signed = try publicKey(of: key) + message
    if let made = signatures.made[signed] { return made }
    let digest = SecureHash.sha256(signed)
    let signature = digest + SecureHash.sha256(digest)
    signatures.made[signed] = signature
    return signature
  }

  func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
    signatures.made[publicKey + message] == signature
  }

  func seal(_ key: Secret, passphrase: [UInt8]) throws(SegueError) -> [UInt8] {
    let key = key.bytes
    return try ValueWriter.array { writer throws(SegueError) in
      try writer.put(data: SecureHash.hmacSHA256(key, key: passphrase))
      try writer.put(data: key)
    }
  }

  func open(_ sealed: [UInt8], passphrase: [UInt8]) throws(SegueError) -> Secret {
    var fields = try Fields(sealed, "recovery file", atMost: Limits.recoveryFile)
    let check = try fields.data("check", count: 32)
    let key = try fields.data("key", atMost: 64)
    guard SecureHash.hmacSHA256(key, key: passphrase) == check else {
      throw SegueError(.notAllowed, "recovery file: the passphrase is wrong")
    }
    return try Secret.copy(of: key)
  }

  // MARK: Signed items: arrays of kind, signer, body and signature

  private func seal(_ kind: UInt64, _ body: [UInt8], with key: Secret) throws(SegueError) -> [UInt8] {
    let signature = try sign([UInt8(kind)] + body, with: key)
    let signer = try publicKey(of: key)
    return try ValueWriter.array { writer throws(SegueError) in
      try writer.put(kind)
      try writer.put(data: signer)
      try writer.put(data: body)
      try writer.put(data: signature)
    }
  }

  private func unseal(_ kind: UInt64, _ bytes: [UInt8]) throws(SegueError) -> (signer: [UInt8], body: [UInt8]) {
    var fields = try Fields(bytes, "signed item", atMost: Limits.rosterBytes)
    guard try fields.unsigned("kind") == kind else { throw malformed("another kind of item") }
    let signer = try fields.data("signer", count: 44)
    let body = try fields.data("body", atMost: Limits.rosterBytes)
    guard isSignature(try fields.data("signature", count: 64), of: [UInt8(kind)] + body, by: signer) else {
      throw SegueError(.notAllowed, "an item is not signed")
    }
    return (signer, body)
  }

  private func encoding(_ fields: CertificateFields) throws(SegueError) -> [UInt8] {
    try ValueWriter.array { writer throws(SegueError) in
      try writer.put(fields.name)
      try writer.put(fields.uri)
      try writer.put(data: fields.publicKey)
      try writer.put(data: fields.serial)
      try writer.put(date: fields.from)
      try writer.put(date: fields.until)
    }
  }

  private func fields(_ body: [UInt8]) throws(SegueError) -> CertificateFields {
    var fields = try Fields(body, "certificate", atMost: Limits.certificateBytes)
    return CertificateFields(
      name: try fields.text("name", atMost: 256), uri: try fields.text("uri", atMost: 256),
      publicKey: try fields.data("key", count: 44), serial: try fields.data("serial", atMost: 20),
      from: try fields.date("from"), until: try fields.date("until"))
  }

  func makeRoot(_ fields: CertificateFields, key: Secret) throws(SegueError) -> [UInt8] {
    try seal(1, try encoding(fields), with: key)
  }

  func makeCertificate(
    _ fields: CertificateFields, root: [UInt8], rootKey: Secret
  ) throws(SegueError) -> [UInt8] { try seal(2, try encoding(fields), with: rootKey) }

  func makeRevocations(
    _ fields: RevocationFields, root: [UInt8], rootKey: Secret
  ) throws(SegueError) -> [UInt8] {
    let body = try ValueWriter.array { writer throws(SegueError) in
      try writer.put(fields.number)
      try writer.put(date: fields.date)
      try writer.putArray { writer throws(SegueError) in for serial in fields.revoked { try writer.put(data: serial) } }
    }
    return try seal(3, body, with: rootKey)
  }

  func makeRequest(key: Secret) throws(SegueError) -> [UInt8] { try seal(4, [], with: key) }

  func readRoot(_ certificate: [UInt8]) throws(SegueError) -> CertificateFields {
    let (signer, body) = try unseal(1, certificate)
    let fields = try fields(body)
    guard fields.publicKey == signer else { throw SegueError(.notAllowed, "an account is not signed by itself") }
    return fields
  }

  func readCertificate(_ certificate: [UInt8]) throws(SegueError) -> CertificateFields {
    try fields(try unseal(2, certificate).body)
  }

  func readRevocations(_ list: [UInt8], root: [UInt8]) throws(SegueError) -> RevocationFields {
    let (signer, body) = try unseal(3, list)
    guard signer == (try readRoot(root).publicKey) else { throw SegueError(.notAllowed, "revocations of another root") }
    var fields = try Fields(body, "revocations", atMost: Limits.rosterBytes)
    let (number, date) = (try fields.unsigned("number"), try fields.date("date"))
    let revoked = try fields.list("revoked", atMost: Limits.revocations).compactMap { $0.data }
    return RevocationFields(number: number, date: date, revoked: revoked)
  }

  func readRequest(_ request: [UInt8]) throws(SegueError) -> [UInt8] { try unseal(4, request).signer }

  func problem(
    of certificate: [UInt8], root: [UInt8], revocations: [UInt8], at date: Int64
  ) throws(SegueError) -> CertificateProblem? {
    verifications += 1
    let (signer, body) = try unseal(2, certificate)
    let fields = try fields(body)
    guard signer == (try readRoot(root).publicKey) else { return .notTrusted }
    let list = try readRevocations(revocations, root: root)
    if list.date > date || fields.from > date { return .notYetValid }
    if fields.until < date { return .expired }
    return list.revoked.contains(fields.serial) ? .revoked : nil
  }

  private func malformed(_ what: StaticString) -> SegueError { SegueError(.malformed, "\(what) cannot be read") }
}
