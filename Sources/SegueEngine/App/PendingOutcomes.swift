import SegueModel
import SegueWire

/// The outcomes of continuations, until their origins acknowledge them: repeated to each hub.
final class PendingOutcomes: AppFeature {
  private struct Pending {
    let continuation: Message.Continuation
    let outcome: Outcome
    let error: SegueError?
    /// The uptime after which the origin no longer needs it.
    let deadline: Int64

    var message: Message { .outcome(continuation, outcome, error, receiver: nil) }
  }

  private let hub: HubConnection
  private var pending: [Pending] = []

  init(_ hub: HubConnection) { self.hub = hub }

  func report(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, by deadline: Int64, _ now: Moment
  ) {
    let outcome = Pending(
      continuation: continuation, outcome: outcome, error: error,
      deadline: max(deadline, now.uptime + HubConnection.reconnectTime))
    pending.append(outcome)
    if hub.isWelcome { hub.sendChecked(outcome.message, now) }
  }

  func acknowledged(_ id: Identifier) { pending.removeAll { $0.continuation.id == id } }

  func connected(_ now: Moment) {
    for outcome in pending { hub.send(outcome.message) }
  }

  func tick(_ now: Moment) { pending.removeAll { $0.deadline <= now.uptime } }

  var nextDeadline: Int64? {
    var next: Int64?
    for index in pending.indices { next = earlier(next, pending[index].deadline) }
    return next
  }

  var leak: StaticString? { pending.isEmpty ? nil : "app: it keeps an outcome" }
}
