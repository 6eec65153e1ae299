// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The handshake of two hubs before they have a session over this connection.
final class Handshake {
  /// The secret by which the other hub names the session that may begin over this connection.
  let sessionID: Identifier
  /// The secret by which this hub names it. Nil before the other's `resume`.
  fileprivate(set) var peerSessionID: Identifier?
  /// Nil before the other's `link`.
  fileprivate(set) var identity: HubIdentity?
  /// Sessions that this hub has named, with the connection that each had then, or nil.
  fileprivate var named: [(sessionID: Identifier, connection: HubEngine.PeerNumber?)] = []
  /// We sent `proceed` for a suspended session. Send nothing more until the session resumes: the next byte may continue
  /// a half-sent frame.
  fileprivate(set) var isResuming = false
  /// The other device has said something about the account: it waits for a roster that lists this one, and introduces
  /// its hub then.
  fileprivate(set) var isAwaited = false

  init(_ sessionID: Identifier) { self.sessionID = sessionID }
}

/// The handshake of two linked hubs: their identities, and whether a session resumes (R7.4). The hub with the lower
/// identifier decides, so that both agree, however many connections there are at a time.
extension HubLinks {
  /// Handles a message of a hub without a session over this connection.
  func receive(_ message: Message, _ handshake: Handshake, from peer: Peer) throws(SegueError) {
    switch message {
    case .goodbye(let error): receivedGoodbye(error, from: peer)
    case .account(let message):
      if !handshake.isAwaited {
        handshake.isAwaited = true
        peer.extendHello(to: now.uptime + Self.helloTime)
        checkHubs(by: peer.helloBy)
      }
      try receivedAccount(message, from: peer)
    case .link(let hub, let version, let minimum):
      guard handshake.identity == nil else { throw SegueError(.malformed, "link came twice") }
      receiveHello(hub, handshake, from: peer, version: version, minimum: minimum)
    case .resume(let secret, let sessions):
      guard let hub = handshake.identity else { throw SegueError(.malformed, "the first message must be link") }
      guard handshake.peerSessionID == nil else { throw SegueError(.malformed, "resume came twice") }
      handshake.peerSessionID = secret
      if identity.id < hub.id { decide(hub, handshake, peer, secret, sessions) }
    case .proceed(let session, let received):
      guard let hub = handshake.identity, let secret = handshake.peerSessionID else {
        throw SegueError(.malformed, "proceed came before resume")
      }
      if identity.id < hub.id {
        try goOn(session, over: peer, received)
      } else {
        accept(session, hub, handshake, over: peer, secret, received)
      }
    default: throw SegueError(.malformed, "a hub must say who it is first")
    }
  }

  /// The other hub has ended the link, with a reason.
  func receivedGoodbye(_ error: SegueError, from peer: Peer) {
    // It no longer has the session.
    if let session = session(resumingOver: peer) { disconnect(session, error) }
    connections.reportLinkDown(of: peer, error)
    connections.close(peer)
  }

  private func receiveHello(
    _ hub: HubIdentity, _ handshake: Handshake, from peer: Peer, version: UInt64, minimum: UInt64
  ) {
    guard minimum <= ProtocolVersion.current, version >= ProtocolVersion.minimum else {
      let ours: DiagnosticText = "\(ProtocolVersion.minimum)…\(ProtocolVersion.current)"
      return disconnect(
        peer, SegueError(.unsupportedVersion, "this hub speaks protocol \(ours), the other \(minimum)…\(version)"))
    }
    guard hub.id != identity.id else {
      return disconnect(peer, SegueError(.invalidState, "the link leads back to the hub that it comes from"))
    }
    // An identifier is a claim: it shuts out none that another device, or an app's link, claims too.
    handshake.identity = hub
    if peer.device == nil { nameSessions(handshake, to: peer) { $0.identity.id == hub.id } }
  }

  /// Sends `resume`, with the sessions that this hub shares with the other one.
  /// - Parameter isMeant: which of those with the same device, or as this one with no device, these are.
  func nameSessions(_ handshake: Handshake, to peer: Peer, _ isMeant: (HubSession) -> Bool) {
    var sessions: [Message.SharedSession] = []
    for other in peers.hubs where sessions.count < Message.SharedSession.limit {
      guard let shared = other.hub, other.device == peer.device, isMeant(shared), !other.isClosing else { continue }
      // A device makes another connection in place of the one that there is.
      let isConnected = !other.isSuspended && peer.device == nil
      sessions.append(Message.SharedSession(secret: shared.peerSessionID, isConnected: isConnected))
      handshake.named.append((shared.sessionID, connection: other.isSuspended ? nil : other.number))
    }
    send(.resume(secret: handshake.sessionID, sessions: sessions), to: peer)
  }

