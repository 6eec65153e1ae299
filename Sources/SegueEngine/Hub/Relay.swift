import SegueModel
import SegueWire

/// A channel of one peer that is forwarded to a channel of another. The sender gets the credit of the receiver, so that
/// at most a window of bytes is here.
final class Relay {
  /// Both peers outlive it: it ends when either ends.
  unowned(unsafe) let from: Peer
  unowned(unsafe) let to: Peer
  let channel: Link.Channel
  let outChannel: Link.Channel

  fileprivate init(from: Peer, channel: Link.Channel, to: Peer, outChannel: Link.Channel) {
    self.from = from
    self.channel = channel
    self.to = to
    self.outChannel = outChannel
  }
}

/// Passes events of channels to the owners of the channels.
extension HubEngine {
  /// The most channels from one app to one other.
  static let relaysOfPairLimit = Link.channelLimit / 2

  /// Forwards a channel to a new one of the other peer; nil if that has too many.
  func relay(from: Peer, _ channel: Link.Channel, to: Peer) -> Link.Channel? {
    guard to.link.openCount < Link.channelLimit, to.channels.relays.count < Link.channelLimit,
      from.isHub || from.channels.relays.count(where: { $0.from === from && $0.to === to }) < Self.relaysOfPairLimit
    else { return nil }
    let relay = Relay(from: from, channel: channel, to: to, outChannel: to.link.open())
    from.channels.insert(.relay(relay), channel)
    to.channels.insert(.relay(relay), relay.outChannel)
    return relay.outChannel
  }

  func received(_ bytes: ArraySlice<UInt8>, on channel: Link.Channel, from peer: Peer) {
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
  func receivedEnd(of channel: Link.Channel, total: UInt64, from peer: Peer) {
    switch peer.channels[channel] {
    case .relay(let relay):
      relay.to.link.finish(relay.outChannel, total: total)
      flush(relay.to)
      remove(relay)
    case .stream(let stream): receivedEnd(stream, total: total)
    case nil: break
    }
  }

  func receivedReset(of channel: Link.Channel, from peer: Peer) {
    switch peer.channels[channel] {
    case .relay(let relay): end(relay, resetting: peer === relay.to ? relay.from : relay.to)
    case .stream(let stream): receivedReset(stream, channel)
    case nil: break
    }
  }

  func receivedCredit(_ count: Int, for channel: Link.Channel, from peer: Peer) {
    switch peer.channels[channel] {
    case .stream(let stream): changed(stream)
    case .relay(let relay):
      relay.from.link.grant(count, to: relay.channel)
      flush(relay.from)
      flush(peer)
    case nil: flush(peer)
    }
  }

  func end(_ relay: Relay, resetting peer: Peer) {
    peer.link.reset(peer === relay.to ? relay.outChannel : relay.channel)
    flush(peer)
    remove(relay)
  }

  private func remove(_ relay: Relay) {
    relay.from.channels.remove(relay.channel)
    relay.to.channels.remove(relay.outChannel)
  }
}
