// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// Tracks the callbacks that an app is still owed, to check R3.2.
struct ObligationTracker {
  enum Key: Equatable {
    case continuation(Identifier)
    case question(UInt64)
    case request(UInt64)
    /// The answer to `continue`, or `opening_failed`.
    case answer(Identifier)
    /// The end of an attempt to continue an activity of this app.
    case receipt(Identifier)
    /// The state of an activity that comes back.
    case resumption(Identifier)
    /// A stream that was asked for, or whose end was asked for.
    case stream(Identifier)
  }

  /// Milliseconds by which the end of a continuation may exceed its deadline, for the fleet's own overhead.
  static let slack: Int64 = 10
  /// Milliseconds after the deadline of a continuation at which its origin gives it up (R3.9).
  private static let grace: Int64 = 2_000
  /// Milliseconds for a question to be answered: longer than the wait for a silent hub.
  static let questionTime: Int64 = 12_000
  /// The number of remembered receipts, to detect duplicates.
  private static let receiptLimit = 256

  private struct Open {
    let id: Identifier
    let began: Int64
    let deadline: Int64
    var isAnnounced = false
  }

  private var open: [Open] = []
  /// A continuation whose activity has come: it is answered, or `opening_failed` is told, once (R3.2, R3.5).
  private struct Continued {
    let id: Identifier
    /// Nil for a delivery of the agent, to which a late answer counts (R3.8).
    let deadline: Int64?
    var isAnswered = false
  }

  /// The continuations that the agent delivers, until they are over.
  private var deliveries: [Identifier] = []
  /// Oldest first; those that were answered may still fail to be restored.
  private var continued: [Continued] = []
  private static let continuedLimit = 64
  /// Attempts to continue activities of this app that have come as far as `continue`.
  private var attempts: [(id: Identifier, deadline: Int64)] = []
  /// Open questions other than continuations.
  private var asked: [(key: Key, deadline: Int64)] = []
  private var receipts: [Identifier] = []
  private var nextReceipt = 0
  /// The continuation of the last was_continued: its receipt is next.
  private var moved: Identifier?
  /// Offers that the app knows. Never iterated.
  private var offers: Set<Identifier> = .init()
  /// The uptime at which a stopped process continued: deadlines of the stopped time start from then.
  var resumedAt: Int64 = 0

  var isEmpty: Bool {
    open.isEmpty && asked.isEmpty && attempts.isEmpty && continued.allSatisfy { $0.isAnswered }
  }

  mutating func begin(_ id: Identifier, at began: Int64 = 0, deadline: Int64) {
    open.append(Open(id: id, began: began, deadline: deadline))
  }
  mutating func ask(_ key: Key, deadline: Int64) { asked.append((key, deadline)) }

  /// - Returns: the violation, or nil.
  mutating func answer(_ key: Key) -> StaticString? {
    guard let index = asked.firstIndex(where: { $0.key == key }) else {
      return switch key {
      case .continuation, .answer, .receipt: "R3.2: a continuation is no question"
      case .question: "R6.5: a question was answered twice, or out of nothing"
      case .request: "R7.5: a request was answered twice, or out of nothing"
      case .resumption: "R3.10: a state has come back twice, or out of nothing"
      case .stream: "R7.3: of a stream something was answered twice, or out of nothing"
      }
    }
    asked.remove(at: index)
    return nil
  }

  func isResumed(_ id: Identifier) -> Bool { asked.contains { $0.key == .resumption(id) } }

  /// - Returns: the violation, or nil.
  mutating func announce(_ id: Identifier) -> StaticString? {
    guard let index = open.firstIndex(where: { $0.id == id }) else { return "R3.2: will_continue out of nothing" }
    guard !open[index].isAnnounced else { return "R3.2: will_continue twice" }
    open[index].isAnnounced = true
    return nil
  }

  /// `did_fail` runs.
  mutating func end(_ id: Identifier) -> StaticString? { close(id).violation }

