import SegueEngine
import SegueModel

/// What an app has been promised and not yet been told: R3.2 is held against it.
struct Ledger {
  enum Key: Equatable {
    case continuation(Identifier)
    case question(UInt64)
    case request(UInt64)
    /// One that was asked for, or one of which it is asked how it ended.
    case stream(Identifier)
  }

  /// Milliseconds that the end of a continuation may come after its deadline, for what the fleet itself takes.
  static let slack: Int64 = 10
  /// Milliseconds for a question to be answered: longer than a hub that does not answer is waited for.
  static let questionTime: Int64 = 12_000
  /// Receipts that are remembered, to see that none comes twice.
  private static let receiptLimit = 256

  private struct Open {
    let id: Identifier
    let deadline: Int64
    var isAnnounced = false
  }

  private var open: [Open] = []
  /// What it has asked for, but for continuations.
  private var asked: [(key: Key, deadline: Int64)] = []
  private var receipts: [Identifier] = []
  private var nextReceipt = 0
  /// The continuation of which was_continued was told last: its receipt is next.
  private var moved: Identifier?
  /// Offers that the app was told of. Never iterated.
  private var offers: Set<Identifier> = []
  /// Uptime at which the process went on after having been stopped: what fell due meanwhile is due from then on.
  var resumedAt: Int64 = 0

  var isEmpty: Bool { open.isEmpty && asked.isEmpty }

  mutating func begin(_ id: Identifier, deadline: Int64) { open.append(Open(id: id, deadline: deadline)) }
  mutating func ask(_ key: Key, deadline: Int64) { asked.append((key, deadline)) }

  /// - Returns: what is wrong; nil: nothing.
  mutating func answer(_ key: Key) -> StaticString? {
    guard let index = asked.firstIndex(where: { $0.key == key }) else {
      return switch key {
      case .continuation: "R3.2: a continuation is no question"
      case .question: "R6.5: a question was answered twice, or out of nothing"
      case .request: "R7.5: a request was answered twice, or out of nothing"
      case .stream: "R7.3: of a stream something was answered twice, or out of nothing"
      }
    }
    asked.remove(at: index)
    return nil
  }

  /// - Returns: what is wrong; nil: nothing.
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
    return wasAnnounced ? nil : "R3.2: a continuation has ended before will_continue"
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

  /// By when it should be over; nil: it is.
  func due(_ key: Key) -> Int64? {
    let deadline: Int64? =
      switch key {
      case .continuation(let id): open.first { $0.id == id }?.deadline
      case .question, .request, .stream: asked.first { $0.key == key }?.deadline
      }
    return deadline.map { max($0, resumedAt) + Self.slack }
  }
}
