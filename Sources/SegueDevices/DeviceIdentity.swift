import SegueModel

/// Who a device is, by its certificate alone.
public struct DeviceIdentity: Equatable, Sendable {
  /// The first 16 bytes of the SHA-256 of the root's public key.
  public let account: Identifier
  /// The first 16 bytes of the SHA-256 of the device's public key.
  public let device: Identifier

  public init(account: Identifier, device: Identifier) {
    self.account = account
    self.device = device
  }

  /// The URI of a certificate's subjectAltName that says the same, in small letters.
  public var uri: String { "segue:acct/\(Self.hexadecimal(account))/dev/\(Self.hexadecimal(device))" }

  private static func hexadecimal(_ identifier: Identifier) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: identifier.bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
