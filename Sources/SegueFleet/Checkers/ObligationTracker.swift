import SegueEngine
import SegueModel

/// Tracks the callbacks that an app is still owed, to check R3.2.
struct ObligationTracker {
  enum Key: Equatable {
    case continuation(Identifier)
    case question(UInt64)
    case request(UInt64)
    /// The state of an activity that comes back.
    case resumption(Identifier)
    /// A stream that was asked for, or whose end was asked for.
    case stream(Identifier)
  }

  /// Milliseconds by which the end of a continuation may exceed its deadline, for the fleet's own overhead.
  static let slack: Int64 = 10
  /// Milliseconds for a question to be answered: longer than the wait for a silent hub.
  static let questionTime: Int64 = 12_000
  /// The number of remembered receipts, to detect duplicates.
  private static let receiptLimit = 256

  private struct Open {
    let id: Identifier
    let deadline: Int64
    var isAnnounced = false
  }

  private var open: [Open] = []
  /// Continuations whose activity has come: the document of each may fail to open, once (R3.5).
  private var continued: [Identifier] = []
  private static let continuedLimit = 64
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

  var isEmpty: Bool { open.isEmpty && asked.isEmpty }

  mutating func begin(_ id: Identifier, deadline: Int64) { open.append(Open(id: id, deadline: deadline)) }
  mutating func ask(_ key: Key, deadline: Int64) { asked.append((key, deadline)) }

  /// - Returns: the violation, or nil.
  mutating func answer(_ key: Key) -> StaticString? {
    guard let index = asked.firstIndex(where: { $0.key == key }) else {
      return switch key {
      case .continuation: "R3.2: a continuation is no question"
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

  mutating func end(_ id: Identifier) -> StaticString? {
    guard let index = open.firstIndex(where: { $0.id == id }) else {
      return "R3.2: a continuation has ended twice, or out of nothing"
    }
    let wasAnnounced = open.remove(at: index).isAnnounced
    if continued.count == Self.continuedLimit { continued.removeFirst() }
    continued.append(id)
    return wasAnnounced ? nil : "R3.2: a continuation has ended before will_continue"
  }

  /// The document of a continuation was not opened.
  mutating func failOpening(_ id: Identifier) -> StaticString? {
    guard let index = continued.firstIndex(of: id) else {
      return "R3.5: opening_failed twice, or of what was never continued"
    }
    continued.remove(at: index)
    return nil
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

  /// The uptime by which it should end; nil if it has ended.
  func due(_ key: Key) -> Int64? {
    let deadline: Int64? =
      switch key {
      case .continuation(let id): open.first { $0.id == id }?.deadline
      case .question, .request, .resumption, .stream: asked.first { $0.key == key }?.deadline
      }
    return deadline.map { max($0, resumedAt) + Self.slack }
  }
}
