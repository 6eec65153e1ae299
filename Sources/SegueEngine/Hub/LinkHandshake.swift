import SegueModel
import SegueWire

/// How two linked hubs find out who they are, and whether a session of theirs goes on (R7.4). The hub with the lower
/// identifier decides, so that both are of one mind, however many connections come at a time.
extension HubEngine {
  /// A message of a hub that has no session over this connection yet.
  func shakeHands(_ message: Message, _ peer: Peer) throws(SegueError) {
    switch message {
    case .goodbye(let error): leave(peer, error)
    case .link(let hub, let version, let minimum):
      guard peer.greeted == nil else { throw SegueError(.malformed, "link came twice") }
      greet(hub, peer, version: version, minimum: minimum)
    case .resume(let secret, let sessions):
      guard let hub = peer.greeted else { throw SegueError(.malformed, "the first message must be link") }
      guard peer.theirSecret == nil else { throw SegueError(.malformed, "resume came twice") }
      peer.theirSecret = secret
      if identity.id < hub.id { decide(hub, peer, secret, sessions) }
    case .proceed(let session, let received):
      guard let hub = peer.greeted, let secret = peer.theirSecret else {
        throw SegueError(.malformed, "proceed came before resume")
      }
      if identity.id < hub.id {
        try goOn(session, over: peer, received)
      } else {
        follow(hub, peer, secret, session, received)
      }
    default: throw SegueError(.malformed, "a hub must say who it is first")
    }
  }

  /// The other hub has ended the link, and said why.
  func leave(_ peer: Peer, _ error: SegueError) {
    // It no longer has what was to go on.
    if let session = session(resumingOver: peer) { dismiss(session, error) }
    detachSponsor(of: peer, error)
    close(peer)
  }

  private func greet(_ hub: HubIdentity, _ peer: Peer, version: UInt64, minimum: UInt64) {
    guard minimum <= ProtocolVersion.current, version >= ProtocolVersion.minimum else {
      let ours = "\(ProtocolVersion.minimum)…\(ProtocolVersion.current)"
      return dismiss(
        peer, SegueError(.unsupportedVersion, "this hub speaks protocol \(ours), the other \(minimum)…\(version)"))
    }
    guard hub.id != identity.id else {
      return dismiss(peer, SegueError(.invalidState, "the link leads back to the hub that it comes from"))
    }
    peer.greeted = hub
    var sessions: [Message.SharedSession] = []
    for other in hubList where sessions.count < Message.SharedSession.limit {
      guard let shared = other.hub, shared.identity.id == hub.id, !other.isClosing else { continue }
      sessions.append(Message.SharedSession(secret: shared.theirSecret, isConnected: shared.resumeBy == nil))
      peer.named.append(
        NamedSession(secret: shared.secret, connection: shared.resumeBy == nil ? other.number : nil))
    }
    send(.resume(secret: peer.secret, sessions: sessions), to: peer)
  }

  /// A name proves nothing: a session changes its connection only for a hub that names its secret, and no connection goes for
  /// another that both hubs see alive. What cannot be proven begins beside what there is.
  private func decide(_ hub: HubIdentity, _ peer: Peer, _ secret: Identifier, _ named: [Message.SharedSession]) {
    var cut: Peer?
    for other in hubList where !other.isClosing {
      guard let shared = other.hub, shared.identity.id == hub.id else { continue }
      let connection = shared.resumeBy == nil ? other.number : nil
      let before = peer.named.first { $0.secret == shared.secret }
      let theirs = named.first { $0.secret == shared.secret }
      let isNew = connection != nil && before?.connection != connection
      if isNew || shared.successor != nil || connection != nil && theirs?.isConnected == true {
        return dismiss(peer, Self.areLinked)
      }
      if theirs != nil, cut == nil { cut = other }
    }
    guard let cut, let shared = cut.hub else {
      send(.proceed(session: nil, received: 0), to: peer)
      return begin(hub, peer, secret)
    }
    detach(cut, shared, SegueError(.connectionUnavailable, "the connection to the other hub broke"))
    shared.successor = peer
    send(.proceed(session: shared.theirSecret, received: cut.link.received), to: peer)
    peer.isResuming = true
  }

  static var areLinked: SegueError { SegueError(.invalidState, "the two devices are linked by another connection") }

  /// The other hub has decided.
  private func follow(
    _ hub: HubIdentity, _ peer: Peer, _ secret: Identifier, _ session: Identifier?, _ received: UInt64
  ) {
    guard let session else { return begin(hub, peer, secret) }
    let known = hubList.first { other in
      other.hub.map { $0.secret == session && $0.identity.id == hub.id } ?? false && !other.isClosing
    }
    guard let known, let shared = known.hub else {
      return dismiss(peer, SegueError(.invalidState, "what the two hubs shared is over"))
    }
    do throws(SegueError) {
      try known.link.checkResumable(peerReceived: received)
      detach(known, shared, SegueError(.connectionUnavailable, "the connection to the other hub broke"))
      send(.proceed(session: shared.theirSecret, received: known.link.received), to: peer)
      try resume(known, shared, over: peer, received: received)
    } catch {
      dismiss(known, error)
      dismiss(peer, error)
    }
  }

  /// The other hub follows, and says how far it has come.
  private func goOn(_ session: Identifier?, over peer: Peer, _ received: UInt64) throws(SegueError) {
    guard let known = self.session(resumingOver: peer), let shared = known.hub, shared.secret == session else {
      throw SegueError(.malformed, "another session goes on than was decided")
    }
    do throws(SegueError) {
      try resume(known, shared, over: peer, received: received)
    } catch {
      // It would fail the next time, too.
      dismiss(known, error)
      throw error
    }
  }

  private func begin(_ hub: HubIdentity, _ peer: Peer, _ secret: Identifier) {
    peer.link.keep()
    peer.link.take(identity.id < hub.id ? .connecting : .accepting)
    peer.hub = LinkedHub(hub, secret: peer.secret, theirSecret: secret, heardAt: now.uptime, linkedBytes)
    peer.named = []
    if let hub = peer.hub { tellAnew(peer, hub) }
    checkHubs(by: now.uptime + Self.hubAskTime)
    tellSponsor(of: peer, hub)
  }

  private func tellSponsor(of peer: Peer, _ hub: HubIdentity) {
    guard let sponsor = peer.sponsor else { return }
    send(.attached(sponsor.number, deviceName: hub.deviceName), to: sponsor.app)
  }

  /// What was cut goes on over the connection of `peer`, which is then that of `known`.
  private func resume(_ known: Peer, _ shared: LinkedHub, over peer: Peer, received: UInt64) throws(SegueError) {
    try known.link.resume(over: peer.link, peerReceived: received)
    removeFromList(peer)
    peer.isClosing = true
    known.number = peer.number
    known.sponsor = peer.sponsor
    known.linkOwner = peer.linkOwner
    tellSponsor(of: known, shared.identity)
    peers[peer.number] = known
    shared.resumeBy = nil
    shared.successor = nil
    shared.heardAt = now.uptime
    shared.isAsked = false
    // What it had not received comes again, of offers and routes that are no more, too.
    send(.refresh, to: known)
    tellAnew(known, shared)
    flush(known)
    checkHubs(by: now.uptime + Self.hubAskTime)
  }

  func session(resumingOver peer: Peer) -> Peer? { hubList.first { $0.hub?.successor === peer } }
}
