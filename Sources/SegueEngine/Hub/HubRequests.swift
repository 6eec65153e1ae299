// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

extension SegueError {
  static var tooManyTransfers: SegueError { SegueError(.limitExceeded, "too many transfers are under way") }
}

/// Requests between the two apps of a continuation (R7.5): this hub knows the route, and forwards the bytes.
final class HubRequests: HubFeature {
  let connections: HubConnections
  private let presence: AgentPresence
  private let transfers: HubTransfers
  private let continuations: HubContinuations

  init(
    _ connections: HubConnections, _ presence: AgentPresence, _ transfers: HubTransfers,
    _ continuations: HubContinuations
  ) {
    self.connections = connections
    self.presence = presence
    self.transfers = transfers
    self.continuations = continuations
  }

  /// A request or a response.
  @inline(never)
  func pass(_ message: Message, from peer: Peer) throws(SegueError) {
    switch message {
    case .request(let number, let continuation, let app, let milliseconds, let channel, let size):
      try request(
        number, continuation, of: peer.app?.id ?? app, milliseconds: milliseconds, channel: channel, size: size,
        from: peer)
    case .response(let number, let continuation, let app, let channel, let size, let error):
      try response(number, continuation, to: app, channel: channel, size: size, error, from: peer)
    default: break
    }
  }

  private func request(
    _ number: UInt64, _ continuation: Message.Continuation, of app: Identifier, milliseconds: Int64,
    channel: FramedConnection.Channel, size: UInt64, from peer: Peer
  ) throws(SegueError) {
    try peer.link.accept(channel)
    @inline(never)
    func refuse(_ error: SegueError) {
      peer.link.reset(channel)
      send(.response(number, continuation, to: app, channel: 0, size: 0, error), to: peer)
    }
    guard continuations.mayUse(continuation.id, app) else { return refuse(HubContinuations.nameIsTaken) }
    // The agent believes this hub who asks, and another hub could name any app.
    guard !(peer.isHub && presence.isAgent(continuation.origin)) else {
      return refuse(SegueError(.declined, "the agent answers apps of its device only"))
    }
    guard let origin = continuations.next(to: continuation.origin, of: continuation, from: peer) else {
      return refuse(SegueError(.connectionUnavailable, "the origin is not connected"))
    }
    guard continuations.expectAnswer(to: continuation, app, from: peer, to: origin, for: milliseconds) else {
      return refuse(.tooManyTransfers)
    }
    guard let outChannel = transfers.relay(from: peer, channel, to: origin, of: peer.principal) else {
      continuations.route(of: continuation.id)?.answered()
      return refuse(.tooManyTransfers)
    }
    send(
      .request(
        number, continuations.named(continuation, for: origin), from: app, milliseconds: milliseconds,
        channel: outChannel, size: size), to: origin)
  }

  private func response(
    _ number: UInt64, _ continuation: Message.Continuation, to app: Identifier, channel: FramedConnection.Channel,
    size: UInt64,
    _ error: SegueError?, from peer: Peer
  ) throws(SegueError) {
    if channel != 0 { try peer.link.accept(channel) }
    // Only the origin may answer.
    guard let route = continuations.route(of: continuation.id), route.originPeer === peer, route.receiver == app,
      let requester = continuations.next(to: app, of: continuation, from: peer)
    else { return peer.link.reset(channel) }
    route.answered()
    var (outChannel, size, error) = (FramedConnection.Channel(0), size, error)
    if channel != 0 {
      if let relayed = transfers.relay(from: peer, channel, to: requester, of: requester.principal) {
        outChannel = relayed
      } else {
        peer.link.reset(channel)
        size = 0
        error = .tooManyTransfers
      }
    }
    send(.response(number, route.continuation, to: app, channel: outChannel, size: size, error), to: requester)
  }
}
