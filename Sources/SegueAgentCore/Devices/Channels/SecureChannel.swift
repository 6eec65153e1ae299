// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// One end of a connection between two devices, from its first byte: the knock, then TLS. No I/O and no clock: the
/// owner moves the bytes, and closes the connection when a call throws.
public final class SecureChannel {
  /// Bytes of the largest TLS record's contents (RFC 8446 §5.1).
  public static let recordSize = 16_384

  private enum Stage {
    /// The server's challenge is to come.
    case knocking(KnockClient)
    /// The server's proof is to come. TLS has begun already, but for a connection on which this device joins.
    case checking(KnockClient, (any SecureSession)?)
    /// The client's answer is to come.
    case answering(KnockServer)
    case secured(any SecureSession)
    /// A call has thrown.
    case failed
  }

  private var stage: Stage
  /// For links; of an accepted connection on which a device joins there is another one.
  private let context: any SecurityContext
  private let role: SessionRole
  /// The part of a message of the knock that has arrived.
  private var incoming: [UInt8] = []
  /// The bytes of the knock that are to be sent.
  private var outgoing: [UInt8] = []
  /// Bytes that arrived before the other end was authenticated.
  private var unauthenticated = 0
  /// Whether the other end has proved the knock key.
  public private(set) var hasKnocked = false
  /// The nonce of the end that listens: 16 bytes, new for each connection. Nil before it has arrived.
  public private(set) var challenge: [UInt8]?

  /// A connection that this device has accepted.
  /// - Parameters:
  ///   - epochs: those whose knocks are answered, newest first.
  ///   - invites: those with whose keys devices may knock to join.
  ///   - nonce: 16 new random bytes.
  public init(answering epochs: [EpochKeys], invites: [Invite] = [], nonce: [UInt8], _ context: any SecurityContext) {
    let knock = KnockServer(epochs, invites: invites, nonce: nonce)
    stage = .answering(knock)
    outgoing = knock.challenge
    challenge = knock.challenge
    role = .server
    self.context = context
  }

  /// A connection that this device has dialled.
  /// - Parameters:
  ///   - keys: those of the epoch under which it knocks.
  ///   - nonce: 16 new random bytes.
  public init(knockingUnder keys: EpochKeys, nonce: [UInt8], _ context: any SecurityContext) {
    stage = .knocking(KnockClient(keys, nonce: nonce))
    role = .client
    self.context = context
  }

  /// A connection that this device has dialled to join an account with an invite.
  /// - Parameters:
  ///   - nonce: 16 new random bytes.
  ///   - context: that of the invite.
  public init(joiningWith invite: Invite, nonce: [UInt8], _ context: any SecurityContext) {
    stage = .knocking(KnockClient(invite.knockKeys, nonce: nonce))
    role = .client
    self.context = context
    self.invite = invite
  }

  /// The invite with which a device joins over this connection, once its key is proved; nil for a link.
  public private(set) var invite: Invite?

  /// Nil before the knock is over.
  var session: (any SecureSession)? { if case .secured(let session) = stage { session } else { nil } }

  /// The device at the other end, once it is authenticated. Nothing else that it says of itself counts.
  public var peer: DeviceIdentity? { session?.peer }

  /// The certificate of the other end, once it is authenticated, and what TLS has verified of it.
  public func shown(at now: Instant) -> PeerCertificate? { session?.shown(at: now) }

  /// Exports 32 bytes of TLS, which is up. Throws SYSTEM.
  public func exporter(_ label: StaticString) throws(SegueError) -> [UInt8] {
    guard let session else { throw SegueError(.invalidState, "TLS is not up") }
    return try session.exporter(label)
  }

  /// Whether the other end is authenticated: what is written from now on is for it alone.
  public var isAuthenticated: Bool { session?.isAuthenticated ?? false }
  /// Whether the other end is authenticated, and has authenticated this one: an accepted connection after TLS's
  /// handshake, a dialled one with the first bytes that follow, since TLS tells a client of success before the server
  /// has looked at its certificate.
  public private(set) var isUp = false
  /// Whether the other end has ended the connection.
  public var isClosed: Bool { session?.isClosed ?? false }

  /// Whether the other end, which is authenticated, has refused the certificate of this one as revoked.
  public var isCalledRevoked: Bool { session?.isCalledRevoked ?? false }

  /// Whether the device at the other end is revoked in a newer context: such a connection ends at once (A15).
  public func isRevoked(by newer: any SecurityContext) -> Bool {
    // It is none in its own.
    guard newer !== context, let session, let peer else { return false }
    // In doubt, as without memory, the connection ends.
    return session.certificate.map { newer.isRevoked(peer.device, $0) } ?? true
  }

  // MARK: From the connection

