// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The outcomes of continuations, until their origins acknowledge them: repeated to each hub.
final class PendingOutcomes: AppFeature {
  private struct Pending {
    let continuation: Message.Continuation
    let outcome: Outcome
    let error: SegueError?
    /// The uptime after which the origin no longer needs it; nil if it needs it whenever it comes.
    let deadline: Int64?
    /// The app in whose place the agent took part; nil for an app's own.
    let receiver: Receiver?

    var message: Message { .outcome(continuation, outcome, error, receiver: receiver) }
  }

  private let hub: HubConnection
  private var pending: [Pending] = []

  init(_ hub: HubConnection) { self.hub = hub }

  /// - Parameter deadline: the uptime after which the origin no longer needs it; nil if it needs it whenever it comes.
  /// - Parameter now: nil if a silent hub need not be noticed by this.
  func report(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, by deadline: Int64?,
    receiver: Receiver? = nil, _ now: Instant?
  ) {
    let least = (now?.uptime ?? 0) + HubConnection.reconnectTime
    let outcome = Pending(
      continuation: continuation, outcome: outcome, error: error, deadline: deadline.map { max($0, least) },
      receiver: receiver)
    pending.append(outcome)
    guard hub.isWelcome else { return }
    if let now { hub.sendChecked(outcome.message, now) } else { hub.send(outcome.message) }
  }

  /// The hub acknowledges an outcome, also if its origin is gone. An outcome for the agent then stays until an agent
  /// carries the hub (R3.8).
  /// - Returns: whether there was one.
  @discardableResult
  func acknowledged(_ id: Identifier) -> Bool {
    let count = pending.count
    let hasAgent = hub.agent != nil
    pending.removeAll { $0.continuation.id == id && ($0.deadline != nil || hasAgent) }
    return pending.count < count
  }

  /// Sends an outcome again that is not acknowledged.
  /// - Returns: false if there is none of this continuation.
  func repeats(_ id: Identifier, _ now: Instant) -> Bool {
    guard let outcome = pending.first(where: { $0.continuation.id == id }) else { return false }
    if hub.isWelcome { hub.sendChecked(outcome.message, now) }
    return true
  }

  func connected(_ now: Instant) {
    for outcome in pending { hub.send(outcome.message) }
  }

  func tick(_ now: Instant) { pending.removeAll { $0.deadline.map { $0 <= now.uptime } ?? false } }

  var nextDeadline: Int64? {
    var next: Int64?
    for index in pending.indices { next = earlier(next, pending[index].deadline) }
    return next
  }

  var leak: StaticString? { pending.isEmpty ? nil : "app: it keeps an outcome" }
}
