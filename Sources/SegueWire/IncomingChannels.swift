// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The channels of the peer that one end of a link reads.
struct IncomingChannels {
  private var channels: [Incoming] = []
  /// The highest channel that a message of the peer has named: late frames of lower ones may still arrive.
  private var highestAccepted: FramedConnection.Channel = 0
  private let peerParity: FramedConnection.Channel

  private struct Incoming {
    let channel: FramedConnection.Channel
    /// The remaining credit of the peer.
    var credit = FramedConnection.window
    /// Consumed bytes that were not granted again yet.
    var used = 0
    /// The number of received bytes.
    var total: UInt64 = 0
  }

  init(side: ConnectionSide) { peerParity = side == .connecting ? 0 : 1 }

  var isEmpty: Bool { channels.isEmpty }

  private func index(of channel: FramedConnection.Channel) -> Int? { channels.firstIndex { $0.channel == channel } }

  /// Accepts the channel that a message of the peer has named.
  mutating func accept(_ channel: FramedConnection.Channel) throws(SegueError) {
    guard channel != 0, channel & 1 == peerParity, channel > highestAccepted else {
      throw SegueError(.malformed, "link: channel \(channel) cannot be opened")
    }
    guard channels.count < FramedConnection.channelLimit else {
      throw SegueError(.malformed, "link: too many channels")
    }
    highestAccepted = channel
    channels.append(Incoming(channel: channel))
  }

  /// Counts received bytes of a channel.
  /// - Returns: whether the channel is open.
  mutating func receive(_ count: Int, on channel: FramedConnection.Channel) throws(SegueError) -> Bool {
    guard let index = index(of: channel) else { return false }
    guard count <= channels[index].credit else { throw SegueError(.malformed, "link: more bytes than credit") }
    channels[index].credit -= count
    channels[index].total += UInt64(count)
    return true
  }

  /// Counts consumed bytes of a channel.
  /// - Returns: the bytes to grant to the peer again; 0 until there are enough of them.
  mutating func consume(_ count: Int, of channel: FramedConnection.Channel) -> Int {
    guard let index = index(of: channel), count > 0 else { return 0 }
    channels[index].used += count
    let used = channels[index].used
    guard used >= FramedConnection.grantSize else { return 0 }
    channels[index].used = 0
    channels[index].credit += used
    return used
  }

  /// - Returns: the number of its bytes that have arrived; nil if it is not open.
  mutating func remove(_ channel: FramedConnection.Channel) -> UInt64? {
    index(of: channel).map { channels.remove(at: $0).total }
  }

  /// Throws MALFORMED for a channel that never existed. Late frames of an aborted one are fine.
  /// - Parameter next: the next channel that this end opens.
  func checkWasOpen(_ channel: FramedConnection.Channel, next: FramedConnection.Channel) throws(SegueError) {
    // Adds nothing to the peer's highest number, which may be the largest of all.
    let wasOpen = channel & 1 == peerParity ? channel <= highestAccepted : channel < next
    guard channel != 0, wasOpen else { throw SegueError(.malformed, "link: no channel \(channel)") }
  }
}
