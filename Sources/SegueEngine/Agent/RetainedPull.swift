// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An activity that a device wants to have retained here, and when it is fetched (R14.5).
struct WantedOffer {
  /// Milliseconds until an activity is fetched again whose offer has not changed; twice as long each time that it was
  /// the same, up to the last.
  static let firstPause: Int64 = 60_000
  static let lastPause: Int64 = 16 * 60_000
  /// The same after a failure.
  static let firstRetry: Int64 = 2_000
  static let lastRetry: Int64 = 5 * 60_000

  /// As its device says it.
  var origin: RetainedOrigin
  /// The uptime from which on it is fetched.
  var at: Int64
  /// The uptime until which it is not fetched again, however often its device says another revision.
  private var restsUntil: Int64 = 0
  private var pause = firstPause
  private var retry = firstRetry

  init(_ origin: RetainedOrigin, at: Int64) { (self.origin, self.at) = (origin, at) }

  /// Its device says it again.
  mutating func take(_ new: RetainedOrigin, _ now: Instant) {
    if new.revision != origin.revision {
      (at, pause, retry) = (max(now.uptime, restsUntil), Self.firstPause, Self.firstRetry)
    }
    origin = new
  }

  mutating func fetched(hasChanged: Bool, _ now: Instant) {
    restsUntil = now.uptime + Self.firstRetry
    pause = hasChanged ? Self.firstPause : min(2 * pause, Self.lastPause)
    (at, retry) = (now.uptime + pause, Self.firstRetry)
  }

  mutating func failed(_ now: Instant) {
    restsUntil = now.uptime + Self.firstRetry
    at = now.uptime + retry
    retry = min(2 * retry, Self.lastRetry)
  }
}

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

  var continuation: Message.Continuation {
    Message.Continuation(id: id, origin: offer.origin, activity: offer.description.id)
  }
  /// The identifier of the activity here.
  var activity: Identifier { offer.description.id }
}
