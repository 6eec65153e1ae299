// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An invite to an account: what a QR code or a link `segue:join?…` says. A device that has it can ask to join, once,
/// within ten minutes; a user of the account decides.
public struct Invite: Sendable {
  public static let version: UInt64 = 1
  static let tokenSize = 32
  private static let start: StaticString = "segue:join?"
  /// The parts that are there once.
  private static let single: StaticString = "vaftpn"
  /// The last part: bytes of the SHA-256 of all before it, so that what was cut off or mistyped is noticed before
  /// anything is dialled. Against others it protects nothing.
  private static let check: StaticString = "&c="
  private static let checkSize = 4

  /// The account, and the SHA-256 of its certificate.
  public let account: Identifier
  public let fingerprint: [UInt8]
  /// As the link says it; the certificate has to say the same.
  public let accountName: String
  /// 256 random bits, a secret of the inviting device and of those that the invite was given to.
  let token: [UInt8]
  /// The addresses at which the inviting device listens: IPv4 or IPv6 addresses as text, and a port.
  public let addresses: [String]
  public let port: UInt16

  /// - Parameter addresses: at most `Limits.inviteAddresses`. Throws INVALID_ARGUMENT.
  init(
    account: Identifier, fingerprint: [UInt8], accountName: String, token: [UInt8], addresses: [String], port: UInt16
  ) throws(SegueError) {
    guard addresses.count <= Limits.inviteAddresses, !addresses.isEmpty else {
      throw SegueError(.invalidArgument, "invite: 1 to \(Limits.inviteAddresses) addresses are needed")
    }
    // Names and scopes are nothing that an invite should make a device look up.
    for address in addresses where !HostAddress.isOfMachine(address) {
      throw SegueError(
        .invalidArgument,
        "invite: an address is neither IPv4 nor IPv6 of one machine (names are not looked up)")
    }
    guard port > 0 else { throw SegueError(.invalidArgument, "invite: the port is 0") }
    self.account = account
    self.fingerprint = fingerprint
    self.accountName = DisplayName.clean(accountName)
    self.token = token
    self.addresses = addresses
    self.port = port
  }

  // MARK: TLS (RFC 8446 §2.2, RFC 9257)

  /// The protocol of a connection that joins (ALPN).
  public static let applicationProtocol: StaticString = "segue-join/1"
  /// The label of the 32 bytes that both ends export from TLS (RFC 8446 §7.5), without a context.
  public static let exporterLabel: StaticString = "EXPORTER-segue-join-1"

  /// The identity of the external pre-shared key: 16 bytes that say nothing about the key.
  public var keyIdentity: [UInt8] { KeyDerivation.key(from: token, label: "segue 1 join identity", count: 16) }
  /// The external pre-shared key, 32 bytes; the inviting device is the server.
  public var sharedKey: [UInt8] { KeyDerivation.key(from: token, label: "segue 1 join key") }

  /// The key under which the joining device knocks before TLS (docs/device-links.md); it belongs to no epoch.
  public var knockKeys: EpochKeys {
    EpochKeys(epoch: 0, knock: KeyDerivation.key(from: token, label: "segue 1 join knock"), beacon: [])
  }

  // MARK: As text

  /// The link.
  public var text: String {
    var text = Self.start.bytes
    func put(_ key: StaticString, _ value: [UInt8]) {
      if text.last != UInt8(ascii: "?") { text.append(UInt8(ascii: "&")) }
      text += key.bytes + [UInt8(ascii: "=")] + value
    }
    put("v", Array(String(Self.version).utf8))
    put("a", Array(HexText.text(account.bytes).utf8))
    put("f", Array(HexText.text(fingerprint).utf8))
    put("t", Array(HexText.text(token).utf8))
    put("p", Array(String(port).utf8))
    for address in addresses { put("h", Array(address.utf8)) }
    put("n", Self.escaped(accountName))
    text += Self.end(of: text)
    return String(decoding: text, as: UTF8.self)
  }

  /// The last part of a link, for all that comes before it.
  static func end(of text: some Collection<UInt8>) -> [UInt8] {
    Self.check.bytes + HexText.text(Array(SecureHash.sha256(Array(text)).prefix(checkSize))).utf8
  }

  /// Throws INVALID_URL unless the last part is right.
  private static func check(_ text: [UInt8]) throws(SegueError) {
    let start = text.count - check.bytes.count - 2 * checkSize
    guard start > 0, text[start...].starts(with: check.bytes) else {
      throw wrong("its end is missing: copy all of it, and in a shell put it between quotes")
    }
    guard text[start...].elementsEqual(end(of: text[..<start])) else {
      throw wrong("a letter of it is wrong, or was lost: copy it again")
    }
  }

