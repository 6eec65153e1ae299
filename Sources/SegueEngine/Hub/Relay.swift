// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A channel of one peer that is forwarded to a channel of another. The sender gets the credit of the receiver, so that
/// at most a window of bytes is here.
final class Relay {
  /// Peers and relay retain each other until the relay ends, with either of them, or the hub ends (`Peer.tearDown`).
  let from: Peer
  let to: Peer
  let channel: FramedConnection.Channel
  let outChannel: FramedConnection.Channel
  /// The principal of the receiver, whichever way the bytes go.
  let principal: Principal
  /// The attachments that have been passed on with it.
  private var attachments = 0

  init(
    from: Peer, channel: FramedConnection.Channel, to: Peer, outChannel: FramedConnection.Channel,
    of principal: Principal
  ) {
    self.principal = principal
    self.from = from
    self.channel = channel
    self.to = to
    self.outChannel = outChannel
  }

  /// - Returns: false if there were too many: this one is not passed on.
  func countAttachment() -> Bool {
    guard attachments < Limits.attachments else { return false }
    attachments += 1
    return true
  }
}
