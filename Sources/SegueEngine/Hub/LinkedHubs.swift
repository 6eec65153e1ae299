import SegueModel
import SegueWire

/// An app's wish to link this hub with another.
public struct LinkRequest: Sendable {
  /// Of the app.
  public let app: HubEngine.PeerNumber
  /// As the app calls it.
  let number: UInt64
}

/// Links with the hubs of other devices, which come and go.
extension HubEngine {
  /// Milliseconds after which a hub that was not heard of is asked for a sign of life.
  static let hubAskTime: Int64 = 10_000
  /// Milliseconds after which a hub that was not heard of is given up.
  static let hubSilenceTime: Int64 = 30_000
  /// Milliseconds for a cut link to be resumed (R7.4).
  static let resumeTime: Int64 = 60_000

  /// A connection to another hub is there. Whoever gives it to us vouches for whom it leads to.
  /// - Parameter attachment: the app's wish that it fulfils.
  public func connectedHub(_ number: PeerNumber, for attachment: LinkRequest? = nil, _ now: Moment) {
    self.now = now
    let peer = Peer(number: number, isHub: true, helloBy: now.uptime + Self.helloTime)
    peers[number] = peer
    if let attachment, let app = peers[attachment.app] { peer.sponsor = Sponsor(app: app, number: attachment.number) }
    peer.index = hubList.count
    hubList.append(peer)
    hubIdentities.append(identity.id)
    send(.link(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum), to: peer)
    checkHubs(by: peer.helloBy)
  }

  /// What is to be done with the descriptors that apps have sent, in the order of their messages.
  public func takePassengers() -> [Passenger] {
    guard !passengers.isEmpty else { return [] }
    defer { passengers = [] }
    return passengers
  }

  public func refuse(_ attachment: LinkRequest, _ error: SegueError) {
    guard let app = peers[attachment.app] else { return }
    send(.detached(attachment.number, error), to: app)
  }

  /// The app that made the link hears that it has ended.
  func detachSponsor(of peer: Peer, _ error: SegueError) {
    guard let sponsor = peer.sponsor else { return }
    peer.sponsor = nil
    send(.detached(sponsor.number, error), to: sponsor.app)
  }

  /// The app is gone, and so are its links.
  func dismissLinks(of app: Peer) {
    for peer in hubList where peer.sponsor?.app === app {
      dismiss(peer, SegueError(.connectionUnavailable, "the app that made the link has gone"))
    }
  }

  func handle(_ message: Message, fromHub peer: Peer) throws(SegueError) {
    guard let hub = peer.hub else { return try meet(message, peer) }
    switch message {
    case .goodbye(let error): leave(peer, error)
    case .ping(let number): send(.pong(number), to: peer)
    case .offer(let offer, let timing, let route):
      guard let route, route.hubs.first == hub.identity.id else {
        throw SegueError(.malformed, "an offer between hubs must say by which it comes")
      }
      heard(offer, timing, route, by: peer, hub)
    case .gone(let id, let withdrawal): heardGone(id, withdrawal, by: peer)
    case .fetch(let continuation, let milliseconds, let receiver):
      guard let receiver else { throw SegueError(.malformed, "a fetch between hubs must name the receiver") }
      fetch(continuation, milliseconds: milliseconds, receiver, by: peer)
    case .state(let id, _, let channel, let size, let isStale):
      try state(id, channel: channel, size: size, isStale: isStale, from: peer)
    case .refused(let id, _, let error): refused(id, error, by: peer)
    case .outcome(let continuation, let outcome, let error, let receiver):
      guard let receiver else { throw SegueError(.malformed, "an outcome between hubs must name the receiver") }
      self.outcome(continuation, outcome, error, receiver, from: peer)
    case .noted(let id, _): noted(id, by: peer)
    case .vanished(let id): vanished(id, beyond: peer)
    case .request, .response: try pass(message, from: peer)
    case .link, .resume: throw SegueError(.malformed, "link or resume came twice")
    case .stream(let id, let continuation, let app, let channel, let attachment):
      try peer.link.accept(channel)
      stream(id, continuation, of: app, attachment, channel: channel, from: peer)
    case .streamAnswer(let id, let continuation, let channel, let error):
      if channel != 0 { try peer.link.accept(channel) }
      streamAnswer(id, continuation, channel: channel, error, fromHub: peer)
    case .streamWord(let id, let continuation, let to, let word):
      streamWord(id, continuation, to: to, word, from: peer)
    case .pong, .hello, .welcome, .put, .withdraw, .ready, .attach, .attached, .detached, .explain, .explanation: break
    }
  }