  /// Reads a link, which anybody may have made. Blanks and line breaks, which mail programs insert, do not count.
  /// Throws INVALID_URL with what is wrong, UNSUPPORTED_VERSION.
  public init(_ text: String) throws(SegueError) {
    var bytes = Array(text.utf8)
    guard bytes.count <= Limits.inviteText else {
      throw Self.wrong("it has \(bytes.count) bytes, at most \(Limits.inviteText) are read")
    }
    bytes.removeAll { $0 == 0x20 || 0x09...0x0d ~= $0 }
    // The scheme and its action in any case (RFC 3986 §3.1).
    let start = bytes.prefix(Self.start.bytes.count).map { 0x41...0x5a ~= $0 ? $0 | 0x20 : $0 }
    guard start.elementsEqual(Self.start.bytes) else {
      throw Self.wrong("it does not begin with segue:join?")
    }
    bytes.replaceSubrange(0..<Self.start.bytes.count, with: Self.start.bytes)
    var (account, fingerprint, token): ([UInt8]?, [UInt8]?, [UInt8]?)
    var (port, name, version): (UInt16?, String?, UInt64?)
    var addresses: [String] = []
    var seen: [UInt8] = []
    for part in bytes[Self.start.bytes.count...].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
      guard part.count >= 2, part.dropFirst().first == UInt8(ascii: "="), let key = part.first else {
        // A key of a later version.
        continue
      }
      let value = part.dropFirst(2)
      guard !seen.contains(key) else { throw Self.wrong("a part of it is there twice") }
      if Self.single.bytes.contains(key) { seen.append(key) }
      switch key {
      case UInt8(ascii: "v"): version = Self.number(value)
      case UInt8(ascii: "a"): account = HexText.bytes(value, count: Identifier.size)
      case UInt8(ascii: "f"): fingerprint = HexText.bytes(value, count: 32)
      case UInt8(ascii: "t"): token = HexText.bytes(value, count: Self.tokenSize)
      case UInt8(ascii: "p"): port = Self.number(value).flatMap { UInt16(exactly: $0) }
      case UInt8(ascii: "n"): name = Self.unescaped(value)
      case UInt8(ascii: "h"): addresses.append(String(decoding: value, as: UTF8.self))
      default: break
      }
    }
    guard version == Self.version else {
      if let version {
        throw SegueError(.unsupportedVersion, "invite: has version \(version), known is \(Self.version); update Segue")
      }
      throw Self.wrong("v, its version, is missing or no number")
    }
    try Self.check(bytes)
    guard let account = account.flatMap({ Identifier(bytes: $0) }) else {
      throw Self.wrong("a, the account, is missing or wrong")
    }
    guard let fingerprint else { throw Self.wrong("f, the fingerprint, is missing or wrong") }
    guard let token else { throw Self.wrong("t, the token, is missing or wrong") }
    guard let port, port > 0 else { throw Self.wrong("p, the port, is missing or wrong") }
    guard let name else { throw Self.wrong("n, the name of the account, is missing or no text") }
    guard !DisplayName.isBlank(name) else { throw Self.wrong("n, the name of the account, is blank") }
    do throws(SegueError) {
      try self.init(
        account: account, fingerprint: fingerprint, accountName: name, token: token, addresses: addresses, port: port)
    } catch { throw SegueError(.invalidURL, "\(error.message)") }
  }

  private static func wrong(_ what: DiagnosticText) -> SegueError { SegueError(.invalidURL, "invite: \(what)") }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty, digits.count <= 10, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return digits.reduce(0) { $0 * 10 + UInt64($1 - 0x30) }
  }

  private static func escaped(_ name: String) -> [UInt8] {
    var text: [UInt8] = []
    for byte in name.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e: text.append(byte)
      default: text += [UInt8(ascii: "%")] + HexText.text([byte]).utf8
      }
    }
    return text
  }

  /// Nil unless the escapes are whole and give UTF-8.
  private static func unescaped(_ text: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var index = text.startIndex
    while index < text.endIndex {
      if text[index] == UInt8(ascii: "%") {
        guard index + 2 < text.endIndex, let byte = HexText.bytes(lowercase(text[(index + 1)...(index + 2)]), count: 1)
        else { return nil }
        bytes += byte
        index += 3
      } else {
        bytes.append(text[index])
        index += 1
      }
    }
    guard bytes.withUnsafeBytes({ UTF8Text.isValid($0) }) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func lowercase(_ digits: ArraySlice<UInt8>) -> [UInt8] {
    digits.map { $0 >= 0x41 && $0 <= 0x46 ? $0 | 0x20 : $0 }
  }
}
