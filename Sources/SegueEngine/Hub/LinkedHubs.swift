import SegueModel
import SegueWire

/// An app's request to link this hub with another.
public struct LinkRequest: Sendable {
  /// Of the app.
  public let app: HubEngine.PeerNumber
  /// The app's number for it.
  let number: UInt64
}

/// Links with the hubs of other devices.
extension HubEngine {
  /// Milliseconds of silence after which a hub gets a ping.
  static let hubAskTime: Int64 = 10_000
  /// Milliseconds of silence after which a hub counts as gone.
  static let hubSilenceTime: Int64 = 30_000
  /// Milliseconds for a cut link to be resumed (R7.4).
  static let resumeTime: Int64 = 60_000

  /// Takes a connection to another hub. Its supplier is responsible for the other end.
  /// - Parameters:
  ///   - request: the app's request that it fulfils.
  ///   - secret: a new random one.
  public func connectedHub(
    _ number: PeerNumber, for request: LinkRequest? = nil, secret: Identifier, _ now: Moment
  ) {
    begin(now)
    defer { removeDisconnected() }
    let peer = Peer(number: number, .handshaking(Handshake(secret)), helloBy: now.uptime + Self.helloTime)
    peers.connect(peer)
    if let request, let app = peers[request.app] {
      peer.setLinkOwner(LinkOwner(app: app, number: request.number))
    }
    peers.addHub(peer)
    if let error = tooManyLinks(like: peer) { return disconnect(peer, error) }
    send(.link(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum), to: peer)
    checkHubs(by: peer.helloBy)
  }

  /// An app wants a link.
  func openLink(_ number: UInt64, _ descriptor: PassedDescriptor?, by app: Peer) {
    let request = LinkRequest(app: app.number, number: number)
    guard let descriptor else { return refuse(request, Self.noDescriptor) }
    if descriptor.isLost { return refuse(request, Self.lostDescriptor) }
    outbox.transfer(.link(request, descriptor))
  }

  /// An app ends a link that it has made, or asked for. The session ends with it, at both devices.
  func endLink(_ number: UInt64, by app: Peer) {
    outbox.removeLink(number, of: app.number)
    for peer in peers.hubs where peer.linkOwner.map({ $0.app === app && $0.number == number }) ?? false {
      // The app knows.
      _ = peer.takeLinkOwner()
      disconnect(peer, SegueError(.connectionUnavailable, "the app that made the link has ended it"))
    }
  }

  public func refuse(_ request: LinkRequest, _ error: SegueError) {
    guard let app = peers[request.app] else { return }
    send(.linkDown(request.number, error), to: app)
    removeDisconnected()
  }

  /// Notifies the app that made the link of its end.
  @inline(never)
  func reportLinkDown(of peer: Peer, _ error: SegueError) {
    guard let owner = peer.takeLinkOwner() else { return }
    send(.linkDown(owner.number, error), to: owner.app)
  }

  /// The app is gone, and so are its links.
  @inline(never)
  func disconnectLinks(of app: Peer) {
    for peer in peers.hubs where peer.linkOwner?.app === app {
      disconnect(peer, SegueError(.connectionUnavailable, "the app that made the link has gone"))
    }
  }

  func handle(_ message: Message, fromHub peer: Peer) throws(SegueError) {
    guard let hub = peer.hub else {
      if let handshake = peer.handshake { try receive(message, handshake, from: peer) }
      return
    }
    switch message {
    case .goodbye(let error): receivedGoodbye(error, from: peer)
    case .ping(let number): send(.pong(number), to: peer)
    case .offer(let offer, let timing, let origin):
      guard let origin else { throw SegueError(.malformed, "an offer between hubs must say where it comes from") }
      receivedOffer(offer, timing, origin, by: peer)
    case .gone(let id, let version):
      guard let version else { throw SegueError(.malformed, "between hubs it must be said whose offer is gone") }
      receivedGone(id, version, by: peer)
    case .route(let id, let route, let isSought): try receivedRoute(route, to: id, isSought: isSought, by: peer, hub)
    case .seek(let id, let sequence): receivedSeek(id, sequence, by: peer)
    case .follow(let id, let list): follow(id, list: list, peer, hub)
    case .unfollow(let id): hub.unfollow(id)
    case .list(let id, let list): receivedList(of: id, list, by: peer)
    case .listed(let version): receivedListed(version, by: peer)
    case .refresh: dropRoutes(by: peer, hub)
    case .fetch(let continuation, let milliseconds, let receiver, _, let isBack):
      guard let receiver else { throw SegueError(.malformed, "a fetch between hubs must name the receiver") }
      fetch(continuation, milliseconds: milliseconds, receiver, isBack: isBack, by: peer)
    case .state(let id, _, let channel, let size, let isStale):
      try state(id, channel: channel, size: size, isStale: isStale, from: peer)
    case .refused(let id, _, let error): refused(id, error, by: peer)
    case .outcome(let continuation, let outcome, let error, let receiver):
      guard let receiver else { throw SegueError(.malformed, "an outcome between hubs must name the receiver") }
      self.outcome(continuation, outcome, error, receiver, from: peer)
    case .outcomeAck(let id, _): outcomeAcknowledged(id, by: peer)
    case .peerLost(let id): peerLost(id, beyond: peer)
    case .request, .response: try pass(message, from: peer)
    case .link, .resume, .proceed: throw SegueError(.malformed, "link, resume or proceed came twice")
    case .stream(let id, let continuation, let app, let channel, let attachment):
      try peer.link.accept(channel)
      stream(id, continuation, of: app, attachment, channel: channel, from: peer)
    case .streamAnswer(let id, let continuation, let channel, let error):
      if channel != 0 { try peer.link.accept(channel) }
      streamAnswer(id, continuation, channel: channel, error, fromHub: peer)
    case .streamStatus(let id, let continuation, let to, let status):
      streamStatus(id, continuation, to: to, status, from: peer)
    case .pong, .hello, .welcome, .publish, .withdraw, .ready, .openLink, .linkUp, .linkDown, .explain, .explanation,
      .accepts, .present, .absent, .deliver, .ask, .answer:
      break
    }
  }