  // MARK: Who it is, and what the two hubs share

  /// The other hub says who it is, then what it knows of us.
  private func meet(_ message: Message, _ peer: Peer) throws(SegueError) {
    switch message {
    case .goodbye(let error): leave(peer, error)
    case .link(let hub, let version, let minimum):
      guard peer.greeted == nil else { throw SegueError(.malformed, "link came twice") }
      greet(hub, peer, version: version, minimum: minimum)
    case .resume(let theirs, let ours, let received):
      guard let identity = peer.greeted else { throw SegueError(.malformed, "the first message must be link") }
      try share(identity, peer, theirs: theirs, ours: ours, received: received)
    default: throw SegueError(.malformed, "a hub must say who it is first")
    }
  }

  /// The other hub has ended the link, and said why.
  private func leave(_ peer: Peer, _ error: SegueError) {
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
    guard let known = linkedHub(hub.id), let shared = known.hub else {
      peer.sharedNumber = nextHubNumber
      nextHubNumber += 1
      return send(.resume(mine: peer.sharedNumber, yours: 0, received: 0), to: peer)
    }
    // Of two connections to one hub the newer counts; what still comes by the older one will come again.
    let again = SegueError(.invalidState, "the same two hubs were linked again")
    detach(known, shared, for: Self.helloTime, again)
    if let other = shared.successor { dismiss(other, again) }
    shared.successor = peer
    peer.sharedNumber = shared.number
    peer.isResuming = true
    send(.resume(mine: shared.number, yours: shared.theirNumber, received: known.link.received), to: peer)
  }

  private func share(
    _ identity: HubIdentity, _ peer: Peer, theirs: UInt64, ours: UInt64, received: UInt64
  ) throws(SegueError) {
    if let known = linkedHub(identity.id), let shared = known.hub {
      if shared.successor === peer, shared.number == ours, shared.theirNumber == theirs {
        return try resume(known, shared, over: peer, received: received)
      }
      // It knows nothing of what we shared, so that is over. If two connections came at once, one hub says which stays.
      if shared.resumeBy != nil || self.identity.id < identity.id {
        dismiss(known, SegueError(.invalidState, "the same two hubs were linked again"))
        forget(known)
      }
    }
    peer.isResuming = false
    peer.link.keep()
    peer.link.take(self.identity.id < identity.id ? .connecting : .accepting)
    peer.hub = LinkedHub(identity, number: peer.sharedNumber, theirNumber: theirs, heardAt: now.uptime)
    hubIdentities[peer.index] = identity.id
    peer.pending = PendingOffers(offeredIdentifiers)
    tellPending(peer)
    checkHubs(by: now.uptime + Self.hubAskTime)
    tellSponsor(of: peer, identity)
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
    tellSponsor(of: known, shared.identity)
    peers[peer.number] = known
    shared.resumeBy = nil
    shared.successor = nil
    shared.heardAt = now.uptime
    shared.isAsked = false
    // What it had not received comes again, offers among it that are no more.
    known.pending = PendingOffers(offeredIdentifiers + shared.told.sorted().filter { offers[$0] == nil })
    tellPending(known)
    flush(known)
    checkHubs(by: now.uptime + Self.hubAskTime)
  }

