// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueAgentCore
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
      uptime = 0
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
    // The entry without a date of its own is as good as before; R1.6 holds for the other one.
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
    let came = try #require(try inbox.entry(Identifier(1))?.receivedAt)
    #expect(try use(inbox, clocks) == [])
    #expect(try inbox.entry(Identifier(1))?.expiresAt == clocks.date - 60 + Limits.inboxLife)
    #expect(try inbox.entry(Identifier(1))?.receivedAt == came, "it came at the date that the clock said then")
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
    let came = clocks.date
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
      let entry = try #require(try inbox.entry(Identifier(1)))
      #expect(entry.receivedAt == came && entry.expiresAt == clocks.date - 6 * 3_600 - 30 + Limits.inboxLife)
    }
    clocks.restart(after: 3 * 3_600)
    #expect(try !use(inbox(), clocks).contains(Identifier(3)))
    clocks.restart(after: 3 * 3_600)
    #expect(try use(inbox(), clocks).contains(Identifier(3)))
  }

  @Test func `the time for which a system runs counts, although nothing reads its clocks (R3.8)`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    let came = clocks.date
    try inbox.follow(clocks.reading)
    try fill(inbox, clocks)
    // Without an agent for days, in two systems: one of them is read as it ends.
    clocks.restart(after: 3_600)
    clocks.pass(5 * Self.day)
    #expect(try inbox.follow(clocks.reading, stores: true) == nil)
    clocks.restart(after: 3_600)
    clocks.pass(1.5 * Self.day)
    #expect(try !use(inbox, clocks).contains(Identifier(1)))
    #expect(try inbox.entry(Identifier(1))?.expiresAt == came + Limits.inboxLife)
    // Ten hours are left. Six hours of the thirty days count, and the one for which the system ran.
    clocks.restart(after: 30 * Self.day)
    clocks.pass(3_600)
    #expect(try !use(inbox, clocks).contains(Identifier(1)))
    clocks.pass(3 * 3_600 - 1)
    #expect(try !use(inbox, clocks).contains(Identifier(1)))
    clocks.pass(1)
    #expect(try use(inbox, clocks).contains(Identifier(1)))
    // In doubt less counts: the date was set back, or the last reading is of another machine.
    _ = try inbox.put(.sample(5), at: clocks.date)
    func left() throws -> Double { try #require(try inbox.entry(Identifier(5))).expiresAt - clocks.date }
    clocks.restart(after: 0)
    clocks.pass(40 * Self.day)
    clocks.date -= 39 * Self.day
    #expect(try inbox.follow(clocks.reading) == nil)
    #expect(try left() == Limits.inboxLife - Self.day)
    clocks.restart(after: 0)
    clocks.pass(40 * Self.day)
    clocks.date -= 41 * Self.day
    #expect(try inbox.follow(clocks.reading) == -Self.day)
    #expect(try left() == Limits.inboxLife - Self.day)
  }

  @Test func `what is read as an agent ends does not count once more`() throws {
    var clocks = Clocks()
    do {
      let inbox = try inbox()
      try inbox.follow(clocks.reading)
      try fill(inbox, clocks)
    }
    /// Seconds that count of an agent's life, and of a longer time for which the system is off.
    func counted(stores: Bool) throws -> Double {
      func left() throws -> Double { try #require(try inbox().entry(Identifier(1))).expiresAt - clocks.date }
      let before = try left()
      do {
        let inbox = try inbox()
        try inbox.follow(clocks.reading)
        clocks.pass(500)
        try inbox.follow(clocks.reading, stores: stores)
      }
      clocks.restart(after: 10 * 3_600)
      try inbox().follow(clocks.reading)
      return try before - left()
    }
    #expect(try counted(stores: false) == 6 * 3_600, "what is unread is part of the time for which it was off")
    #expect(try counted(stores: true) == 6 * 3_600 + 500)
  }

  @Test func `where no start of the system is known, the dates say how much time has passed`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    clocks.boot = ""
    let came = clocks.date
    try inbox.follow(clocks.reading)
    try fill(inbox, clocks)
    for _ in 0..<3 {
      clocks.pass(3_600)
      #expect(try inbox.follow(clocks.reading) == nil)
    }
    #expect(try inbox.entry(Identifier(1))?.expiresAt == came + Limits.inboxLife)
    // Six hours count at most, however long the system says that it has run.
    clocks.date += 10 * 3_600
    #expect(try inbox.follow(clocks.reading) == nil)
    #expect(try inbox.entry(Identifier(1))?.expiresAt == came + Limits.inboxLife + 4 * 3_600)
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

  @Test func `a night for which the system was off moves no date that users see, and sets none`() throws {
    let state = try folder.open()
    let (inbox, saved) = (try Inbox.open(in: state), try SavedActivities.open(in: state))
    var clocks = Clocks()
    func follow() throws -> [Double?] { [try inbox.follow(clocks.reading), try saved.follow(clocks.reading)] }
    func found() throws -> [SearchResult] { try saved.search("", at: clocks.date) }
    #expect(try follow() == [nil, nil])
    let came = clocks.date
    try fill(inbox, clocks)
    try saved.save(.sample(1, title: "without"), at: came)
    try saved.save(.sample(2, title: "with", expires: came + 40 * Self.day), at: came)
    for _ in 0..<3 {
      clocks.pass(3_600)
      #expect(try follow() == [nil, nil])
      clocks.restart(after: 10 * 3_600)
      #expect(try follow() == [nil, nil], "nobody has set the date")
    }
    // Six hours of each night count.
    let (later, counted) = (3 * 4 * 3_600.0, Limits.inboxLife)
    let entries = try inbox.entries()
    #expect(entries.map(\.receivedAt) == [came, came])
    #expect(entries.map(\.expiresAt) == [came + later + counted, came + Self.day])
    #expect(try found().map(\.savedAt) == [came, came])
    #expect(try found().map(\.expiresAt) == [came + 40 * Self.day, came + later + Limits.savedLife])
    // A date that surely was set is told.
    clocks.restart(after: -Self.day)
    #expect(try follow() == [-Self.day, -Self.day])
    clocks.date += Self.day
    #expect(try follow() == [Self.day, Self.day])
    #expect(try inbox.entries().map(\.receivedAt) == [came, came] && found().map(\.savedAt) == [came, came])
  }

  @Test func `a date that is hours ahead at a start of the system deletes nothing that has a date of its own`() throws {
    let state = try folder.open()
    let (inbox, saved) = (try Inbox.open(in: state), try SavedActivities.open(in: state))
    var clocks = Clocks()
    let receiver = Receiver(id: Identifier(9), deviceName: "d", appName: "a", bundleIdentifier: "b")
    let receipt = Receipt(
      continuation: Identifier(8), receiver: receiver,
      outcome: .restored, status: .ok, reason: "", isStale: false, date: clocks.date - Limits.inboxLife + 3_600)
    func use() throws -> (gone: [Identifier], saved: Int) {
      try saved.follow(clocks.reading)
      return (try self.use(inbox, clocks), try saved.expire(at: clocks.date))
    }
    #expect(try use() == ([], 0))
    try fill(inbox, clocks)
    try saved.save(.sample(1, title: "with", expires: clocks.date + 3_600), at: clocks.date)
    #expect(try inbox.decide(receipt))
    // Its last reading is one of ten minutes that went on like uptime.
    clocks.pass(700)
    #expect(try use() == ([], 0))
    clocks.restart(after: 60)
    clocks.date += 7_200
    #expect(try use() == ([], 0))
    #expect(try !inbox.decide(receipt), "the origin has it")
    clocks.pass(500)
    #expect(try use() == ([], 0))
    clocks.date -= 7_200
    #expect(try use() == ([], 0))
    #expect(try kept(inbox) == [Identifier(3), Identifier(4)])
    #expect(try saved.search("", at: clocks.date).map(\.title) == ["with"])
    clocks.pass(3_600)
    #expect(try use() == ([Identifier(4)], 1))
  }

  @Test func `what was saved by an earlier agent keeps its own date, or waits as long as before`() throws {
    let now = Clocks().date
    let former = Schema(steps: Array(SavedActivities.schema.steps.prefix(3)), probes: [])
    do {
      let database = try Database.open("search.db", in: folder.open(), former, .normal).database
      for (number, expires) in [(1, now + Limits.savedLife), (2, now + 60)] {
        try database.run(
          """
          INSERT INTO saved (app, team, activity, type, saved, expires, size, title, keywords, text)
          VALUES ('a', 'T', ?1, 't', ?2, ?3, 1, '', '', '')
          """, [Cell(Identifier(number)), .real(now), .real(expires)])
      }
    }
    let saved = try SavedActivities.open(in: folder.open())
    var clocks = Clocks()
    try saved.follow(clocks.reading)
    clocks.date += Self.day
    try saved.follow(clocks.reading)
    #expect(try saved.expire(at: clocks.date) == 0)
    clocks.date -= Self.day
    try saved.follow(clocks.reading)
    let found = try saved.search("", at: clocks.date)
    #expect(found.map(\.expiresAt) == [now + 60, now + Limits.savedLife])
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

  @Test func `each entry that expires is told, and a kept offer that its date hides is loaded (R2.5)`() throws {
    let inbox = try inbox()
    var clocks = Clocks()
    try inbox.follow(clocks.reading)
    try fill(inbox, clocks)
    let document = try ActivityDocument.encode(try Activity(type: "com.example.note"), .none)
    try inbox.keep(.sample(4, expires: clocks.date + 3_600), team: "T", document: document, at: clocks.date)
    let holder = InboxAtDate(inbox, clocks.date + 7_200)
    #expect(try KeptJobs.load(holder).map(\.activity) == [Identifier(4)], "the date may be wrong")
    #expect(holder.lines.count == 1, "the document of the other one cannot be read")
    clocks.pass(7 * Self.day)
    try inbox.follow(clocks.reading)
    holder.date = clocks.date
    _ = InboxJobs.run(.open, holder)
    #expect(Array(holder.lines.dropFirst()) == ["a", "b"].map { "what waited for com.example.\($0) has expired" })
  }
}
