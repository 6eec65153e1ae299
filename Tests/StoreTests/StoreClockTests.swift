import Foundation
import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueStore

/// The clock of the device is set while things wait: no date alone ends what waits (R2.5, R3.8, R8.1).
@Suite struct StoreClockTests {
  private let folder = TemporaryFolder()
  private static let day = 86_400.0

  /// The clocks of a device, whose date can be set.
  private struct Clocks {
    private(set) var uptime: Int64 = 1_000
    var date = 1_800_000_000.0
    var boot = "one"

    var reading: ClockReading { ClockReading(Instant(uptime: uptime, date: date), boot: boot) }

    mutating func pass(_ seconds: Double) {
      uptime += Int64(seconds * 1000)
      date += seconds
    }

    /// The system is off for a while, and starts.
    mutating func restart(after seconds: Double) {
      boot += "."
      uptime = 500
      date += seconds
    }
  }

  private func inbox() throws -> Inbox { try Inbox.open(in: folder.open()) }
  private func waiting(_ inbox: Inbox) throws -> [Identifier] { try inbox.entries().map(\.continuation) }
  private func kept(_ inbox: Inbox) throws -> [Identifier] { try inbox.keptOffers().map(\.offer.description.id) }

  /// Follows the clocks, and removes what has expired.
  private func use(_ inbox: Inbox, _ clocks: Clocks) throws -> [Identifier] {
    try inbox.follow(clocks.reading)
    let gone = try inbox.expire(at: clocks.date)
    return gone.entries + gone.keptOffers
  }

  /// An entry (1) and a kept offer (3) without a date, and the same with one (2, 4), a day from now.
  private func fill(_ inbox: Inbox, _ clocks: Clocks) throws {
    _ = try inbox.put(.sample(1), at: clocks.date)
    _ = try inbox.put(.sample(2, to: "com.example.b", expires: clocks.date + Self.day), at: clocks.date)
    try inbox.keep(.sample(3), team: "T", document: [3], at: clocks.date)
    try inbox.keep(.sample(4, expires: clocks.date + 3_600), team: "T", document: [4], at: clocks.date)
  }

