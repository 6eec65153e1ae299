// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Identifiers that derive from others.
extension Identifier {
  /// An identifier that can be proven: only its owner knows the secret from which it derives, and the identifier does
  /// not reveal the secret. The first 16 bytes of the SHA-256 of the secret.
  public init(ofSecret secret: Identifier) { self.init(hashing: secret.bytes) }

  /// The identifier under which this device knows an activity of another device of the account: the first 16 bytes of
  /// the SHA-256 of the one that its app has drawn, and of the device. So no device has an offer under the identifier
  /// of another's, whatever it calls its activities.
  public init(of activity: Identifier, onDevice device: Identifier) {
    self.init(hashing: activity.bytes + device.bytes)
  }

  private init(hashing bytes: [UInt8]) {
    let digest = SecureHash.sha256(bytes)
    func word(_ start: Int) -> UInt64 { digest[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: word(0), low: word(8))
  }
}