  /// The connection ended without goodbye. Removes offers that came through it; the rest may resume over another
  /// connection.
  func suspend(_ peer: Peer, _ hub: HubSession) {
    guard hub.resumeBy == nil else { return }
    reportLinkDown(of: peer, SegueError(.connectionUnavailable, "the connection to the other hub broke"))
    hub.suspend(until: now.uptime + Self.resumeTime)
    dropRoutes(by: peer, hub)
    hub.forgetWhatWasTold()
    peer.pending.removeAll()
    peer.link.trim()
    checkHubs(by: now.uptime + Self.resumeTime)
  }

  /// Stops reading from its connection.
  @inline(never)
  func detach(_ peer: Peer, _ hub: HubSession, _ error: SegueError) {
    guard hub.resumeBy == nil else { return }
    reportLinkDown(of: peer, error)
    _ = peers.disconnect(peer.number)
    outbox.close(peer.number)
    suspend(peer, hub)
  }

  /// All known offers, of this device and of others.
  var offeredIdentifiers: [Identifier] {
    guard !offers.isEmpty else { return [] }
    var identifiers = peers.apps.compactMap { $0.offer?.description.id }
    for remote in remoteHubs.all {
      for offer in remote.offers where offer.activity.offer === offer {
        identifiers.append(offer.description.id)
      }
    }
    return identifiers
  }

  @inline(never)
  func removeHub(_ peer: Peer) {
    guard peers.removeHub(peer) else { return }
    session(resumingOver: peer)?.hub?.replace(by: nil)
    reportLinkDown(of: peer, SegueError(.connectionUnavailable, "the connection to the other hub ended"))
    if let hub = peer.hub { dropRoutes(by: peer, hub) }
    failLinkedStreams(of: peer)
    leaveContinuations(peer)
    peer.pending.removeAll()
  }

  // MARK: Keep-alive

  /// Whether nothing is due but pings to linked hubs, which repeat for ever while these answer.
  public var isIdle: Bool {
    peers.unidentified.isEmpty && remoteHubs.nextDeadline == nil && continuations.nextDeadline == nil
      && explainedPeers.nextDeadline == nil && peers.hubs.allSatisfy { $0.isLinked }
  }

  func checkHubs(by deadline: Int64) { peers.checkLinks(by: deadline) }

  func tickHubs() {
    guard peers.takeLinksDue(now.uptime) else { return }
    for peer in peers.hubs where !peer.isClosing {
      guard let hub = peer.hub else {
        if peer.helloBy <= now.uptime {
          disconnect(peer, SegueError(.remoteApplicationTimedOut, "no word within \(Self.helloTime) ms"))
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
        peer.beginClosing()
        remove(peer)
        continue
      }
      if hub.heardAt + Self.hubSilenceTime <= now.uptime {
        let error = SegueError(.remoteApplicationTimedOut, "nothing heard for \(Self.hubSilenceTime) ms")
        detach(peer, hub, error)
        boundSuspended()
        continue
      }
      if !hub.isAsked, hub.heardAt + Self.hubAskTime <= now.uptime {
        hub.ask()
        send(.ping(UInt64(clamping: now.uptime)), to: peer)
      }
      checkHubs(by: hub.heardAt + (hub.isAsked ? Self.hubSilenceTime : Self.hubAskTime))
    }
  }
}
