import SegueModel
import SegueWire

/// Failures of which no function of the host was told: an agent keeps them for `segue doctor` (R3.13).
final class UnheardFailures: AppFeature {
  private let hub: HubConnection
  /// Those that no hub has got, with their uptimes, the oldest first.
  private var waiting: [(type: String, error: SegueError, failedAt: Int64)] = []

  init(_ hub: HubConnection) { self.hub = hub }

  func add(_ type: String, _ error: SegueError, _ now: Instant) {
    if waiting.count == UnheardFailure.limit { waiting.removeFirst() }
    waiting.append((type, error, now.uptime))
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
