// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A continuation of which the agent is the receiver, because it retains the activity.
struct RetainedPull {
  enum Phase {
    case fetching
    /// Some of its attachments are fetched, as many as there is room for.
    case collecting(KeptRecord, count: Int)
    /// The disk has it.
    case storing(KeptRecord)
  }

  let id: Identifier
  let origin: RetainedOrigin
  /// The origin's, as it was when the fetch began.
  let offer: Offer
  let team: String
  /// The uptime at which it is given up.
  let deadline: Int64
  /// The bytes that it is about to need, first as its origin says.
  var bytes: UInt64
  var phase = Phase.fetching
  var isStale = false
  /// The reason why some of its attachments are not retained.
  var problem: SegueError?
  /// Set at the end: whether anything has changed since it was retained last; or why it is not retained.
  var end: Result<Bool, SegueError>?

  var continuation: Message.Continuation {
    Message.Continuation(id: id, origin: offer.origin, activity: offer.description.id)
  }
  /// The identifier of the activity here.
  var activity: Identifier { origin.identifier }
}