  private func linkedHub(_ id: Identifier) -> Peer? {
    let index = hubIdentities.indices.first { index in
      hubIdentities[index] == id && hubList[index].hub != nil && !hubList[index].isClosing
    }
    return index.map { hubList[$0] }
  }

  /// The connection is gone without a word: what came by it is not offered any more, but the rest may go on over another.
  func suspend(_ peer: Peer, _ hub: LinkedHub, for time: Int64 = HubEngine.resumeTime) {
    guard hub.resumeBy == nil else { return }
    detachSponsor(of: peer, SegueError(.connectionUnavailable, "the connection to the other hub broke"))
    hub.resumeBy = now.uptime + time
    dropAll(by: hub)
    checkHubs(by: now.uptime + time)
  }

  /// Its connection is no longer listened to.
  private func detach(_ peer: Peer, _ hub: LinkedHub, for time: Int64, _ error: SegueError) {
    guard hub.resumeBy == nil else { return }
    detachSponsor(of: peer, error)
    peers[peer.number] = nil
    closable.append(peer.number)
    suspend(peer, hub, for: time)
  }

  /// All offers that are known, of this device and of others.
  var offeredIdentifiers: [Identifier] {
    guard !offers.isEmpty else { return [] }
    var identifiers = peerList.compactMap { $0.offer?.description.id }
    for peer in hubList {
      for offer in peer.hub?.offers ?? [] where offer.activity.offer === offer {
        identifiers.append(offer.description.id)
      }
    }
    return identifiers
  }

  private func removeFromList(_ peer: Peer) {
    let last = hubList.removeLast()
    let identity = hubIdentities.removeLast()
    guard last !== peer else { return }
    hubList[peer.index] = last
    hubIdentities[peer.index] = identity
    last.index = peer.index
  }

  func forgetHub(_ peer: Peer) {
    guard peer.index < hubList.count, hubList[peer.index] === peer else { return }
    removeFromList(peer)
    detachSponsor(of: peer, SegueError(.connectionUnavailable, "the connection to the other hub ended"))
    if let hub = peer.hub { dropAll(by: hub) }
    held.removeAll { $0.peer === peer }
    heldOutcomes.removeAll { $0.peer === peer }
    for path in paths.remove(of: peer) { tellLost(path, beyond: peer) }
    loseCrossings(of: peer)
    leaveContinuations(peer)
    peer.pending = PendingOffers()
  }

  // MARK: Signs of life

  private func checkHubs(by deadline: Int64) { hubsCheckedAt = min(hubsCheckedAt ?? deadline, deadline) }

  func tickHubs() {
    guard let at = hubsCheckedAt, at <= now.uptime else { return }
    hubsCheckedAt = nil
    for peer in hubList where !peer.isClosing {
      guard let hub = peer.hub else {
        if peer.helloBy <= now.uptime {
          dismiss(peer, SegueError(.remoteApplicationTimedOut, "no word within \(Self.helloTime) ms"))
        } else {
          checkHubs(by: peer.helloBy)
        }
        continue
      }
      if let resumeBy = hub.resumeBy {
        guard resumeBy <= now.uptime else {
          checkHubs(by: resumeBy)
          continue
        }
        peer.isClosing = true
        forget(peer)
        continue
      }
      if hub.heardAt + Self.hubSilenceTime <= now.uptime {
        let error = SegueError(.remoteApplicationTimedOut, "nothing heard for \(Self.hubSilenceTime) ms")
        detach(peer, hub, for: Self.resumeTime, error)
        continue
      }
      if !hub.isAsked, hub.heardAt + Self.hubAskTime <= now.uptime {
        hub.isAsked = true
        send(.ping(UInt64(clamping: now.uptime)), to: peer)
      }
      checkHubs(by: hub.heardAt + (hub.isAsked ? Self.hubSilenceTime : Self.hubAskTime))
    }
  }
}
