// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSQLite
import Foundation
import SegueModel
import Testing

@testable import SegueStore

/// An item that cannot be read is left out and told, stays in the file, and takes nothing else with it.
@Suite struct UnreadableRowTests {
  private let folder = TemporaryFolder()
  private let now = 1_800_000_000.0

  /// Changes a database that nobody has open, as a disk does that turns bits over in texts.
  private func change(_ name: String, _ statements: String) {
    var connection: OpaquePointer?
    #expect(sqlite3_open("\(folder.state)/\(name)", &connection) == SQLITE_OK)
    #expect(sqlite3_exec(connection, statements, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(connection)
  }

  private func count(_ inbox: Inbox, _ query: StaticString) throws -> Int64? {
    try inbox.database.first(query) { row throws(SegueError) in try row.integer(0) }
  }

  /// Whether one line was told, once, that names what it is and the column.
  private func expectTold(_ reports: [String], _ what: String, _ column: String) {
    #expect(reports.count == 1 && reports[0].contains("\(what) is left out, and stays in the file"), "\(reports)")
    #expect(reports.first?.contains("\(column) of a row is no") == true, "\(reports)")
  }

  @Test func `an entry that cannot be read holds up no other (R3.8)`() throws {
    do {
      let inbox = try Inbox.open(in: folder.open())
      for number in 1...3 { _ = try inbox.put(.sample(number), at: now) }
    }
    change("inbox.db", "UPDATE entries SET title = CAST(x'fffe' AS TEXT) WHERE number = 1")
    for _ in 0..<3 {
      let inbox = try Inbox.open(in: folder.open())
      #expect(inbox.notice == nil)
      #expect(try inbox.entries().map { $0.continuation } == [Identifier(2), Identifier(3)])
      expectTold(inbox.takeReports(), "an entry", "title")
      #expect(try inbox.entries().count == 2 && inbox.takeReports().isEmpty)
      #expect(try inbox.entry(Identifier(1)) == nil)
      #expect(try count(inbox, "SELECT count(*) FROM entries") == 3)
      #expect(!folder.names().contains("inbox.db.suspect"))
    }
    let inbox = try Inbox.open(in: folder.open())
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now)?.continuation == Identifier(2))
    #expect(try inbox.acknowledge(Identifier(2), at: now))
    #expect(try inbox.beginDelivery(to: "com.example.a", except: [Identifier(3)], at: now) == nil)
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now)?.continuation == Identifier(3))
    // It goes when its time is over, or when the user drops it.
    #expect(try inbox.drop(Identifier(1), at: now))
    #expect(try count(inbox, "SELECT count(*) FROM entries WHERE state < 2") == 1)
  }

  @Test func `kept offers, receipts, choices and uses that cannot be read are left out, each alone`() throws {
    do {
      let inbox = try Inbox.open(in: folder.open())
      for number in 1...2 {
        try inbox.keep(.sample(number), team: "T", document: [1], at: now)
        let receiver = Receiver(
          id: Identifier(9), deviceName: "d", appName: "a", bundleIdentifier: "com.example.a")
        #expect(
          try inbox.decide(
            Receipt(
              continuation: Identifier(number), receiver: receiver, outcome: .restored, status: .ok, reason: "",
              isStale: false, date: now)))
        try inbox.choose("com.example.app\(number)", for: "com.example.type\(number)")
        try inbox.markUsed("com.example.app\(number)", at: now + Double(number))
      }
    }
    change(
      "inbox.db",
      """
      UPDATE kept SET device = CAST(x'ff' AS TEXT) WHERE number = 1;
      UPDATE receipts SET outcome = 77 WHERE number = 1;
      UPDATE choices SET app = CAST(x'ff' AS TEXT) WHERE type = 'com.example.type1';
      UPDATE uses SET app = CAST(x'ff' AS TEXT) WHERE app = 'com.example.app1';
      """)
    let inbox = try Inbox.open(in: folder.open())
    #expect(try inbox.keptOffers().map { $0.offer.description.id } == [Identifier(2)])
    expectTold(inbox.takeReports(), "a kept offer", "device")
    #expect(try inbox.unconfirmedReceipts().map { $0.continuation } == [Identifier(2)])
    expectTold(inbox.takeReports(), "a receipt", "outcome")
    #expect(try inbox.choices().map { $0.type } == ["com.example.type2"])
    expectTold(inbox.takeReports(), "a choice", "app")
    #expect(try inbox.choice(for: "com.example.type1") == nil)
    #expect(try inbox.choice(for: "com.example.type2") == "com.example.app2")
    #expect(inbox.takeReports().isEmpty)
    #expect(try inbox.uses() == ["com.example.app2"])
    expectTold(inbox.takeReports(), "the use of an app", "app")
    // The user chooses anew.
    try inbox.choose("com.example.app3", for: "com.example.type1")
    #expect(try inbox.choices().count == 2)
    #expect(!folder.names().contains("inbox.db.suspect"))
  }

  @Test func `a saved activity that cannot be read hides no other (R8.1)`() throws {
    do {
      let saved = try SavedActivities.open(in: folder.open())
      for number in 1...3 { try saved.save(.sample(number, title: "title \(number)"), at: now) }
    }
    change("search.db", "UPDATE saved SET webpage = CAST(x'ff' AS TEXT) WHERE number = 2")
    let saved = try SavedActivities.open(in: folder.open())
    #expect(try saved.search("", at: now).map { $0.number } == [3, 1])
    expectTold(saved.takeReports(), "a saved activity", "webpage")
    #expect(try saved.search("title", at: now).map { $0.number } == [3, 1])
    #expect(try saved.find(Identifier(2), named: "name2", of: "com.example", at: now) == nil)
    #expect(saved.takeReports().isEmpty && saved.count == 3)
    // Saved again, it is there again.
    try saved.save(.sample(2, title: "title 2"), at: now)
    #expect(try saved.search("", at: now).count == 3)
  }

  @Test func `what is told is bounded, and damage of the file is still an error`() throws {
    let inbox = try Inbox.open(in: folder.open())
    _ = try inbox.put(.sample(1), at: now)
    let error = thrown {
      try inbox.database.forEachReadableRow("a row", "SELECT 1") { _ throws(SegueError) in
        throw inbox.database.damaged("for a test")
      }
    }
    #expect(error?.status == .malformed && inbox.takeReports().isEmpty)
    #expect(thrown { try inbox.entries() }?.status == .malformed)
  }

  @Test func `a file of the participant that cannot be used is kept and told, and a new secret is drawn`() throws {
    for text in ["no digits", "", String(repeating: "0", count: 31), String(repeating: "0", count: 4_096)] {
      let state = try folder.open()
      try folder.write(Data(text.utf8), "participant")
      let before = folder.names().count { $0.hasPrefix("participant.damaged") }
      var reports: [String] = []
      let made = try state.participantSecret({ () throws(SegueError) in Identifier(7) }, { reports.append($0) })
      #expect(made == Identifier(7) && reports.count == 1 && reports[0].contains("participant.damaged-"))
      #expect(folder.names().count { $0.hasPrefix("participant.damaged") } == before + 1)
      let again = try state.participantSecret({ () throws(SegueError) in Identifier(8) }, { reports.append($0) })
      #expect(again == made && reports.count == 1)
    }
  }
}
