// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The first message of a device.
struct PeerGreeting: Sendable {
  let device: Identifier
  /// Its date, in seconds since 1970, and the uptime here at which it came.
  let date, uptime: Int64
  /// The version of rosters that it takes.
  let version: UInt64

  /// The dates of both clocks now if they differ by more than a day; nil otherwise.
  func clocks(at now: Instant) -> (here: Int64, there: Int64)? {
    let passed = max(0, now.uptime - uptime) / 1000
    return ClockAdvice.compared(here: now.seconds, there: date + min(passed, Instant.lastSecond))
  }
}
