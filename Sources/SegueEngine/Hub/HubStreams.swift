// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A task of the engine's owner about a descriptor.
public enum DescriptorTransfer {
  /// It arrived for a link, with another hub at its other end: answer with `connectedHub` or `refuse`.
  case link(LinkRequest, PassedDescriptor)
  /// It arrived as the hub's end of a stream over a link.
  case outgoing(LinkedStream, PassedDescriptor)
  /// A stream arrived over a link: make two ends, keep one, and answer with the other (`connect`) or with `failed`.
  case incoming(LinkedStream)
}

extension SegueError {
  static var noDescriptor: SegueError { SegueError(.malformed, "no descriptor came with the message") }
  static var lostDescriptor: SegueError {
    SegueError(.limitExceeded, "the process that carries the hub may open no more descriptors")
  }
}

/// Requests for streams that an app has not answered. Each holds a descriptor.
final class UnansweredStreams {
  /// The limit for one app, and for the requests of one principal to it.
  static let limit = 256
  static let limitOfRequester = limit / Principal.share
  private var streams: [(id: Identifier, requester: Principal)] = []

  var count: Int { streams.count }
  var isEmpty: Bool { streams.isEmpty }

  func hasRoom(for requester: Principal) -> Bool {
    streams.count < Self.limit
      && streams.count(where: { $0.requester == requester }) < Self.limitOfRequester
  }

  func append(_ id: Identifier, by requester: Principal) { streams.append((id, requester)) }
  func remove(_ id: Identifier) { streams.removeAll { $0.id == id } }
}

/// Streams between apps: the hub forwards their requests, answers and statuses.
final class HubStreams: HubFeature {
  /// Milliseconds for the origin to answer a request for a stream.
  static let answerTime: Int64 = 60_000

  let connections: HubConnections
  private let transfers: HubTransfers
  private let continuations: HubContinuations

  init(_ connections: HubConnections, _ transfers: HubTransfers, _ continuations: HubContinuations) {
    self.connections = connections
    self.transfers = transfers
    self.continuations = continuations
  }

  /// - Parameter channel: the channel on which it arrives from another hub.
  /// - Parameter descriptor: the end for the origin, from an app of this device.
  func stream(
    _ id: Identifier, _ continuation: Message.Continuation, of app: Identifier, _ attachment: Message.AttachmentPart?,
    channel: FramedConnection.Channel = 0, _ descriptor: PassedDescriptor? = nil, from peer: Peer
  ) {
    @inline(never)
    func refuse(_ error: SegueError) {
      if peer.isHub { peer.link.reset(channel) }
      send(.streamAnswer(id, continuation, channel: 0, error), to: peer)
    }
    if !peer.isHub {
      guard let descriptor else { return refuse(.noDescriptor) }
      if descriptor.isLost { return refuse(.lostDescriptor) }
    }
    guard continuations.mayUse(continuation.id, app) else { return refuse(HubContinuations.nameIsTaken) }
    guard let origin = continuations.next(to: continuation.origin, of: continuation, from: peer) else {
      return refuse(SegueError(.connectionUnavailable, "the origin is not connected"))
    }
    guard origin.appSession?.unanswered.hasRoom(for: peer.principal) ?? true else {
      return refuse(
        SegueError(.remoteApplicationTimedOut, "the origin has too many streams to answer"))
    }
    guard continuations.expectAnswer(to: continuation, app, from: peer, to: origin, for: Self.answerTime) else {
      return refuse(.tooManyTransfers)
    }
    @inline(never)
    func refuseExpected() {
      continuations.route(of: continuation.id)?.answered()
      refuse(.tooManyTransfers)
    }
    // For an app: whether it is over a link.
    var outChannel: FramedConnection.Channel = peer.isHub ? 1 : 0
    if peer.isHub, origin.isHub {
      guard let relayed = transfers.relay(from: peer, channel, to: origin, of: peer.principal) else {
        return refuseExpected()
      }
      outChannel = relayed
    } else if peer.isHub {
      guard
        let stream = transfers.open(
          id, continuation, app: continuation.origin, isRequester: false, far: peer, of: peer.principal)
      else {
        return refuseExpected()
      }
      stream.openIncoming(channel)
      stream.ask(.stream(id, continuation, from: app, channel: outChannel, attachment: attachment))
      connections.outbox.transfer(.incoming(stream))
    } else if let descriptor, origin.isHub {
      guard let stream = transfers.open(id, continuation, app: app, isRequester: true, far: origin, of: peer.principal)
      else {
        return refuseExpected()
      }
      outChannel = origin.link.open()
      stream.openOutgoing(outChannel)
      connections.outbox.transfer(.outgoing(stream, descriptor))
    }
    origin.appSession?.unanswered.append(id, by: peer.principal)
    // The app gets the request once its end exists.
    guard origin.isHub || !peer.isHub else { return }
    let named = continuations.named(continuation, for: origin)
    send(
      .stream(id, named, from: app, channel: outChannel, attachment: attachment), to: origin,
      with: origin.isHub ? nil : descriptor)
  }

