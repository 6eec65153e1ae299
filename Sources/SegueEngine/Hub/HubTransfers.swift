// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Transfers that the hub forwards: relays, and streams over links. Passes events of channels to their owners.
final class HubTransfers: HubFeature {
  /// The most transfers of a principal, each of which keeps up to a window of bytes here for each direction.
  static let transferLimit = FramedConnection.channelLimit
  /// The most channels that are open to one peer for a principal, and to a peer of the principal itself.
  static let channelLimit = FramedConnection.channelLimit / Principal.share
  static let ownChannelLimit = FramedConnection.channelLimit / 2

  let connections: HubConnections
  /// Streams between apps of this device and others.
  let linkedStreams = LinkedStreams()
  let tally = PrincipalTally()

  init(_ connections: HubConnections) { self.connections = connections }

  /// Whether the hub may open another channel to a peer for a principal.
  func hasRoom(for principal: Principal, to peer: Peer) -> Bool {
    peer.link.openCount < FramedConnection.channelLimit && tally[principal] < Self.transferLimit
      && peer.openCount(for: principal) < (peer.principal == principal ? Self.ownChannelLimit : Self.channelLimit)
  }

  /// Forwards a channel to a new one of the other peer; nil if there are too many.
  /// - Parameter principal: that of the receiver.
  func relay(from: Peer, _ channel: FramedConnection.Channel, to: Peer, of principal: Principal) -> FramedConnection
    .Channel?
  {
    guard hasRoom(for: principal, to: to) else { return nil }
    let relay = Relay(from: from, channel: channel, to: to, outChannel: to.link.open(), of: principal)
    tally.add(principal)
    from.channels.insert(.relay(relay), channel)
    to.channels.insert(.relay(relay), relay.outChannel)
    return relay.outChannel
  }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, from peer: Peer) {
    switch peer.channels[channel] {
    case .relay(let relay):
      // Invariant: the sender's credit came from the receiver.
      relay.to.link.write(bytes, to: relay.outChannel)
      flush(relay.to)
    case .stream(let stream): received(bytes, stream)
    case nil: peer.link.reset(channel)
    }
  }

  /// - Parameter total: the number of bytes at their source, which the last reader compares.
  func receivedEnd(of channel: FramedConnection.Channel, total: UInt64, from peer: Peer) {
    switch peer.channels[channel] {
    case .relay(let relay):
      relay.to.link.finish(relay.outChannel, total: total)
      flush(relay.to)
      remove(relay)
    case .stream(let stream): receivedEnd(stream, total: total)
    case nil: break
    }
  }

  func receivedReset(of channel: FramedConnection.Channel, from peer: Peer) {
    switch peer.channels[channel] {
    case .relay(let relay): end(relay, resetting: peer === relay.to ? relay.from : relay.to)
    case .stream(let stream): receivedReset(stream, channel)
    case nil: break
    }
  }

  func receivedCredit(_ count: Int, for channel: FramedConnection.Channel, from peer: Peer) {
    switch peer.channels[channel] {
    case .stream(let stream): changed(stream)
    case .relay(let relay):
      relay.from.link.grant(count, to: relay.channel)
      flush(relay.from)
      flush(peer)
    case nil: flush(peer)
    }
  }

  /// A peer is gone, and its relays with it.
  func endRelays(of peer: Peer) {
    for relay in peer.channels.relays { end(relay, resetting: relay.from === peer ? relay.to : relay.from) }
  }

  private func end(_ relay: Relay, resetting peer: Peer) {
    peer.link.reset(peer === relay.to ? relay.outChannel : relay.channel)
    flush(peer)
    remove(relay)
  }

  private func remove(_ relay: Relay) {
    relay.from.channels.remove(relay.channel)
    relay.to.channels.remove(relay.outChannel)
    tally.remove(relay.principal)
  }

  var leak: StaticString? {
    if linkedStreams.hasChanged { return "hub: its owner has a stream to look after" }
    return linkedStreams.isEmpty ? nil : "hub: it keeps a stream"
  }
}
