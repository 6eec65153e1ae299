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
