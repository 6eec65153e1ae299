// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem

/// Stands for `TLSSession`: mutual certificates, each with a signature of its key over both random numbers; or the key
/// of an invite at both ends. It ends a connection whenever TLS would, in the same order.
final class SimulatedSession: SecureSession {
  private enum Stage {
    /// A client that has said nothing.
    case idle
    /// The next message of the other end is to come; `random` is this end's, empty at a server.
    case greeting(random: [UInt8])
    case showing(transcript: [UInt8])
    case secured
    case failed
  }

  /// The kinds of messages. Each is followed by its size in four bytes.
  enum Kind: UInt8 {
    case hello = 1
    case server = 2
    case client = 3
    case joinHello = 4
    case joinServer = 5
    case data = 6
    case end = 7
    case revoked = 8
  }

  private static let headSize = 5
  private static let outputLimit = 4 * SecureChannel.recordSize

  private let context: SimulatedContext
  private let role: SessionRole
  private var stage: Stage
  private var incoming: [UInt8] = []
  private var outgoing: [UInt8] = []
  private var records = 0
  private(set) var peer: DeviceIdentity?
  private(set) var certificate: [UInt8]?
  private var fields: CertificateFields?
  private(set) var hasReceived = false
  private(set) var isClosed = false
  private(set) var isCalledRevoked = false
  private var exported: [UInt8] = []

  init(_ role: SessionRole, _ context: SimulatedContext) {
    (self.role, self.context) = (role, context)
    stage = role == .client ? .idle : .greeting(random: [])
  }

  var isAuthenticated: Bool { if case .secured = stage { true } else { false } }

  func shown(at now: Instant) -> PeerCertificate? {
    guard let certificate, let credentials = context.credentials else { return nil }
    return PeerCertificate(
      certificate,
      fields.map { .init(fields: $0, root: credentials.root, revocations: credentials.revocations, at: now) })
  }

  func exporter(_ label: StaticString) throws(SegueError) -> [UInt8] {
    guard isAuthenticated else { throw refused }
    return exported
  }

  // MARK: The handshake

  func receive(_ bytes: UnsafeRawBufferPointer, _ body: () throws(SegueError) -> Void) throws(SegueError) {
    incoming += bytes
    try body()
  }

  func advance() throws(SegueError) {
    do throws(SegueError) {
      if case .idle = stage { try greet() }
      while !isAuthenticated, let (kind, payload) = try next() { try handle(kind, payload) }
    } catch {
      stage = .failed
      throw error
    }
  }

  /// The next whole message; nil if none has arrived.
  private func next() throws(SegueError) -> (Kind, [UInt8])? {
    guard incoming.count >= Self.headSize else { return nil }
    let size = incoming[1..<Self.headSize].reduce(0) { $0 << 8 | Int($1) }
    guard let kind = Kind(rawValue: incoming[0]), size <= 2 * SecureChannel.recordSize else {
      throw SegueError(.malformed, "no message of the handshake")
    }
    guard incoming.count >= Self.headSize + size else { return nil }
    let payload = Array(incoming[Self.headSize..<Self.headSize + size])
    incoming.removeFirst(Self.headSize + size)
    records += 1
    return (kind, payload)
  }

