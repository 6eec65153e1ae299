import SegueModel
import SegueWire

/// Failures of which no function of the host was told: the hub of an agent keeps them for `segue doctor` (R3.13).
final class UnheardFailures: AppFeature {
  private let hub: HubConnection
  /// Those that no hub has got, the oldest first.
  private var waiting: [(type: String, error: SegueError)] = []

  init(_ hub: HubConnection) { self.hub = hub }

  func add(_ type: String, _ error: SegueError) {
    if waiting.count == UnheardFailure.limit { waiting.removeFirst() }
    waiting.append((type, error))
    send()
  }

  private func send() {
    guard hub.isWelcome, hub.agent != nil else { return }
    for failure in waiting { hub.send(.failure(type: failure.type, failure.error)) }
    waiting = []
  }

  func connected(_ now: Instant) { send() }
}
