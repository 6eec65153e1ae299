import SegueModel
import SegueWire

/// A channel of one peer that goes on as a channel of another. What the receiver takes is what the sender may send, so
/// that no more than a window of bytes is ever here.
final class Relay {
  /// Both outlive it: it ends when either goes.
  unowned(unsafe) let from: Peer
  unowned(unsafe) let to: Peer
  let channel: Link.Channel
  let outChannel: Link.Channel

  init(from: Peer, channel: Link.Channel, to: Peer, outChannel: Link.Channel) {
    self.from = from
    self.channel = channel
    self.to = to
    self.outChannel = outChannel
  }
}

extension HubEngine {
  /// Channels of one app that may go on to one other.
  static let relaysOfPairLimit = Link.channelLimit / 2

  /// Passes a channel on, as a new one of the other peer; nil: that has too many.
  func relay(from: Peer, _ channel: Link.Channel, to: Peer) -> Link.Channel? {
    guard to.relays.count < Link.channelLimit, to.link.openCount < Link.channelLimit,
      from.isHub || from.relays.count(where: { $0.from === from && $0.to === to }) < Self.relaysOfPairLimit
    else { return nil }
    let relay = Relay(from: from, channel: channel, to: to, outChannel: to.link.open())
    from.relays.append(relay)
    to.relays.append(relay)
    return relay.outChannel
  }

  func relay(_ bytes: ArraySlice<UInt8>, from peer: Peer, _ channel: Link.Channel) {
    guard let relay = relay(from: peer, channel) else { return peer.link.reset(channel) }
    // The sender had this much credit because the receiver gave it.
    relay.to.link.write(bytes, to: relay.outChannel)
    flush(relay.to)
  }

  /// - Parameter total: of the bytes at their source: whoever gets the last of them compares.
  func relayEnd(from peer: Peer, _ channel: Link.Channel, total: UInt64) {
    guard let relay = relay(from: peer, channel) else { return }
    relay.to.link.finish(relay.outChannel, total: total)
    flush(relay.to)
    remove(relay)
  }

  func relayReset(from peer: Peer, _ channel: Link.Channel) {
    if let relay = relay(from: peer, channel) {
      end(relay, resetting: relay.to)
    } else if let relay = peer.relays.first(where: { $0.to === peer && $0.outChannel == channel }) {
      end(relay, resetting: relay.from)
    }
  }

  func relayRoom(_ count: Int, from peer: Peer, _ outChannel: Link.Channel) {
    guard let relay = peer.relays.first(where: { $0.to === peer && $0.outChannel == outChannel }) else {
      return flush(peer)
    }
    relay.from.link.grant(count, to: relay.channel)
    flush(relay.from)
    flush(peer)
  }

  func end(_ relay: Relay, resetting peer: Peer) {
    peer.link.reset(peer === relay.to ? relay.outChannel : relay.channel)
    flush(peer)
    remove(relay)
  }

  private func relay(from peer: Peer, _ channel: Link.Channel) -> Relay? {
    peer.relays.first { $0.from === peer && $0.channel == channel }
  }

  private func remove(_ relay: Relay) {
    relay.from.relays.removeAll { $0 === relay }
    relay.to.relays.removeAll { $0 === relay }
  }
}
