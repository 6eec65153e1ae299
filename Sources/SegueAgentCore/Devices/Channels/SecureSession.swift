// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The side of a connection that a session is at.
public enum SessionRole: Sendable {
  case client
  case server
}

/// One end of a TLS connection, on buffers in memory: its owner moves the bytes. It is OpenSSL's in the product; the
/// fleet has a stand-in that ends a connection whenever TLS would. One thread at a time.
public protocol SecureSession: AnyObject {
  /// The device at the other end, once both have shown their certificates; nil while joining.
  var peer: DeviceIdentity? { get }
  /// The certificate of `peer`: DER.
  var certificate: [UInt8]? { get }
  /// The same, and what this session has verified of it.
  func shown(at now: Instant) -> PeerCertificate?
  /// Whether the handshake is over, and the other end is the one that it has to be.
  var isAuthenticated: Bool { get }
  /// Whether application bytes have arrived. Only then does a client know that the server has accepted its certificate.
  var hasReceived: Bool { get }
  /// Whether the other end has ended the session.
  var isClosed: Bool { get }
  /// Whether the other end has refused the certificate of this one as revoked. A client does so before it is
  /// authenticated.
  var isCalledRevoked: Bool { get }
  /// Exports 32 bytes that both ends have alone (RFC 8446 §7.5), without a context. Throws SYSTEM.
  func exporter(_ label: StaticString) throws(SegueError) -> [UInt8]

  /// Takes bytes from the connection. Throws MALFORMED if they are no TLS 1.3, and what `body` throws.
  /// - Parameter body: reads what they say, which then need not be copied.
  func receive(_ bytes: UnsafeRawBufferPointer, _ body: () throws(SegueError) -> Void) throws(SegueError)
  /// Goes on with the handshake; a client's begins with it. Throws what is wrong with the other end, after which only
  /// `takeOutput` may be called: it has the alert that tells the other end.
  func advance() throws(SegueError)
  /// Decrypts into `buffer`, as much as there is or fits. Throws if a record was changed on its way, and LIMIT_EXCEEDED
  /// if the other end goes on with the handshake without end.
  /// - Returns: the number of bytes; 0 if no whole record has arrived, or the session is closed.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(SegueError) -> Int
  /// - Returns: the number of records that have arrived since the last call, those without content included: their cost
  ///   does not depend on their size alone.
  func takeRecordCount() -> Int
  /// Encrypts bytes, in whole records, as long as little output waits.
  /// - Returns: the number of bytes taken.
  func write(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> Int
  /// Tells the other end that nothing follows.
  func close()
  /// Bytes to send.
  var outputCount: Int { get }
  /// Takes the bytes to send in exchange for an array, whose memory is used for those that follow.
  func takeOutput(into former: inout [UInt8])
}

extension SecureSession {
  /// Takes the bytes to send.
  public func takeOutput() -> [UInt8] {
    var output: [UInt8] = []
    takeOutput(into: &output)
    return output
  }
}

/// The settings that sessions share: credentials of this device for links, or the key of an invite for joining. New
/// revocations or a renewed certificate need a new context; sessions keep theirs.
public protocol SecurityContext: AnyObject {
  /// This device, by its certificate; nil for joining.
  var identity: DeviceIdentity? { get }
  /// Whether a device is in the list of the account's: no other one gets a session of the hub.
  func lists(_ device: Identifier) -> Bool
  /// Whether a device was removed from the account: by its identifier, or its certificate is among the revoked ones.
  /// - Parameter certificate: DER.
  func isRevoked(_ device: Identifier, _ certificate: [UInt8]) -> Bool
  /// Throws SYSTEM without memory.
  func makeSession(_ role: SessionRole) throws(SegueError) -> any SecureSession
  /// The context of a connection on which a device joins. Throws SYSTEM.
  func joining(with invite: Invite) throws(SegueError) -> any SecurityContext
}

/// Makes the contexts of sessions.
public protocol LinkSecurity: AnyObject {
  /// Throws INVALID_ARGUMENT if the credentials do not fit together, SYSTEM without OpenSSL 3.
  func context(of credentials: DeviceCredentials) throws(SegueError) -> any SecurityContext
  /// For connections on which a device joins with an invite. Throws SYSTEM without OpenSSL 3.
  func context(joiningWith invite: Invite) throws(SegueError) -> any SecurityContext
  /// Signs with a key of `Cryptography`. Returns its public key, and the signature. Throws SYSTEM.
  func sign(_ message: [UInt8], with key: Secret) throws(SegueError) -> (key: [UInt8], signature: [UInt8])
  /// Whether the owner of a public key has signed a message.
  func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool
}