  /// `continue` runs.
  /// - Returns: the uptime by which its origin has given it up, and the violation; each may be nil.
  mutating func `continue`(
    _ id: Identifier, isDelivery: Bool
  ) -> (givenUp: Int64?, violation: StaticString?) {
    let (ended, violation) = close(id)
    // A continuation that waited may come once more, under the same name.
    continued.removeAll { $0.id == id }
    if continued.count == Self.continuedLimit {
      continued.remove(at: continued.firstIndex { $0.isAnswered } ?? 0)
    }
    if let ended { continued.append(Continued(id: id, deadline: isDelivery ? nil : ended.deadline)) }
    // The origin was asked at most that long after the beginning.
    return (ended.map { 2 * $0.deadline - $0.began + Self.grace }, violation)
  }

  private mutating func close(_ id: Identifier) -> (ended: Open?, violation: StaticString?) {
    guard let index = open.firstIndex(where: { $0.id == id }) else {
      return (nil, "R3.2: a continuation has ended twice, or out of nothing")
    }
    let ended = open.remove(at: index)
    return (ended, ended.isAnnounced ? nil : "R3.2: a continuation has ended before will_continue")
  }

  /// The host has answered a continuation, in time.
  mutating func answered(_ id: Identifier) {
    guard let index = continued.firstIndex(where: { $0.id == id }) else { return }
    continued[index].isAnswered = true
  }

  /// A continuation has failed after `continue`.
  mutating func failOpening(_ id: Identifier, _ status: Status) -> StaticString? {
    guard let index = continued.firstIndex(where: { $0.id == id }) else {
      return "R3.5: opening_failed twice, or of what was never continued"
    }
    let isAnswered = continued.remove(at: index).isAnswered
    return isAnswered && status == .userCancelled ? "R3.3: a cancel ends what was answered before" : nil
  }

  /// Another app that continues an activity of this one has got it: this app gets a receipt, once (R3.6).
  mutating func attempt(_ id: Identifier, deadline: Int64) {
    if !receipts.contains(id) { attempts.append((id, deadline)) }
  }

  mutating func receive(wasContinued id: Identifier) -> StaticString? {
    guard moved == nil else { return "R3.6: was_continued, and then no receipt of it" }
    moved = id
    return nil
  }

  mutating func receive(receiptOf id: Identifier, _ outcome: Outcome) -> StaticString? {
    guard moved == (outcome == .restored ? id : nil) else {
      return "R3.6: was_continued is told if, and only if, it was restored"
    }
    moved = nil
    attempts.removeAll { $0.id == id }
    guard !receipts.contains(id) else { return "R3.6: two receipts of one continuation" }
    if receipts.count < Self.receiptLimit {
      receipts.append(id)
    } else {
      receipts[nextReceipt] = id
      nextReceipt = (nextReceipt + 1) % Self.receiptLimit
    }
    return nil
  }

  mutating func see(_ event: Delivery.OfferEvent, _ id: Identifier) -> StaticString? {
    switch event {
    case .appeared: offers.insert(id).inserted ? nil : "R2.7: an offer has appeared twice"
    case .changed: offers.contains(id) ? nil : "R2.7: an offer has changed that never appeared"
    case .gone: offers.remove(id) != nil ? nil : "R2.7: an offer is gone that never appeared"
    }
  }

  /// The agent delivers a continuation.
  /// - Returns: whether it is not known yet.
  mutating func deliver(_ id: Identifier) -> Bool {
    guard !deliveries.contains(id) else { return false }
    deliveries.append(id)
    return true
  }

  /// A continuation that the agent may have delivered has failed.
  mutating func endDelivery(_ id: Identifier) { deliveries.removeAll { $0 == id } }

  /// Forgets the deliveries that are over.
  mutating func keepDeliveries(_ isUnderWay: (Identifier) -> Bool) {
    if !deliveries.isEmpty { deliveries.removeAll { !isUnderWay($0) } }
  }

  /// The uptime by which it should end; nil if it has ended.
  func due(_ key: Key) -> Int64? {
    let deadline: Int64? =
      switch key {
      case .continuation(let id): open.first { $0.id == id }?.deadline
      case .answer(let id): continued.first { $0.id == id && !$0.isAnswered }?.deadline
      case .receipt(let id): attempts.first { $0.id == id }?.deadline
      case .question, .request, .resumption, .stream: asked.first { $0.key == key }?.deadline
      }
    return deadline.map { max($0, resumedAt) + Self.slack }
  }
}
