// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Passes each message and frame of the hub to the feature that it concerns.
final class AppMessages {
  private let hub: HubConnection
  private let seen: SeenOffers
  private let outcomes: PendingOutcomes
  private let incoming: IncomingContinuations
  private let kept: KeptSnapshot
  private let grants: ActivityGrants
  private let outgoing: OutgoingContinuations
  private let appLinks: AppLinks
  private let streams: AppStreams
  private let requests: AppRequests
  private let explanations: Explanations

  init(
    _ hub: HubConnection, _ seen: SeenOffers, _ outcomes: PendingOutcomes, _ incoming: IncomingContinuations,
    _ kept: KeptSnapshot, _ grants: ActivityGrants, _ outgoing: OutgoingContinuations, _ appLinks: AppLinks,
    _ streams: AppStreams, _ requests: AppRequests, _ explanations: Explanations
  ) {
    self.hub = hub
    self.seen = seen
    self.outcomes = outcomes
    self.incoming = incoming
    self.kept = kept
    self.grants = grants
    self.outgoing = outgoing
    self.appLinks = appLinks
    self.streams = streams
    self.requests = requests
    self.explanations = explanations
  }

  /// - Parameter welcomed: called once the hub has accepted the app.
  func handle(
    _ event: FramedConnection.Event, of link: FramedConnection, _ now: Instant, welcomed: () -> Void
  ) throws(SegueError) {
    switch event {
    case .message:
      let descriptor = link.takeDescriptor()
      guard let message = try link.takeMessage(Message.decode) else { return }
      guard !hub.isWelcome else { return try handle(message, descriptor, now) }
      if hub.receiveWelcome(message, now) { welcomed() }
    case .data(let channel, let bytes):
      link.grant(bytes.count, to: channel)
      reader(of: channel).received(bytes, on: channel, now)
    case .end(let channel, _): reader(of: channel).receivedEnd(of: channel, now)
    case .reset(let channel):
      reader(of: channel).receivedReset(of: channel, now)
      kept.receivedReset(of: channel)
    case .credit(let channel, _):
      kept.pump(channel)
      outgoing.pump(channel, now)
      requests.pump(channel)
    case .relay: throw SegueError(.malformed, "a frame of a relay came from the hub")
    }
  }

  /// The feature that reads a channel of the hub.
  private func reader(of channel: FramedConnection.Channel) -> any ChannelReader {
    if incoming.hasChannel(channel) { incoming } else { requests }
  }

  private func handle(_ message: Message, _ descriptor: PassedDescriptor?, _ now: Instant) throws(SegueError) {
    switch message {
    case .goodbye(let error): hub.report(.refused(error))
    case .folders(let text): hub.receiveFolders(text)
    case .ping(let number): hub.send(.pong(number), isUrgent: true)
    case .pong: hub.answered(now)
    case .offer(let offer, let timing, _):
      hub.heardOffer(now)
      askingOrigins(now) { seen.put(offer, timing, now) }
    case .gone(let id, _): askingOrigins(now) { seen.remove(id) }
    case .ready(let settling): if hub.receiveReady(settling: settling, now) { seen.becomeReady(now) }
    case .fetch(let continuation, let milliseconds, let receiver, let principal, let isBack, let isNear):
      outgoing.fetched(
        continuation, milliseconds: milliseconds, receiver: receiver, of: principal, isBack: isBack, isNear: isNear, now
      )
    case .originFolders(let id, _, let text): incoming.receiveOriginFolders(id, text)
    case .state(let id, _, let channel, let size, let isStale, let why):
      try incoming.receiveState(id, channel: channel, size: size, isStale: isStale, why: why, now)
    case .refused(let id, _, let error): incoming.refused(id, error, now)
    case .outcome(let continuation, let outcome, let error, let receiver):
      outgoing.receiveOutcome(continuation, outcome, error, receiver: receiver, now)
    case .outcomeAck(let id, _): outcomes.acknowledged(id)
    case .deliver(let delivery): incoming.receiveDelivery(delivery, now)
    case .peerLost(let id):
      requests.peerLost(id)
      if !outgoing.peerLost(id, now) { incoming.peerLost(id, now) }
    case .stream(let id, let continuation, let app, let channel, let attachment):
      streams.receive(
        StreamRequest(
          id: id, continuation: continuation, app: app, principal: grants.principal(continuation.id) ?? app,
          crossesLink: channel != 0,
          attachment: attachment, descriptor: descriptor ?? PassedDescriptor(isLost: true)),
        hasDescriptor: descriptor != nil)
    case .streamAnswer(let id, _, let channel, let error):
      streams.receiveAnswer(id, crossesLink: channel != 0, error, now)
    case .streamStatus(let id, let continuation, _, let status): streams.receiveStatus(status, of: id, continuation)
    case .request(let number, let continuation, let app, let milliseconds, let channel, let size):
      try requests.receive(
        number, continuation, by: app, milliseconds: milliseconds, channel: channel, size: size, now)
    case .response(let number, let continuation, _, let channel, let size, let error):
      try requests.receiveResponse(number, continuation, channel: channel, size: size, error)
    case .linkUp(let number, let deviceName): appLinks.receiveUp(number, deviceName: deviceName)
    case .linkDown(let number, let error): appLinks.receiveDown(number, error)
    case .explanation(let request, let list, let appCount):
      explanations.receive(request, list, appCount: appCount, now)
    case .keeps: kept.becomePossible()
    case .accepts, .present, .absent, .keep, .keepAttachment, .failure, .ask, .answer: break
    case .link, .resume, .proceed, .openLink, .hello, .welcome, .publish, .withdraw, .explain, .route, .seek, .follow,
      .unfollow, .list, .listed, .refresh, .account:
      break
    }
  }

  /// Sends messages that waited until their origins may have registered with the new hub, as they may have by `change`.
  func askingOrigins(_ now: Instant, after change: () -> Void) {
    let wasReconciling = seen.list.isReconciling
    change()
    guard wasReconciling, hub.isWelcome else { return }
    streams.askWaiting(now)
    requests.sendWaiting(now)
  }
}
