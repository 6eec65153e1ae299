/// An identifier that can be proven: only its owner knows the secret from which it derives, and the identifier does not
/// reveal the secret.
extension Identifier {
  /// The first 16 bytes of the SHA-256 of the secret.
  public init(ofSecret secret: Identifier) {
    let digest = SecureHash.sha256(secret.bytes)
    func word(_ start: Int) -> UInt64 { digest[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: word(0), low: word(8))
  }
}
