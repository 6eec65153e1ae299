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
  /// That of the receiver, whichever way the bytes go.
  let account: Account

  fileprivate init(from: Peer, channel: Link.Channel, to: Peer, outChannel: Link.Channel, of account: Account) {
    self.account = account
    self.from = from
    self.channel = channel
    self.to = to
    self.outChannel = outChannel
  }
}

/// Passes events of channels to the owners of the channels.
extension HubEngine {
  /// The most transfers of an account, each of which keeps up to a window of bytes here for each direction.
  static let transferLimit = Link.channelLimit
  /// The most channels that are open to one peer for an account, and to a peer of the account itself.
  static let channelLimit = Link.channelLimit / Account.share
  static let ownChannelLimit = Link.channelLimit / 2

  /// Whether the hub may open another channel to a peer for an account.
  func hasRoom(for account: Account, to peer: Peer) -> Bool {
    peer.link.openCount < Link.channelLimit && transfers[account] < Self.transferLimit
      && peer.openCount(for: account) < (peer.account == account ? Self.ownChannelLimit : Self.channelLimit)
  }

  /// Forwards a channel to a new one of the other peer; nil if there are too many.
  /// - Parameter account: that of the receiver.
  func relay(from: Peer, _ channel: Link.Channel, to: Peer, of account: Account) -> Link.Channel? {
    guard hasRoom(for: account, to: to) else { return nil }
    let relay = Relay(from: from, channel: channel, to: to, outChannel: to.link.open(), of: account)
    transfers.add(account)
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
    transfers.remove(relay.account)
  }
}