  /// Takes bytes that have arrived, and passes those that were said under TLS to `body`, if there are any. Throws what
  /// is wrong with the other end; then the owner sends what `takeOutput` has, and closes.
  public func receive(_ bytes: UnsafeRawBufferPointer, _ body: (consuming [UInt8]) -> Void) throws(SegueError) {
    do throws(SegueError) {
      try advance(bytes, body)
    } catch {
      if session == nil {
        // Sends nothing: the other end has not proved the key.
        stage = .failed
        outgoing = []
      }
      throw error
    }
  }

  private func advance(_ bytes: UnsafeRawBufferPointer, _ body: (consuming [UInt8]) -> Void) throws(SegueError) {
    var bytes = bytes
    if session.map({ !$0.isAuthenticated }) ?? true {
      unauthenticated += bytes.count
      guard unauthenticated <= HalfOpenTable.bytes else {
        throw SegueError(.limitExceeded, "more than \(HalfOpenTable.bytes) bytes before the handshake was over")
      }
    }
    while session == nil, !bytes.isEmpty {
      let step = min(try expected() - incoming.count, bytes.count)
      incoming += bytes[..<step]
      bytes = UnsafeRawBufferPointer(rebasing: bytes[step...])
      if incoming.count == (try expected()) { try knock() }
    }
    guard let session else { return }
    let count = bytes.count
    try session.receive(bytes) { () throws(SegueError) in
      try session.advance()
      guard session.isAuthenticated else { return }
      // An end that has answered with the key of the invite has accepted it.
      if case .server = role { isUp = true } else if invite != nil { isUp = true }
      try read(session, count, body)
      if session.hasReceived { isUp = true }
    }
  }

  /// Bytes of the message of the knock that is to come.
  private func expected() throws(SegueError) -> Int {
    switch stage {
    case .knocking: Knock.nonceSize
    case .checking: Knock.answerSize - Knock.nonceSize
    case .answering: Knock.answerSize
    case .secured: 0
    case .failed: throw SegueError(.connectionUnavailable, "the connection has failed")
    }
  }

  /// A whole message of the knock has arrived.
  private func knock() throws(SegueError) {
    let message = incoming
    incoming = []
    switch stage {
    case .knocking(var client):
      outgoing += try client.answer(message)
      challenge = message
      stage = .checking(client, invite == nil ? try greet() : nil)
    case .checking(let client, let session):
      try client.check(message)
      try secure(session)
    case .answering(var server):
      outgoing += try server.answer(message)
      invite = server.invite
      try secure()
    case .secured, .failed: break
    }
  }

  /// Begins TLS behind the knock, for which it does not wait: so a link needs one round trip less. The client's first
  /// message says nothing of who the client is (docs/device-links.md).
  private func greet() throws(SegueError) -> any SecureSession {
    let session = try context.makeSession(role)
    try session.advance()
    outgoing += session.takeOutput()
    return session
  }

  /// - Parameter begun: TLS, if it has begun.
  private func secure(_ begun: (any SecureSession)? = nil) throws(SegueError) {
    hasKnocked = true
    let joining: (any SecurityContext)? =
      if let invite, case .server = role { try context.joining(with: invite) } else { nil }
    let session = if let begun { begun } else { try (joining ?? context).makeSession(role) }
    stage = .secured(session)
    try session.advance()
  }

  /// Passes on all that can be decrypted.
  private func read(
    _ session: any SecureSession, _ count: Int, _ body: (consuming [UInt8]) -> Void
  ) throws(SegueError) {
    // The rest of a record that had begun to arrive, and what follows.
    var failure: SegueError?
    let plain = [UInt8](unsafeUninitializedCapacity: count + Self.recordSize) { buffer, filled in
      do throws(SegueError) {
        filled = try session.read(into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    if !plain.isEmpty { body(plain) }
  }

  /// - Returns: the number of records that were decrypted since the last call.
  public func takeRecordCount() -> Int { session?.takeRecordCount() ?? 0 }

  // MARK: To the connection

  /// Encrypts bytes, as long as little output waits.
  /// - Returns: the number of bytes taken; 0 before the other end is authenticated.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> Int {
    guard let session else { return 0 }
    return try session.write(bytes)
  }

  /// Tells the other end that nothing follows.
  public func close() { session?.close() }

  /// Bytes to send.
  public var outputCount: Int { outgoing.count + (session?.outputCount ?? 0) }
  /// Whether there is something to send.
  public var hasOutput: Bool { outputCount > 0 }

  /// Takes the bytes to send in exchange for an array, whose memory is used for those that follow.
  public func takeOutput(into former: inout [UInt8]) {
    guard outgoing.isEmpty, let session else { return former = takeOutput() }
    session.takeOutput(into: &former)
  }

  /// Takes the bytes to send.
  public func takeOutput() -> [UInt8] {
    guard !outgoing.isEmpty else { return session?.takeOutput() ?? [] }
    let first = outgoing
    outgoing = []
    return first + (session?.takeOutput() ?? [])
  }
}