  /// Decides which session resumes. A name proves nothing: a session changes its connection only for a hub that names
  /// its secret, and only if not both hubs consider the old connection alive. Otherwise a new session begins.
  private func decide(
    _ hub: HubIdentity, _ handshake: Handshake, _ peer: Peer, _ secret: Identifier, _ named: [Message.SharedSession]
  ) {
    var cut: Peer?
    for other in peers.hubs where !other.isClosing {
      guard let shared = other.hub, shared.identity.id == hub.id, other.device == peer.device else { continue }
      let connection = other.isSuspended ? nil : other.number
      let before = handshake.named.first { $0.sessionID == shared.sessionID }
      let theirs = named.first { $0.secret == shared.sessionID }
      let isNew = connection != nil && before?.connection != connection
      if isNew || shared.replacement != nil || connection != nil && theirs?.isConnected == true {
        return disconnect(peer, Self.areLinked)
      }
      if theirs != nil, cut == nil { cut = other }
    }
    guard let cut, let shared = cut.hub else {
      send(.proceed(session: nil, received: 0), to: peer)
      return establish(hub, handshake, peer, secret)
    }
    detach(cut, shared, SegueError(.connectionUnavailable, "the connection to the other hub broke"))
    shared.replace(by: peer)
    send(.proceed(session: shared.peerSessionID, received: cut.link.received), to: peer)
    handshake.isResuming = true
  }

  static var areLinked: SegueError { SegueError(.invalidState, "the two devices are linked by another connection") }

  /// The other hub has decided.
  private func accept(
    _ session: Identifier?, _ hub: HubIdentity, _ handshake: Handshake, over peer: Peer, _ secret: Identifier,
    _ received: UInt64
  ) {
    guard let session else { return establish(hub, handshake, peer, secret) }
    let known = peers.hubs.first { other in
      other.hub.map { $0.sessionID == session && $0.identity.id == hub.id } ?? false && !other.isClosing
        && other.device == peer.device
    }
    guard let known, let shared = known.hub else {
      return disconnect(peer, SegueError(.invalidState, "the session of this link has ended; link the devices again"))
    }
    do throws(SegueError) {
      try known.link.checkResumable(peerReceived: received)
      detach(known, shared, SegueError(.connectionUnavailable, "the connection to the other hub broke"))
      send(.proceed(session: shared.peerSessionID, received: known.link.received), to: peer)
      try resume(known, shared, over: peer, received: received)
    } catch {
      disconnect(known, error)
      disconnect(peer, error)
    }
  }

  /// The other hub agrees, and gives its number of received bytes.
  private func goOn(_ session: Identifier?, over peer: Peer, _ received: UInt64) throws(SegueError) {
    guard let known = self.session(resumingOver: peer), let shared = known.hub, shared.sessionID == session else {
      throw SegueError(.malformed, "the other hub resumes another session than was agreed")
    }
    do throws(SegueError) {
      try resume(known, shared, over: peer, received: received)
    } catch {
      // It would fail the next time, too.
      disconnect(known, error)
      throw error
    }
  }

  private func establish(_ hub: HubIdentity, _ handshake: Handshake, _ peer: Peer, _ secret: Identifier) {
    peer.link.enableResumption()
    peer.link.take(identity.id < hub.id ? .connecting : .accepting)
    let session = HubSession(
      hub, sessionID: handshake.sessionID, peerSessionID: secret, heardAt: now.uptime, offers.remoteHubs.bytes)
    peer.identify(as: .hub(session))
    endFormer(by: peer, hub)
    offers.publishEverything(peer, session)
    checkHubs(by: now.uptime + Self.hubAskTime)
    reportLinkUp(of: peer, hub)
    reportSession(of: peer)
  }

  private func reportLinkUp(of peer: Peer, _ hub: HubIdentity) {
    guard let owner = peer.linkOwner else { return }
    send(.linkUp(owner.number, deviceName: hub.deviceName), to: owner.app)
  }

  /// Resumes the session of `known` over the connection of `peer`.
  private func resume(_ known: Peer, _ shared: HubSession, over peer: Peer, received: UInt64) throws(SegueError) {
    try known.link.resume(over: peer.link, peerReceived: received)
    _ = peers.removeHub(peer)
    known.takeOver(peer)
    reportLinkUp(of: known, shared.identity)
    peers.connect(known)
    shared.resumed(at: now.uptime)
    // Unreceived messages are repeated, also those about former offers and routes.
    send(.refresh, to: known)
    offers.publishEverything(known, shared)
    flush(known)
    checkHubs(by: now.uptime + Self.hubAskTime)
    reportSession(of: known)
  }

  func session(resumingOver peer: Peer) -> Peer? { peers.hubs.first { $0.hub?.replacement === peer } }
}
