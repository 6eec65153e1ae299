// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The continuations of an agent that have not ended, with the quotas of those that ask for them, who get their answers
/// from here.
final class AgentContinuationTable {
  /// The most requesters at a time, of one principal a quarter; and of one origin for one principal, a quarter of what
  /// an origin accepts of the agent.
  static let limit = 32
  static let principalLimit = limit / Principal.share
  static let originLimit = OutgoingContinuations.receiverLimit / Principal.share
  /// The most bytes of their documents.
  private static let bytesLimit = 64 * 1024 * 1024

  typealias Ending = Result<(outcome: Outcome, error: SegueError?), SegueError>

  private let agent: AgentContext
  private var all: [AgentContinuation] = []

  init(_ agent: AgentContext) { self.agent = agent }

  subscript(index: Int) -> AgentContinuation {
    get { all[index] }
    _modify { yield &all[index] }
  }

  var isEmpty: Bool { all.isEmpty }
  func index(of id: Identifier) -> Int? { all.firstIndex { $0.id == id } }
  func index(of offer: Offer, in app: ChosenApp) -> Int? { all.firstIndex { $0.isOf(offer, in: app) } }
  func index(asking number: UInt64) -> Int? { all.firstIndex { $0.has(number) } }

  func add(_ start: AgentContinuation) { all.append(start) }

  // MARK: Quotas

  /// The bytes that further documents may have.
  var room: Int { Self.bytesLimit - all.reduce(0) { $0 + $1.size } }

  /// Throws LIMIT_EXCEEDED if no other requester may come.
  func checkRoom() throws(SegueError) {
    guard all.reduce(0, { $0 + max(1, $1.requesters.count) }) < Self.limit else {
      throw SegueError(.limitExceeded, "continue: \(Self.limit) continuations are under way")
    }
  }

  /// Throws LIMIT_EXCEEDED if a principal would have too much under way. A saved activity has no origin to spare, and
  /// what is shared costs its origin nothing.
  /// - Parameter origin: nil: it is shared.
  func check(_ principal: Principal, _ origin: Identifier?) throws(SegueError) {
    let count = all.reduce(0) { $0 + $1.requesters.count { $0.principal == principal } }
    let ofOrigin =
      origin == agent.app.identity.id ? 0 : all.count { $0.principal == principal && $0.offer.origin == origin }
    guard count < Self.principalLimit, ofOrigin < Self.originLimit else {
      throw SegueError(
        .limitExceeded,
        "continue: \(count) continuations of this process are under way, \(ofOrigin) of them of one origin")
    }
  }

  // MARK: Answers

  /// Ends a continuation.
  func end(at index: Int, _ ending: Ending) {
    // Removed first: the owner may call back.
    let start = all.remove(at: index)
    for requester in start.requesters { answer(requester, of: start, ending) }
  }

  /// Ends a continuation as its app has answered.
  func end(at index: Int, _ receipt: Receipt) {
    let error = receipt.outcome == .restored ? nil : SegueError(receipt.status, DiagnosticText(of: receipt.reason))
    all[index].isStale = receipt.isStale
    end(at: index, .success((receipt.outcome, error)))
  }

  /// Answers all that wait.
  func answer(at index: Int, _ ending: Ending) {
    let start = all[index]
    all[index].requesters = []
    for requester in start.requesters { answer(requester, of: start, ending) }
  }

  func answer(_ requester: AgentContinuation.Requester, of start: AgentContinuation, _ ending: Ending) {
    let result = ending.map { end in
      AgentContinuationReport(
        continuation: start.id, app: start.app, isShared: requester.isShared, outcome: end.outcome, error: end.error,
        isStale: start.isStale, staleReason: start.staleReason)
    }
    agent.owner.answer(requester.number, result)
  }

  // MARK: Time

  /// Removes a requester whose time is up, and returns it with its continuation; nil for none.
  func takeOverdue(_ now: Instant) -> (AgentContinuation, AgentContinuation.Requester)? {
    for index in all.indices {
      if let requester = all[index].takeOverdue(now) { return (all[index], requester) }
    }
    return nil
  }

  /// The first continuation whose deadline has passed; nil for none.
  func due(_ now: Instant) -> Int? {
    all.firstIndex { $0.nextDeadline.map { $0 <= now.uptime } ?? false }
  }

  var nextDeadline: Int64? { all.reduce(nil) { earlier($0, $1.nextDeadline) } }
}
