// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueWire

/// The owner of a channel at the hub.
enum ChannelOwner {
  case relay(Relay)
  case stream(LinkedStream)

  var principal: Principal {
    switch self {
    case .relay(let relay): relay.principal
    case .stream(let stream): stream.principal
    }
  }

  /// Whether the hub has opened that channel to that peer.
  func isOpened(_ channel: FramedConnection.Channel, to peer: Peer) -> Bool {
    switch self {
    case .relay(let relay): relay.to === peer && relay.outChannel == channel
    case .stream(let stream): stream.outgoing == .open(channel)
    }
  }
}

extension Peer {
  /// The channels that the hub has opened to it for a principal.
  func openCount(for principal: Principal) -> Int {
    channels.count { $1.principal == principal && $1.isOpened($0, to: self) }
  }
}

/// The channels of a link and their owners. Invariant: each has one owner.
final class ChannelTable {
  /// Ordered ascending.
  private var entries: [(channel: FramedConnection.Channel, owner: ChannelOwner)] = []

  var isEmpty: Bool { entries.isEmpty }

  subscript(channel: FramedConnection.Channel) -> ChannelOwner? {
    let place = place(of: channel)
    return place < entries.count && entries[place].channel == channel ? entries[place].owner : nil
  }

  func insert(_ owner: ChannelOwner, _ channel: FramedConnection.Channel) {
    entries.insert((channel, owner), at: place(of: channel))
  }

  func remove(_ channel: FramedConnection.Channel) {
    let place = place(of: channel)
    if place < entries.count, entries[place].channel == channel { entries.remove(at: place) }
  }

  /// The index of the first entry that is not below `channel`.
  private func place(of channel: FramedConnection.Channel) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].channel < channel { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Breaks reference cycles when the hub ends.
  func tearDown() { entries = [] }

  func count(where isCounted: (FramedConnection.Channel, ChannelOwner) -> Bool) -> Int {
    entries.count { isCounted($0.channel, $0.owner) }
  }

  var relays: [Relay] { entries.compactMap { if case .relay(let relay) = $0.owner { relay } else { nil } } }
}
