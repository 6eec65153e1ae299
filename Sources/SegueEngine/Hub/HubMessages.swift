// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Passes each message to the feature that it concerns.
final class HubMessages {
  /// The units of work of a failure that is reported, which is compared with those that are known.
  private static let failureWork: UInt64 = 64

  private let connections: HubConnections
  private let registration: HubRegistration
  private let presence: AgentPresence
  private let offers: HubOffers
  private let links: HubLinks
  private let transfers: HubTransfers
  private let continuations: HubContinuations
  private let deliveries: HubDeliveries
  private let requests: HubRequests
  private let streams: HubStreams
  private let explanations: HubExplanations

  init(
    _ connections: HubConnections, _ registration: HubRegistration, _ presence: AgentPresence, _ offers: HubOffers,
    _ links: HubLinks, _ transfers: HubTransfers, _ continuations: HubContinuations, _ deliveries: HubDeliveries,
    _ requests: HubRequests, _ streams: HubStreams, _ explanations: HubExplanations
  ) {
    self.connections = connections
    self.registration = registration
    self.presence = presence
    self.offers = offers
    self.links = links
    self.transfers = transfers
    self.continuations = continuations
    self.deliveries = deliveries
    self.requests = requests
    self.streams = streams
    self.explanations = explanations
  }

  func handle(_ event: FramedConnection.Event, from peer: Peer) throws(SegueError) {
    switch event {
    case .message:
      let descriptor = peer.link.takeDescriptor()
      if let message = try peer.link.takeMessage(Message.decode) { try handle(message, descriptor, from: peer) }
    case .data(let channel, let bytes): transfers.received(bytes, on: channel, from: peer)
    case .end(let channel, let total): transfers.receivedEnd(of: channel, total: total, from: peer)
    case .reset(let channel): transfers.receivedReset(of: channel, from: peer)
    case .credit(let channel, let count): transfers.receivedCredit(count, for: channel, from: peer)
    case .relay(let frame): try links.receivedRelay(frame, from: peer)
    }
  }

  private func handle(_ message: Message, _ descriptor: PassedDescriptor?, from peer: Peer) throws(SegueError) {
    if peer.isHub {
      guard descriptor == nil else { throw SegueError(.malformed, "a descriptor came from another hub") }
      return try handle(message, fromHub: peer)
    }
    guard let app = peer.app else {
      guard case .hello(let app, let version, let minimum, let knowsManifest) = message else {
        throw SegueError(.malformed, "the first message must be hello")
      }
      return registration.register(app, peer, version: version, minimum: minimum, knowsManifest: knowsManifest)
    }
    switch message {
    case .ping(let number): connections.send(.pong(number), to: peer, isUrgent: true)
    case .publish(let description, let timing, let activation):
      offers.put(description, timing, activation: activation, by: peer, app)
      continuations.resumeHeld()
    case .withdraw(let id): if let offer = peer.offer, offer.description.id == id { offers.withdraw(offer) }
    case .fetch(let continuation, let milliseconds, let named, let principal, let isBack, _):
      continuations.fetch(
        continuation, milliseconds: milliseconds, presence.receiver(app, named: named),
        isBack ? .back(principal: principal) : .offered, by: peer)
    case .originFolders(let id, _, let text): continuations.originFolders(id, text, from: peer)
    case .state(let id, _, let channel, let size, let isStale, let why):
      try continuations.state(id, channel: channel, size: size, isStale: isStale, why: why, from: peer)
    case .refused(let id, _, let error): continuations.refused(id, error, by: peer)
    case .outcome(let continuation, let outcome, let error, let named):
      continuations.outcome(continuation, outcome, error, presence.receiver(app, named: named), from: peer)
    case .outcomeAck(let id, _): continuations.outcomeAcknowledged(id, by: peer)
    case .explain(let request, let activity, let type):
      explanations.ask(Explain(request: request, activity: activity, type: type), peer)
    case .hello: throw SegueError(.malformed, "hello came twice")
    case .stream(let id, let continuation, _, _, let attachment):
      streams.stream(id, continuation, of: app.id, attachment, descriptor, from: peer)
    case .streamAnswer(let id, let continuation, _, let error):
      streams.streamAnswer(id, continuation, error, from: peer, app)
    case .streamStatus(let id, let continuation, let to, let status):
      streams.streamStatus(id, continuation, to: to, status, from: peer)
    case .request, .response: try requests.pass(message, from: peer)
    case .openLink(let number): links.open(number, descriptor, by: peer)
    case .linkDown(let number, _): links.end(number, by: peer)
    case .accepts(let accepts): presence.setAccepts(accepts, peer)
    case .deliver(let delivery): deliveries.deliver(delivery, from: peer)
    case .keep(let id, _, let channel, let size):
      try deliveries.keep(id, channel: channel, size: size, from: peer, app)
    case .keepAttachment(let channel, let name, let changed):
      deliveries.keepAttachment(name, changed: changed, of: channel, descriptor, from: peer)
    case .failure(let type, let error, let age):
      connections.countWork(Self.failureWork)
      presence.note(type, error, age: age, of: app, peer.principal)
    case .present, .absent, .keeps, .ask, .answer, .folders: break
    case .link, .resume, .proceed, .linkUp, .welcome, .goodbye, .pong, .offer, .gone, .ready, .peerLost,
      .explanation, .route, .seek, .follow, .unfollow, .list, .listed, .refresh, .account:
      break
    }
  }

