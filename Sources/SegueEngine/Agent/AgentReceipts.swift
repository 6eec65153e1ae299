// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The receipts of what the agent continues for apps that do not run. The disk decides which one an origin gets: only
/// the first one of a continuation.
final class AgentReceipts {
  private let agent: AgentContext
  private let outcomes: PendingOutcomes

  init(_ agent: AgentContext, _ outcomes: PendingOutcomes) {
    self.agent = agent
    self.outcomes = outcomes
  }

  /// The agent as the receiver, on behalf of an app.
  func receiver(_ app: ChosenApp) -> Receiver {
    Receiver(
      id: agent.app.identity.id, deviceName: "", appName: app.name, bundleIdentifier: app.bundleIdentifier)
  }

  /// Has the disk decide a receipt without an answer of the app.
  func decide(_ start: AgentContinuation, _ outcome: Outcome, _ error: SegueError, _ now: Instant) {
    agent.owner.perform(
      .decide(
        Receipt(
          continuation: start.id, receiver: receiver(start.app), outcome: outcome, status: error.status,
          reason: InboxDeliveries.bounded(error.message), isStale: start.isStale, date: now.date)))
  }

  /// Has an entry end that no process of an app gets.
  func endUnopened(_ entry: WaitingEntry, of start: AgentContinuation, _ error: SegueError, _ now: Instant) {
    let receipt = Receipt(
      continuation: entry.continuation, receiver: receiver(start.app), outcome: .unknown, status: error.status,
      reason: InboxDeliveries.bounded(error.message), isStale: entry.isStale, date: now.date)
    agent.owner.perform(.acknowledge(entry.continuation, app: agent.app.identity.id, wasSent: true, receipt))
  }

  /// Sends a receipt that was decided.
  func report(_ owed: OwedReceipt, _ now: Instant) {
    let receipt = owed.receipt
    let continuation = Message.Continuation(id: receipt.continuation, origin: owed.origin, activity: owed.activity)
    let error = receipt.outcome == .restored ? nil : SegueError(receipt.status, DiagnosticText(of: receipt.reason))
    report(
      continuation, receipt.outcome, error, by: now.uptime + agent.limits.continuation, receipt.receiver, now)
  }

  func report(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, by deadline: Int64,
    _ receiver: Receiver, _ now: Instant
  ) {
    // No origin waits for the receipt of a saved activity (R8.3).
    guard continuation.origin != agent.app.identity.id else { return agent.owner.perform(.confirm(continuation.id)) }
    outcomes.report(continuation, outcome, error, by: deadline, receiver: receiver, now)
  }
}