  static func message(_ kind: Kind, _ payload: [UInt8]) -> [UInt8] {
    let size = payload.count
    return [kind.rawValue] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) } + payload
  }

  private func send(_ kind: Kind, _ parts: [[UInt8]]) throws(SegueError) {
    let payload = try ValueWriter.array { writer throws(SegueError) in for part in parts { try writer.put(data: part) }
    }
    outgoing += Self.message(kind, payload)
  }

  private static func parts(_ payload: [UInt8], _ count: Int) throws(SegueError) -> [[UInt8]] {
    let parts = try Value(cbor: payload).elements?.compactMap { $0.data } ?? []
    guard parts.count == count else { throw SegueError(.malformed, "a message of the handshake cannot be read") }
    return parts
  }

  /// The client's first message.
  private func greet() throws(SegueError) {
    let random = try context.cryptography.random(32)
    stage = .greeting(random: random)
    guard let invite = context.invite else { return try send(.hello, [random]) }
    try send(.joinHello, [random, invite.keyIdentity, code(invite, "client", random)])
  }

  private func handle(_ kind: Kind, _ payload: [UInt8]) throws(SegueError) {
    switch (stage, kind, role) {
    case (.greeting, .hello, .server) where context.invite == nil:
      let random = try Self.parts(payload, 1)[0]
      let mine = try context.cryptography.random(32)
      try show(.server, [mine], random + mine)
      stage = .showing(transcript: random + mine)
    case (.greeting(let random), .server, .client) where context.invite == nil:
      let parts = try Self.parts(payload, 3)
      try authenticate(parts[1], parts[2], .server, random + parts[0])
      try show(.client, [], random + parts[0])
      exported = random + parts[0]
      stage = .secured
    case (.showing(let transcript), .client, .server):
      let parts = try Self.parts(payload, 2)
      try authenticate(parts[0], parts[1], .client, transcript)
      exported = transcript
      stage = .secured
    case (.greeting, .joinHello, .server):
      let parts = try Self.parts(payload, 3)
      guard let invite = context.invite, parts[1] == invite.keyIdentity, parts[2] == code(invite, "client", parts[0])
      else { throw refused }
      let mine = try context.cryptography.random(32)
      try send(.joinServer, [mine, code(invite, "server", parts[0] + mine)])
      exported = code(invite, "exporter", parts[0] + mine)
      stage = .secured
    case (.greeting(let random), .joinServer, .client):
      let parts = try Self.parts(payload, 2)
      guard let invite = context.invite, parts[1] == code(invite, "server", random + parts[0]) else { throw refused }
      exported = code(invite, "exporter", random + parts[0])
      stage = .secured
    case (_, .revoked, _):
      isCalledRevoked = true
      throw SegueError(.connectionUnavailable, "the other end says that the certificate is revoked")
    default: throw refused
    }
  }

  private var refused: SegueError { SegueError(.connectionUnavailable, "the other end says what is not due") }

  private func code(_ invite: Invite, _ what: String, _ bytes: [UInt8]) -> [UInt8] {
    SecureHash.hmacSHA256(Array(what.utf8) + bytes, key: invite.sharedKey)
  }

  // MARK: Certificates

  private func show(_ kind: Kind, _ first: [[UInt8]], _ transcript: [UInt8]) throws(SegueError) {
    guard let credentials = context.credentials else { throw refused }
    let signature = try context.cryptography.sign([kind.rawValue] + transcript, with: credentials.key)
    try send(kind, first + [credentials.certificate, signature])
  }

  private func authenticate(
    _ certificate: [UInt8], _ signature: [UInt8], _ kind: Kind, _ transcript: [UInt8]
  ) throws(SegueError) {
    guard let credentials = context.credentials, let own = context.identity else { throw refused }
    let cryptography = context.cryptography
    let fields = try cryptography.readCertificate(certificate)
    let problem = try cryptography.problem(
      of: certificate, root: credentials.root, revocations: credentials.revocations, at: context.date())
    if case .revoked? = problem { outgoing += Self.message(.revoked, []) }
    guard problem == nil, cryptography.isSignature(signature, of: [kind.rawValue] + transcript, by: fields.publicKey)
    else { throw SegueError(.notAllowed, "the other device's certificate does not hold") }
    let identity = try DeviceIdentity(of: fields)
    guard identity.account == own.account else { throw SegueError(.notAllowed, "another account") }
    guard identity != own else { throw SegueError(.invalidState, "the connection leads back to this device") }
    guard credentials.members.standing(of: identity.device) != .removed else {
      throw SegueError(.notAllowed, "the other device was removed from the account")
    }
    (peer, self.certificate, self.fields) = (identity, certificate, fields)
  }

  // MARK: Bytes

  /// The bytes that were said under it, and that did not fit into the last buffer.
  private var plain: [UInt8] = []

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(SegueError) -> Int {
    guard isAuthenticated else { return 0 }
    while plain.count < buffer.count, !isClosed, let (kind, payload) = try next() {
      switch kind {
      case .data:
        plain += try content(of: payload)
        hasReceived = true
      case .end: isClosed = true
      case .revoked:
        isCalledRevoked = true
        throw SegueError(.connectionUnavailable, "the other end says that the certificate is revoked")
      default: throw refused
      }
    }
    let count = min(plain.count, buffer.count)
    buffer.copyBytes(from: plain[..<count])
    plain.removeFirst(count)
    return count
  }

  func takeRecordCount() -> Int {
    defer { records = 0 }
    return records
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> Int {
    guard isAuthenticated, !isClosed else { return 0 }
    var taken = 0
    while taken < bytes.count, outgoing.count < Self.outputLimit {
      let count = min(SecureChannel.recordSize, bytes.count - taken)
      outgoing += Self.message(.data, record(Array(bytes[taken..<taken + count])))
      taken += count
    }
    return taken
  }

  /// Records that were sent, and that have come.
  private var (written, opened): (UInt64, UInt64) = (0, 0)
  private static let sizeBytes = 4
  private static let checkBytes = 8

  /// A record as long as one of TLS (docs/device-links.md), which counts once, in its turn, and unchanged.
  private func record(_ content: [UInt8]) -> [UInt8] {
    let size = content.count < 1_024 ? 1_024 : min((content.count + 4_096) / 4_096 * 4_096, SecureChannel.recordSize)
    let count = content.count
    let padded = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + content
    let body = padded + [UInt8](repeating: 0, count: max(0, size - count))
    written += 1
    return body + check(body, number: written, by: role)
  }

  /// Throws if it was changed, was left out, or has come before.
  private func content(of record: [UInt8]) throws(SegueError) -> ArraySlice<UInt8> {
    opened += 1
    let end = record.count - Self.checkBytes
    guard end >= Self.sizeBytes else { throw refused }
    let size = record[..<Self.sizeBytes].reduce(0) { $0 << 8 | Int($1) }
    let expected = check(Array(record[..<end]), number: opened, by: role == .client ? .server : .client)
    guard size <= end - Self.sizeBytes, Array(record[end...]) == expected else { throw refused }
    return record[Self.sizeBytes..<Self.sizeBytes + size]
  }

  /// FNV-1a, over what both ends alone know.
  private func check(_ body: [UInt8], number: UInt64, by role: SessionRole) -> [UInt8] {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ number ^ (role == .client ? 1 << 63 : 0)
    for byte in exported { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    body.withUnsafeBufferPointer { for byte in $0 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 } }
    return (0..<8).map { UInt8(truncatingIfNeeded: hash >> (8 * $0)) }
  }

  func close() { if isAuthenticated { outgoing += Self.message(.end, []) } }

  var outputCount: Int { outgoing.count }

  func takeOutput(into former: inout [UInt8]) {
    former = outgoing
    outgoing = []
  }
}

