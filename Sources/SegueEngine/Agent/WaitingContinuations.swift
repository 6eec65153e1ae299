// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Continuations whose entries are in the inbox, and wait for their apps: from the launch to the answer of the app, or
/// to the receipt without one.
final class WaitingContinuations {
  private let agent: AgentContext
  private let deliveries: InboxDeliveries
  private let starts: AgentContinuationTable
  private let receipts: AgentReceipts

  init(
    _ agent: AgentContext, _ deliveries: InboxDeliveries, _ starts: AgentContinuationTable, _ receipts: AgentReceipts
  ) {
    self.agent = agent
    self.deliveries = deliveries
    self.starts = starts
    self.receipts = receipts
  }

  // MARK: The launch

  /// The entry is in the inbox.
  func begin(at index: Int, _ now: Instant) {
    starts[index].phase = .kept
    let start = starts[index]
    let isOpen = deliveries.deliver(
      start.id, to: start.app.bundleIdentifier, activationToken: start.activationToken, now)
    if !isOpen { agent.owner.launch(start.app, for: start.id, start.launchNumber) }
  }

  /// Delivers an entry that is in the inbox, also again, or starts its app.
  func deliver(_ start: AgentContinuation, _ now: Instant) {
    let wasOpen = deliveries.deliverAgain(
      start.id, to: start.app.bundleIdentifier, activationToken: start.activationToken, now)
    if !wasOpen { agent.owner.launch(start.app, for: start.id, start.launchNumber) }
  }

  /// The program of the app runs, or could not be started: the entry stays.
  func launched(_ id: Identifier, _ error: SegueError?, _ now: Instant) {
    guard let error else { return }
    agent.app.log(.error, "\(error.message); what it was to continue waits in the inbox")
    deliveries.launchFailed(for: id)
    guard let index = starts.index(of: id) else { return }
    starts.answer(at: index, .failure(SegueError(error.status, "\(error.message); the activity waits in the inbox")))
  }

  // MARK: The end

  /// The user has forgotten the entry.
  func removed(_ id: Identifier, _ now: Instant) {
    guard let index = starts.index(of: id), case .kept = starts[index].phase else { return }
    gone(at: index, .declined, SegueError(.userCancelled, "the user has removed it from the inbox"), now)
  }

  /// The entry is not in the inbox any longer, and nobody has answered it.
  func gone(at index: Int, _ outcome: Outcome, _ error: SegueError, _ now: Instant) {
    let id = starts[index].id
    deliveries.removed(id)
    // An app that has it may restore it all the same.
    let outcome = deliveries.isDelivering(id) ? .unknown : outcome
    starts.answer(at: index, .success((outcome, error)))
    // The owner may have called back.
    if let index = starts.index(of: id), starts[index].decision == nil { decide(outcome, error, at: index, now) }
  }

  /// The app has answered, and that is on the disk. Only the first receipt of a continuation goes to the origin.
  func acknowledged(_ owed: OwedReceipt, _ now: Instant) {
    receipts.report(owed, now)
    if let index = starts.index(of: owed.receipt.continuation) { starts.end(at: index, owed.receipt) }
  }

  /// The app has answered, and the origin has had another receipt before.
  func acknowledged(late receipt: Receipt) {
    guard let index = starts.index(of: receipt.continuation), case .kept = starts[index].phase,
      Text.isSame(starts[index].app.bundleIdentifier, receipt.receiver.bundleIdentifier)
    else { return }
    starts.end(at: index, receipt)
  }

  /// The receipt `unknown` is on the disk, or there was another before.
  func decided(_ id: Identifier, _ result: Result<Bool, SegueError>, _ now: Instant) {
    guard let index = starts.index(of: id) else { return }
    let start = starts[index]
    let decision = start.decision ?? (.unknown, AgentContinuation.late)
    // Without a disk the origin gets it all the same: it counts no second one.
    if (try? result.get()) ?? true {
      receipts.report(
        start.continuation, decision.outcome, decision.error, by: start.deadline, receipts.receiver(start.app), now)
    }
    guard start.requesters.isEmpty else {
      // These wait longer for the app.
      starts[index].decision = nil
      starts[index].deadline = start.requesters.reduce(0) { max($0, $1.deadline) }
      return
    }
    starts.end(at: index, .success(decision))
  }

  /// The app has got it, and has failed to restore it. The entry is delivered again, so the outcome is unknown.
  func failed(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    guard let index = starts.index(of: id), case .kept = starts[index].phase, starts[index].decision == nil else {
      return
    }
    let error = SegueError(error.status, "\(error.message); the activity waits for the app")
    starts.answer(at: index, .success((.unknown, error)))
    if let index = starts.index(of: id) { decide(.unknown, error, at: index, now) }
  }

  /// Decides the receipt without an answer of the app: it has not answered by the deadline, or has failed, or the entry
  /// has gone. The disk may take longer than the requesters wait.
  func decide(_ outcome: Outcome, _ error: SegueError, at index: Int, _ now: Instant) {
    let start = starts[index]
    starts[index].decision = (outcome, error)
    receipts.decide(start, outcome, error, now)
  }
}
