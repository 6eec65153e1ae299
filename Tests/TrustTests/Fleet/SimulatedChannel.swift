import SegueDevices
import SegueModel

@testable import SegueTrust

/// One end of a connection between two devices: the knock that ships, then what stands for TLS. Mutual certificates,
/// each with a signature of its key over both random numbers; or the key of an invite at both ends. This ends a
/// connection whenever TLS would, in the same order.
final class SimulatedChannel {
  private enum Stage {
    case knocking(KnockClient)
    case checking(KnockClient)
    case answering(KnockServer)
    /// TLS: what the other end says next is to come.
    case greeting(random: [UInt8])
    case showing(transcript: [UInt8])
    case secured
    case failed
  }

  private let cryptography: StandInCryptography
  /// The certificate that this device shows, and its key. Nil: this device joins an account over the connection.
  private let credentials: DeviceCredentials?
  private let own: DeviceIdentity?
  private let isServer: Bool
  private var stage: Stage
  private var outgoing: [Packet] = []
  private(set) var hasKnocked = false
  private(set) var isUp = false
  private(set) var peer: DeviceIdentity?
  private(set) var peerCertificate: [UInt8]?
  private(set) var invite: Invite?
  /// 32 bytes that only the two ends know, as the exporter of TLS (RFC 8446 §7.5).
  private(set) var exporter: [UInt8] = []

  /// A connection that was accepted.
  init(
    answering epochs: [EpochKeys], invites: [Invite], _ credentials: DeviceCredentials, _ own: DeviceIdentity,
    _ cryptography: StandInCryptography
  ) throws(SegueError) {
    let knock = KnockServer(epochs, invites: invites, nonce: try cryptography.random(16))
    (self.credentials, self.own, self.cryptography, isServer) = (credentials, own, cryptography, true)
    stage = .answering(knock)
    outgoing = [.knock(knock.challenge)]
  }

  /// A connection to another device of the account.
  init(
    knockingUnder keys: EpochKeys, _ credentials: DeviceCredentials, _ own: DeviceIdentity,
    _ cryptography: StandInCryptography
  ) throws(SegueError) {
    (self.credentials, self.own, self.cryptography, isServer) = (credentials, own, cryptography, false)
    stage = .knocking(KnockClient(keys, nonce: try cryptography.random(16)))
  }

  /// A connection on which this device joins.
  init(joiningWith invite: Invite, _ cryptography: StandInCryptography) throws(SegueError) {
    (credentials, own, self.cryptography, isServer) = (nil, nil, cryptography, false)
    self.invite = invite
    stage = .knocking(KnockClient(invite.knockKeys, nonce: try cryptography.random(16)))
  }

  func takeOutput() -> [Packet] {
    defer { outgoing = [] }
    return outgoing
  }

  /// - Returns: what was said under TLS. Throws what is wrong with the other end.
  func receive(_ packet: Packet, at date: Int64) throws(SegueError) -> [Frame] {
    do throws(SegueError) {
      return try advance(packet, at: date)
    } catch {
      if !hasKnocked { outgoing = [] }
      stage = .failed
      throw error
    }
  }

