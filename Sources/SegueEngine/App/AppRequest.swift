// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A request in progress: one of this app to an origin, or one of a receiver to this app (R7.5).
final class AppRequest {
  enum Phase {
    /// Not sent to any hub yet.
    case unsent
    /// The bytes of the request, or of the answer, go out on this channel; `sent` of them have gone.
    case sending(FramedConnection.Channel, sent: Int)
    /// The origin has it.
    case asked
    /// The bytes of the request, or of the answer, arrive on this channel; `size` of them were announced.
    case receiving(FramedConnection.Channel, size: Int)
  }

  /// The number of this app.
  let number: UInt64
  /// The number of the receiver.
  let requestersNumber: UInt64
  let continuation: Message.Continuation
  /// The other app.
  let other: Identifier
  /// The principal that is charged for the request.
  let principal: Identifier
  let isOurs: Bool
  /// Whether this app asks the agent itself.
  let isForAgent: Bool
  /// The uptime after which the answer is of no use.
  let deadline: Int64
  var phase: Phase
  /// The announced bytes of another app's request.
  let size: Int
  /// The uptime at which another app's request last made progress.
  var movedAt: Int64
  /// The bytes to send, or received so far.
  var bytes: [UInt8]

  init(
    number: UInt64, requestersNumber: UInt64, _ continuation: Message.Continuation, other: Identifier,
    of principal: Identifier, isOurs: Bool, isForAgent: Bool = false, deadline: Int64, _ phase: Phase,
    _ bytes: [UInt8] = [], size: Int = 0, movedAt: Int64 = 0
  ) {
    self.isForAgent = isForAgent
    self.number = number
    self.requestersNumber = requestersNumber
    self.continuation = continuation
    self.other = other
    self.principal = principal
    self.isOurs = isOurs
    self.deadline = deadline
    self.phase = phase
    self.bytes = bytes
    self.size = size
    self.movedAt = movedAt
  }

  /// Its open channel.
  var channel: FramedConnection.Channel? {
    switch phase {
    case .sending(let channel, _), .receiving(let channel, _): channel
    case .unsent, .asked: nil
    }
  }

  /// Whether its deadline ends it. A request at the host counts until it is answered: so the host never has more of
  /// them than the limit, however short the deadlines are.
  var isTimed: Bool {
    if case .asked = phase { isOurs } else { true }
  }
}