  @Test func `a date that is a year ahead for a while ends nothing`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    try inbox.follow(clocks.reading)
    clocks.pass(3_600)
    #expect(try use(inbox, clocks) == [])
    try fill(inbox, clocks)
    let before = try (inbox.entries().map(\.expiresAt), inbox.keptOffers().map(\.expiresAt))
    clocks.date += 365 * Self.day
    clocks.pass(2)
    #expect(try use(inbox, clocks) == [])
    // What has no date of its own is as good as before; R1.6 holds for the other one.
    #expect(try inbox.beginDelivery(to: "com.example.a", at: clocks.date)?.continuation == Identifier(1))
    #expect(try inbox.beginDelivery(to: "com.example.b", at: clocks.date) == nil)
    try inbox.endDelivery(Identifier(1), .untold)
    clocks.pass(300)
    #expect(try use(inbox, clocks) == [])
    clocks.date -= 365 * Self.day
    clocks.pass(1)
    #expect(try use(inbox, clocks) == [])
    #expect(try inbox.entries().map(\.expiresAt) == before.0 && inbox.keptOffers().map(\.expiresAt) == before.1)
    #expect(try inbox.beginDelivery(to: "com.example.b", at: clocks.date)?.continuation == Identifier(2))
    try inbox.endDelivery(Identifier(2), .untold)
    // Their own time goes on.
    clocks.pass(12 * 3_600)
    #expect(try use(inbox, clocks) == [Identifier(3), Identifier(4)])
    clocks.pass(6 * Self.day)
    #expect(try use(inbox, clocks) == [Identifier(2)])
    clocks.pass(Self.day)
    #expect(try use(inbox, clocks) == [Identifier(1)])
  }

  @Test func `what came under a date that was behind waits as long as other things`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    clocks.date -= 10 * Self.day
    try inbox.follow(clocks.reading)
    try fill(inbox, clocks)
    _ = try inbox.put(.sample(5), at: clocks.date)
    _ = try inbox.acknowledge(Identifier(5), at: clocks.date)
    clocks.pass(60)
    clocks.date += 10 * Self.day
    #expect(try use(inbox, clocks) == [])
    #expect(try inbox.entry(Identifier(1))?.receivedAt == clocks.date - 60)
    clocks.pass(11 * 3_600)
    #expect(try !use(inbox, clocks).contains(Identifier(3)) && kept(inbox).contains(Identifier(3)))
    clocks.pass(6 * Self.day)
    #expect(try use(inbox, clocks).contains(Identifier(3)) && waiting(inbox) == [Identifier(1)])
    #expect(try inbox.put(.sample(5), at: clocks.date) == .ended, "it is remembered that it was there")
    clocks.pass(Self.day)
    #expect(try use(inbox, clocks) == [Identifier(1)])
  }

  @Test func `between two starts of the system at most six hours pass`() throws {
    var clocks = Clocks()
    do {
      let inbox = try inbox()
      try inbox.follow(clocks.reading)
      try fill(inbox, clocks)
    }
    // The same for another process as long as the system runs.
    clocks.pass(10)
    clocks.date += 3 * Self.day
    #expect(try use(inbox(), clocks) == [])
    clocks.date -= 3 * Self.day
    #expect(try use(inbox(), clocks) == [])
    // No clock that goes on without power: the date comes from the network.
    clocks.restart(after: -1_000 * Self.day)
    #expect(try use(inbox(), clocks) == [])
    clocks.pass(20)
    clocks.date += 1_000 * Self.day
    #expect(try use(inbox(), clocks) == [])
    clocks.restart(after: 30 * Self.day)
    #expect(try use(inbox(), clocks) == [])
    do {
      let inbox = try inbox()
      #expect(try waiting(inbox) == [Identifier(1), Identifier(2)] && kept(inbox) == [Identifier(3), Identifier(4)])
      #expect(try inbox.entry(Identifier(1))?.receivedAt == clocks.date - 6 * 3_600 - 30)
    }
    clocks.restart(after: 3 * 3_600)
    #expect(try !use(inbox(), clocks).contains(Identifier(3)))
    clocks.restart(after: 3 * 3_600)
    #expect(try use(inbox(), clocks).contains(Identifier(3)))
  }

  @Test func `a date of its own ends something once the clock has gone on for a while`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    try inbox.follow(clocks.reading)
    try fill(inbox, clocks)
    clocks.date += 2 * Self.day
    #expect(try use(inbox, clocks) == [])
    clocks.pass(599)
    #expect(try use(inbox, clocks) == [])
    clocks.pass(1)
    #expect(try use(inbox, clocks) == [Identifier(2), Identifier(4)])
  }

  @Test func `a receipt outlives a date that is ahead`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    try inbox.follow(clocks.reading)
    let receiver = Receiver(id: Identifier(9), deviceName: "d", appName: "a", bundleIdentifier: "b")
    let receipt = Receipt(
      continuation: Identifier(1), receiver: receiver, outcome: .restored, status: .ok, reason: "", isStale: false,
      date: clocks.date)
    #expect(try inbox.decide(receipt))
    clocks.date += 365 * Self.day
    #expect(try use(inbox, clocks) == [] && !inbox.decide(receipt))
    #expect(try inbox.unconfirmedReceipts().map(\.continuation) == [Identifier(1)])
  }

  @Test func `an app that was used under a date that was ahead does not stay the most recent one (R6.2)`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    try inbox.follow(clocks.reading)
    clocks.date += 365 * Self.day
    try inbox.follow(clocks.reading)
    try inbox.markUsed("com.example.early", at: clocks.date)
    clocks.pass(10)
    clocks.date -= 365 * Self.day
    try inbox.follow(clocks.reading)
    try inbox.markUsed("com.example.late", at: clocks.date)
    #expect(try inbox.uses() == ["com.example.late", "com.example.early"])
  }

  @Test func `saved activities survive a search under a wrong date (R8.1)`() throws {
    let saved = try SavedActivities.open(in: folder.open())
    var clocks = Clocks()
    func use() throws -> (Int, [String?]) {
      try saved.follow(clocks.reading)
      let count = try saved.expire(at: clocks.date)
      return (count, try saved.search("", at: clocks.date).map(\.title))
    }
    #expect(try use() == (0, []))
    try saved.save(.sample(1, title: "without"), at: clocks.date)
    try saved.save(.sample(2, title: "with", expires: clocks.date + 40 * Self.day), at: clocks.date)
    for jump in [365 * Self.day, -700 * Self.day, 335 * Self.day] {
      clocks.date += jump
      clocks.pass(1)
      let (count, titles) = try use()
      #expect(count == 0 && titles.contains("without"))
    }
    #expect(try use() == (0, ["with", "without"]))
    clocks.pass(30 * Self.day - 10)
    #expect(try use() == (0, ["with", "without"]))
    clocks.pass(7)
    #expect(try use() == (1, ["with"]))
    clocks.pass(10 * Self.day)
    #expect(try use() == (1, []))
  }

  private final class Holder: InboxHolder {
    let inbox: Inbox
    var date: Double
    private(set) var lines: [String] = []

    init(_ inbox: Inbox, _ date: Double) { (self.inbox, self.date) = (inbox, date) }

    func perform<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result { try body(inbox) }
    func content(of source: AttachmentSource) -> AttachmentContent.Source { .origin }
    func log(_ severity: Severity, _ message: DiagnosticText) { lines.append(message.string) }
  }

  @Test func `each entry that expires is told, and a kept offer that its date hides is loaded (R2.5)`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    try inbox.follow(clocks.reading)
    try fill(inbox, clocks)
    let holder = Holder(inbox, clocks.date + 7_200)
    #expect(try KeptJobs.load(holder).isEmpty && kept(inbox).count == 2, "its document cannot be read, or it is hidden")
    #expect(holder.lines.count == 1, "what is hidden is not read")
    clocks.pass(7 * Self.day)
    try inbox.follow(clocks.reading)
    holder.date = clocks.date
    _ = InboxJobs.run(.open, holder)
    #expect(Array(holder.lines.dropFirst()) == ["a", "b"].map { "what waited for com.example.\($0) has expired" })
  }
}
