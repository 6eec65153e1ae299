// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Failures of which no function of the host was told: an agent keeps them for `segue doctor` (R3.13).
final class UnheardFailures: AppFeature {
  private let hub: HubConnection
  /// Those that no agent has got, with their uptimes, the oldest first.
  private var waiting: [(type: String, error: SegueError, failedAt: Int64)] = []

  init(_ hub: HubConnection) { self.hub = hub }

  /// Adds a failure. One that waits already takes its time. If there are too many, the type with the most of them loses
  /// its oldest.
  func add(_ type: String, _ error: SegueError, _ now: Instant) {
    waiting.removeAll { Text.isSame($0.type, type) && $0.error == error }
    waiting.append((type, error, now.uptime))
    waiting.shorten(to: UnheardFailure.limit) { Text.isSame($0.type, $1.type) }
    send(now)
  }

  private func send(_ now: Instant) {
    guard hub.isWelcome, hub.agent != nil else { return }
    for failure in waiting {
      hub.send(.failure(type: failure.type, failure.error, age: now.uptime - failure.failedAt))
    }
    waiting = []
  }

  func connected(_ now: Instant) { send(now) }
}