  /// Gives the app of a stream over a link its end.
  func connect(_ stream: LinkedStream, _ descriptor: PassedDescriptor) {
    guard !stream.isLost, let app = peers[app: stream.app], let request = stream.takeRequest() else { return }
    send(request, to: app, with: descriptor)
  }

  /// The origin has answered.
  func streamAnswer(
    _ id: Identifier, _ continuation: Message.Continuation, _ error: SegueError?, from peer: Peer, _ app: AppIdentity
  ) {
    peer.appSession?.unanswered.remove(id)
    guard let route = continuations.route(of: continuation.id), route.originPeer === peer else { return }
    route.answered()
    var channel: FramedConnection.Channel = 0
    if route.receiverPeer.isHub {
      guard let stream = transfers.stream(id), stream.app == app.id, !stream.isRequester, stream.outgoing == .unopened
      else {
        return
      }
      guard error == nil, stream.far.link.openCount < FramedConnection.channelLimit else {
        transfers.abort(stream)
        let error = error ?? .tooManyTransfers
        return send(.streamAnswer(id, continuation, channel: 0, error), to: stream.far)
      }
      channel = stream.far.link.open()
      stream.openOutgoing(channel)
      transfers.changed(stream)
    }
    send(.streamAnswer(id, continuation, channel: channel, error), to: route.receiverPeer)
  }

  /// An answer that arrives through another hub.
  func streamAnswer(
    _ id: Identifier, _ continuation: Message.Continuation, channel: FramedConnection.Channel, _ error: SegueError?,
    fromHub peer: Peer
  ) {
    if let route = continuations.route(of: continuation.id), route.originPeer === peer { route.answered() }
    if let stream = transfers.stream(id), stream.far === peer, stream.isRequester, stream.incoming == .unopened {
      guard error == nil, channel != 0 else {
        peer.link.reset(channel)
        return transfers.fail(stream, error ?? SegueError(.malformed, "the other hub names no channel"))
      }
      stream.openIncoming(channel)
      if let app = peers[app: stream.app] { send(.streamAnswer(id, continuation, channel: 1, nil), to: app) }
      return transfers.changed(stream)
    }
    guard let route = continuations.route(of: continuation.id), let origin = route.originPeer, route.leads(to: peer)
    else {
      return peer.link.reset(channel)
    }
    let isFromOrigin = origin === peer
    let next = isFromOrigin ? route.receiverPeer : origin
    var (outChannel, error) = (FramedConnection.Channel(0), error)
    if error == nil {
      guard isFromOrigin, next.isHub, channel != 0 else { return peer.link.reset(channel) }
      if let relayed = transfers.relay(from: peer, channel, to: next, of: next.principal) {
        outChannel = relayed
      } else {
        error = .tooManyTransfers
      }
    }
    if error != nil { peer.link.reset(channel) }
    send(.streamAnswer(id, continuation, channel: outChannel, error), to: next)
  }

  func streamStatus(
    _ id: Identifier, _ continuation: Message.Continuation, to app: Identifier, _ status: StreamStatus?, from peer: Peer
  ) {
    if let next = continuations.next(to: app, of: continuation, from: peer) {
      // Bytes sent before may still be on their way.
      if let status, let stream = transfers.stream(id), stream.app == app, stream.keep(status) { return }
      send(.streamStatus(id, continuations.named(continuation, for: next), to: app, status), to: next)
    } else if status == nil, connections.gracePeriodEnd <= now.uptime || peers.hasDeparted(app) {
      guard let requester = peer.app else {
        let error = SegueError(.connectionUnavailable, "the other app has ended")
        return send(.streamAnswer(id, continuation, channel: 0, error), to: peer)
      }
      send(.streamStatus(id, continuation, to: requester.id, .broken), to: peer)
    }
  }
}