  private func handle(_ message: Message, fromHub peer: Peer) throws(SegueError) {
    guard let hub = peer.hub else {
      if let handshake = peer.handshake { try links.receive(message, handshake, from: peer) }
      return
    }
    switch message {
    case .goodbye(let error): links.receivedGoodbye(error, from: peer)
    case .ping(let number): connections.send(.pong(number), to: peer)
    case .offer(let offer, let timing, let origin):
      guard let origin else { throw SegueError(.malformed, "an offer between hubs must say where it comes from") }
      if offers.receivedOffer(offer, timing, origin, by: peer) { continuations.sendHeld(to: offer.origin) }
    case .gone(let id, let version):
      guard let version else { throw SegueError(.malformed, "between hubs it must be said whose offer is gone") }
      offers.receivedGone(id, version, by: peer)
    case .route(let id, let route, let isSought):
      try offers.receivedRoute(route, to: id, isSought: isSought, by: peer, hub)
    case .seek(let id, let sequence): offers.receivedSeek(id, sequence, by: peer)
    case .follow(let id, let list): offers.follow(id, list: list, peer, hub)
    case .unfollow(let id): hub.unfollow(id)
    case .list(let id, let list): offers.receivedList(of: id, list, by: peer)
    case .listed(let version): offers.receivedListed(version, by: peer)
    case .refresh: offers.renewRoutes(by: peer, hub)
    case .account(let message): try links.receivedAccount(message, from: peer)
    case .fetch(let continuation, let milliseconds, let receiver, _, let isBack, _):
      guard let receiver else { throw SegueError(.malformed, "a fetch between hubs must name the receiver") }
      continuations.fetch(
        continuation, milliseconds: milliseconds, connections.named(receiver, by: peer),
        isBack ? .back(principal: nil) : .offered, by: peer)
    case .state(let id, _, let channel, let size, let isStale, let why):
      try continuations.state(id, channel: channel, size: size, isStale: isStale, why: why, from: peer)
    case .refused(let id, _, let error): continuations.refused(id, error, by: peer)
    case .outcome(let continuation, let outcome, let error, let receiver):
      guard let receiver else { throw SegueError(.malformed, "an outcome between hubs must name the receiver") }
      continuations.outcome(continuation, outcome, error, connections.named(receiver, by: peer), from: peer)
    case .outcomeAck(let id, _): continuations.outcomeAcknowledged(id, by: peer)
    case .peerLost(let id): continuations.peerLost(id, beyond: peer)
    case .request, .response: try requests.pass(message, from: peer)
    case .link, .resume, .proceed: throw SegueError(.malformed, "link, resume or proceed came twice")
    case .stream(let id, let continuation, let app, let channel, let attachment):
      try peer.link.accept(channel)
      streams.stream(id, continuation, of: app, attachment, channel: channel, from: peer)
    case .streamAnswer(let id, let continuation, let channel, let error):
      if channel != 0 { try peer.link.accept(channel) }
      let known = continuations.known(continuation, by: peer)
      streams.streamAnswer(id, known, channel: channel, error, fromHub: peer)
    case .streamStatus(let id, let continuation, let to, let status):
      streams.streamStatus(id, continuations.known(continuation, by: peer), to: to, status, from: peer)
    case .pong, .hello, .welcome, .publish, .withdraw, .ready, .openLink, .linkUp, .linkDown, .explain, .explanation,
      .accepts, .present, .absent, .deliver, .keep, .keepAttachment, .keeps, .failure, .ask, .answer, .folders,
      .originFolders:
      break
    }
  }
}