  private func advance(_ packet: Packet, at date: Int64) throws(SegueError) -> [Frame] {
    switch (stage, packet) {
    case (.knocking(var client), .knock(let challenge)):
      outgoing.append(.knock(try client.answer(challenge)))
      stage = .checking(client)
    case (.checking(let client), .knock(let proof)):
      try client.check(proof)
      hasKnocked = true
      try greet()
    case (.answering(var server), .knock(let answer)):
      outgoing.append(.knock(try server.answer(answer)))
      (hasKnocked, invite) = (true, server.invite)
      stage = .greeting(random: [])
    case (.greeting, .hello(let random)) where isServer && invite == nil:
      let mine = try cryptography.random(32)
      outgoing.append(try server(mine, random + mine))
      stage = .showing(transcript: random + mine)
    case (.greeting(let random), .server(let theirs, let certificate, let signature)) where !isServer:
      try authenticate(certificate, signature, "server", random + theirs, at: date)
      outgoing.append(try client(random + theirs))
      stage = .secured
    case (.showing(let transcript), .client(let certificate, let signature)):
      try authenticate(certificate, signature, "client", transcript, at: date)
      stage = .secured
      isUp = true
    case (.greeting, .joinHello(let random, let identity, let proof)) where isServer:
      guard let invite, identity == invite.keyIdentity, proof == code(invite, "client", random) else { throw refused }
      let mine = try cryptography.random(32)
      outgoing.append(.joinServer(random: mine, proof: code(invite, "server", random + mine)))
      exporter = code(invite, "exporter", random + mine)
      stage = .secured
      isUp = true
    case (.greeting(let random), .joinServer(let theirs, let proof)) where !isServer:
      guard let invite, proof == code(invite, "server", random + theirs) else { throw refused }
      exporter = code(invite, "exporter", random + theirs)
      stage = .secured
      isUp = true
    case (.secured, .frame(let frame)):
      isUp = true
      return [frame]
    default: throw refused
    }
    return []
  }

  private var refused: SegueError { SegueError(.connectionUnavailable, "the other end says what is not due") }

  /// The client's first message.
  private func greet() throws(SegueError) {
    let random = try cryptography.random(32)
    stage = .greeting(random: random)
    guard let invite else { return outgoing.append(.hello(random: random)) }
    outgoing.append(.joinHello(random: random, identity: invite.keyIdentity, proof: code(invite, "client", random)))
  }

  private func code(_ invite: Invite, _ what: String, _ bytes: [UInt8]) -> [UInt8] {
    SecureHash.hmacSHA256(Array(what.utf8) + bytes, key: invite.sharedKey)
  }

  // MARK: Certificates

  private func server(_ mine: [UInt8], _ transcript: [UInt8]) throws(SegueError) -> Packet {
    guard let credentials else { throw refused }
    let signature = try cryptography.sign(Array("server".utf8) + transcript, with: credentials.key)
    return .server(random: mine, certificate: credentials.certificate, signature: signature)
  }

  private func client(_ transcript: [UInt8]) throws(SegueError) -> Packet {
    guard let credentials else { throw refused }
    let signature = try cryptography.sign(Array("client".utf8) + transcript, with: credentials.key)
    return .client(certificate: credentials.certificate, signature: signature)
  }

  private func authenticate(
    _ certificate: [UInt8], _ signature: [UInt8], _ role: String, _ transcript: [UInt8], at date: Int64
  ) throws(SegueError) {
    guard let credentials, let own else { throw refused }
    let fields = try cryptography.readCertificate(certificate)
    let problem = try cryptography.problem(
      of: certificate, root: credentials.root, revocations: credentials.revocations, at: date)
    guard problem == nil,
      cryptography.isSignature(signature, of: Array(role.utf8) + transcript, by: fields.publicKey)
    else { throw SegueError(.notAllowed, "the other device's certificate: \(problem.map { "\($0)" } ?? "unsigned")") }
    let identity = try DeviceIdentity(of: fields)
    guard identity.account == own.account else { throw SegueError(.notAllowed, "another account") }
    guard identity != own else { throw SegueError(.invalidState, "the connection leads back to this device") }
    guard credentials.members.standing(of: identity.device) != .removed else {
      throw SegueError(.notAllowed, "the other device was removed from the account")
    }
    (peer, peerCertificate) = (identity, certificate)
  }

  /// Whether the device at the other end belongs to the account no more in newer credentials.
  func isRevoked(by newer: DeviceCredentials) -> Bool {
    guard let peer, let peerCertificate, let fields = try? cryptography.readCertificate(peerCertificate),
      let list = try? cryptography.readRevocations(newer.revocations, root: newer.root)
    else { return false }
    return list.revoked.contains(fields.serial) || newer.members.standing(of: peer.device) == .removed
  }
}