/// Stands for `TLSContext`.
final class SimulatedContext: SecurityContext {
  let cryptography: StandInCryptography
  /// Seconds since 1970.
  let date: () -> Int64
  let credentials: DeviceCredentials?
  let identity: DeviceIdentity?
  let invite: Invite?

  init(_ credentials: DeviceCredentials, _ cryptography: StandInCryptography, _ date: @escaping () -> Int64)
    throws(SegueError)
  {
    (self.credentials, self.cryptography, self.date, invite) = (credentials, cryptography, date, nil)
    identity = try DeviceIdentity(of: try cryptography.readCertificate(credentials.certificate))
  }

  init(joiningWith invite: Invite, _ cryptography: StandInCryptography, _ date: @escaping () -> Int64) {
    (self.invite, self.cryptography, self.date) = (invite, cryptography, date)
    (credentials, identity) = (nil, nil)
  }

  func lists(_ device: Identifier) -> Bool { credentials?.members.standing(of: device) == .listed }

  func isRevoked(_ device: Identifier, _ certificate: [UInt8]) -> Bool {
    guard let credentials, let fields = try? cryptography.readCertificate(certificate),
      let list = try? cryptography.readRevocations(credentials.revocations, root: credentials.root)
    else { return false }
    return list.revoked.contains(fields.serial) || credentials.members.standing(of: device) == .removed
  }

  func makeSession(_ role: SessionRole) -> any SecureSession { SimulatedSession(role, self) }

  func joining(with invite: Invite) -> any SecurityContext {
    SimulatedContext(joiningWith: invite, cryptography, date)
  }
}

/// Stands for `TLSSecurity`.
final class SimulatedSecurity: LinkSecurity {
  private let cryptography: StandInCryptography
  private let date: () -> Int64

  init(_ cryptography: StandInCryptography, _ date: @escaping () -> Int64) {
    (self.cryptography, self.date) = (cryptography, date)
  }

  func context(of credentials: DeviceCredentials) throws(SegueError) -> any SecurityContext {
    try SimulatedContext(credentials, cryptography, date)
  }

  func context(joiningWith invite: Invite) -> any SecurityContext {
    SimulatedContext(joiningWith: invite, cryptography, date)
  }

  func sign(_ message: [UInt8], with key: Secret) throws(SegueError) -> (key: [UInt8], signature: [UInt8]) {
    (try cryptography.publicKey(of: key), try cryptography.sign(message, with: key))
  }

  func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
    cryptography.isSignature(signature, of: message, by: publicKey)
  }
}
