// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Programs that are started with a page or a file, as an argument (R12.3, R13.7): nothing is heard of them afterwards,
/// so their entries end before they start.
final class ProgramStarts {
  private let agent: AgentContext
  private let starts: AgentContinuationTable
  private let receipts: AgentReceipts

  init(_ agent: AgentContext, _ starts: AgentContinuationTable, _ receipts: AgentReceipts) {
    self.agent = agent
    self.starts = starts
    self.receipts = receipts
  }

  /// Has the entry end, with the receipt `unknown`, as soon as it is stored and before the program is started: the disk
  /// does one after the other, so no process of the program gets it in between. It is opened once at most.
  func begin(_ shown: AgentContinuation.Shown, at index: Int, _ now: Instant) {
    starts[index].phase = .showing(shown)
    let entry = WaitingEntry(starts[index].id, isStale: starts[index].isStale)
    receipts.endUnopened(entry, of: starts[index], AgentContinuation.unheard(starts[index].app), now)
  }

  /// Ends an entry that was stored, and whose program was not started: an agent has ended in between, or the disk has
  /// refused its end. No process gets it, so it makes room for a new one.
  func end(_ former: WaitingEntry, at index: Int, _ now: Instant) {
    receipts.endUnopened(former, of: starts[index], AgentContinuation.notStarted(starts[index].app), now)
  }

  /// The entry has ended; or it was gone before, or the disk has refused that.
  func decided(_ id: Identifier, _ result: Result<OwedReceipt?, SegueError>, _ now: Instant) {
    guard let index = starts.index(of: id), case .showing(let shown) = starts[index].phase else {
      // One that was left from before.
      if case .success(let owed?) = result { receipts.report(owed, now) }
      return
    }
    let start = starts[index]
    do throws(SegueError) {
      guard try result.get() != nil else { return started(id, AgentContinuation.expired, now) }
      switch shown {
      case .page(let page): agent.owner.show(page, in: start.app, for: id, start.launchNumber)
      case .document(let document): agent.owner.open(document, with: start.app, for: id, start.launchNumber)
      }
    } catch {
      // The entry stays until somebody asks for it again.
      started(
        id, .unknown, SegueError(error.status, "\(error.message); the \(start.app.form.noun) is not opened"), now)
    }
  }

  /// The program was started, or could not be.
  func started(_ id: Identifier, _ error: SegueError?, _ now: Instant) {
    started(id, error == nil ? .unknown : .failed, error, now)
  }

  private func started(_ id: Identifier, _ outcome: Outcome, _ error: SegueError?, _ now: Instant) {
    guard let index = starts.index(of: id), case .showing = starts[index].phase else { return }
    let start = starts[index]
    let unheard = AgentContinuation.unheard(start.app)
    // Its origin does not learn which files this device has.
    let told = start.app.form == .document ? error.map { SegueError($0.status, "the file was not opened") } : error
    receipts.report(
      start.continuation, outcome, told ?? unheard, by: now.uptime + agent.limits.continuation,
      receipts.receiver(start.app), now)
    starts.end(at: index, error.map { .failure($0) } ?? .success((.unknown, unheard)))
  }
}
