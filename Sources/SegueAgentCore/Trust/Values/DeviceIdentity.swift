// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The identity of a device: the identifiers of its account and of the device. Both follow from public keys, and stand
/// in the device's certificate; what is said anywhere else must equal that.
public struct DeviceIdentity: Sendable, Equatable {
  public let account, device: Identifier

  /// The bytes before the key in a SubjectPublicKeyInfo of Ed25519 (RFC 8410 §4).
  static let keyHead: [UInt8] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]

  /// The identity of a key: the first 16 bytes of the SHA-256 of its SubjectPublicKeyInfo.
  /// Throws NOT_ALLOWED unless it is an Ed25519 key.
  public static func id(ofKey publicKey: [UInt8]) throws(SegueError) -> Identifier {
    guard publicKey.count == keyHead.count + 32, publicKey.starts(with: keyHead),
      let id = Identifier(bytes: SecureHash.sha256(publicKey).prefix(Identifier.size))
    else { throw SegueError(.notAllowed, "a public key is no Ed25519 key") }
    return id
  }

  public init(account: Identifier, device: Identifier) {
    self.account = account
    self.device = device
  }

  /// Reads the identity of a certificate, whose chain was checked or will be.
  /// Throws NOT_ALLOWED unless its URI names an account, and the device that has its key.
  public init(of certificate: CertificateFields) throws(SegueError) {
    guard let identity = Self(uri: certificate.uri) else {
      throw SegueError(.notAllowed, "a certificate does not name an account and a device")
    }
    guard identity.device == (try Self.id(ofKey: certificate.publicKey)) else {
      throw SegueError(.notAllowed, "a certificate names another device than the one that has its key")
    }
    self = identity
  }

  /// As in a certificate.
  public var uri: String {
    String(joining: "segue:acct/\(HexText.text(account.bytes))/dev/\(HexText.text(device.bytes))")
  }

  /// Nil unless the text is exactly such a URI.
  public init?(uri: String) {
    let bytes = Array(uri.utf8)
    let (head, middle) = (StaticString("segue:acct/").bytes, StaticString("/dev/").bytes)
    let digits = 2 * Identifier.size
    guard bytes.count == head.count + middle.count + 2 * digits, bytes.starts(with: head),
      bytes[(head.count + digits)...].starts(with: middle),
      let account = HexText.bytes(bytes[head.count..<head.count + digits], count: Identifier.size),
      let device = HexText.bytes(bytes.suffix(digits), count: Identifier.size),
      let account = Identifier(bytes: account), let device = Identifier(bytes: device)
    else { return nil }
    self.init(account: account, device: device)
  }
}

extension Identifier {
  /// For people who compare two devices of one name: the first eight digits, in two groups.
  public var fingerprint: String {
    let digits = Array(HexText.text(bytes).utf8.prefix(8))
    return String(decoding: digits[..<4] + [0x20] + digits[4...], as: UTF8.self)
  }

  /// The same digits in one word, as the command takes them.
  var start: String { String(decoding: Array(HexText.text(bytes).utf8.prefix(8)), as: UTF8.self) }
}
