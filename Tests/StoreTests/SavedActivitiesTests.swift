// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSQLite
import Foundation
import SegueAgentCore
import SegueModel
import Testing

@testable import SegueStore

/// One rule each of saved activities and search.
@Suite struct SavedActivitiesTests {
  let folder = TemporaryFolder()
  let now = 1_800_000_000.0

  @Test(arguments: [SavedActivities.earlier, SavedActivities.named])
  func `what is known of an activity is found by indexes, however much its app has saved (R8.1)`(
    query: StaticString
  ) throws {
    _ = try saved(["a"])
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    #expect(sqlite3_open("\(folder.state)/search.db", &connection) == SQLITE_OK)
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    #expect(sqlite3_prepare_v2(connection, "EXPLAIN QUERY PLAN \(query)", -1, &statement, nil) == SQLITE_OK)
    var plan: [String] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      if let detail = sqlite3_column_text(statement, 3) { plan.append(String(cString: detail)) }
    }
    let searches = plan.filter { $0.hasPrefix("SEARCH") }
    #expect(searches.count == 2 && !plan.contains { $0.hasPrefix("SCAN") })
    #expect(searches.contains { $0.contains("activity=?") } && searches.contains { $0.contains("persistent=?") })
  }

  private func saved(_ titles: [String]) throws -> SavedActivities {
    let saved = try SavedActivities.open(in: folder.open())
    for (number, title) in titles.enumerated() { try saved.save(.sample(number, title: title), at: now) }
    return saved
  }

  @Test(arguments: [
    ("budget", ["Budget 2024", "the budget"]), ("BUDGET the", ["the budget"]), ("budge", []),
    ("budge*", ["Budget 2024", "the budget"]), ("b*", ["Budget 2024", "the budget"]), ("本", ["日本語のノート"]),
    ("日本", ["日本語のノート"]), ("本語", ["日本語のノート"]), ("本日", []), ("日本*", ["日本語のノート"]),
    ("한국", ["한국어 notes"]), ("국", ["한국어 notes"]), ("uber", ["Über-Maß"]), ("über", ["Über-Maß"]),
    ("über-maß", ["Über-Maß"]), ("\"budget\"", ["Budget 2024", "the budget"]), ("the AND budget", []),
    ("title:budget", []), ("bud\"get", []), ("budget OR", []), ("(budget", ["Budget 2024", "the budget"]),
    ("^budget", ["Budget 2024", "the budget"]),
    ("NEAR(the budget)", []), ("a\u{0}b", []), ("😀", []), ("budget …", ["Budget 2024", "the budget"]),
    ("* budget", ["Budget 2024", "the budget"]), ("- budget", ["Budget 2024", "the budget"]),
    ("strasse", ["STRASSE 1"]), ("straße", ["STRASSE 1"]), ("hauptstrasse", ["Hauptstraße"]),
    ("hauptstraße", ["Hauptstraße"]), ("HAUPTSTRASSE", ["Hauptstraße"]),
    ("strass*", ["STRASSE 1"]), ("كتاب", ["كِتَابٌ", "كـتـاب"]), ("كِتَاب", ["كِتَابٌ", "كـتـاب"]),
    ("שלום", ["שָׁלוֹם"]),
  ])
  func `a query finds words, prefixes and characters, and nothing in it is an operator (R8.1)`(
    query: String, titles: [String]
  ) throws {
    let saved = try saved(["the budget", "Über-Maß", "日本語のノート", "한국어 notes", "Budget 2024"])
    for (number, title) in ["שָׁלוֹם", "كـتـاب", "كِتَابٌ", "STRASSE 1", "Hauptstraße"].enumerated() {
      try saved.save(.sample(10 + number, title: title), at: now)
    }
    #expect(try saved.search(query, at: now).compactMap(\.title) == titles)
  }

  @Test func `without words all is found, newest first; of marks and symbols alone nothing (R8.1)`() throws {
    let saved = try saved(["one", "two", "three"])
    for query in ["", " ", "*", " * "] {
      #expect(try saved.search(query, at: now).compactMap(\.title) == ["three", "two", "one"])
    }
    for query in ["\"", "- !", "😀", "→", "«»", "- * !"] { #expect(try saved.search(query, at: now).isEmpty) }
    #expect(try saved.search("", at: now, limit: 2).count == 2)
    #expect(try saved.search("", at: now, limit: -1).isEmpty)
    #expect(try saved.search("", at: now, limit: .max).count == 3)
    #expect(try saved.search("", at: now, app: "com.example.none").isEmpty)
    try saved.save(.sample(0, title: "one again"), at: now)
    #expect(try saved.search("", at: now).compactMap(\.title) == ["one again", "three", "two"])
    #expect(try saved.search("one", at: now).count == 1)
  }

  @Test(arguments: ["", "note"])
  func `a search goes on after a result (R8.1)`(query: String) throws {
    let saved = try saved(["note one", "note two", "note three"])
    let first = try saved.search(query, at: now, limit: 2)
    #expect(first.compactMap(\.title) == ["note three", "note two"])
    #expect(try saved.search(query, at: now, limit: 2, after: first.last?.number).compactMap(\.title) == ["note one"])
    #expect(try saved.search(query, at: now, after: 0).isEmpty)
  }

  @Test func `what is saved is found by its name, or without one by its activity (R8.3)`() throws {
    let saved = try SavedActivities.open(in: folder.open())
    try saved.save(.sample(1, title: "named", expires: now + 10), at: now)
    let unnamed = SavedActivity(
      app: "com.example", team: "T", activity: Identifier(2), persistentIdentifier: nil, type: "com.example.edit",
      title: "unnamed", document: [2])
    try saved.save(unnamed, at: now)
    func title(_ number: Int, _ name: String?, app: String = "com.example", at date: Double) throws -> String? {
      try saved.find(Identifier(number), named: name, of: app, at: date)?.title
    }
    #expect(try title(9, "name1", at: now) == "named" && title(2, nil, at: now) == "unnamed")
    #expect(try title(1, nil, at: now) == nil && title(2, "name2", at: now) == nil)
    #expect(try title(1, "name1", app: "com.example.other", at: now) == nil)
    #expect(try title(1, "name1", at: now + 10) == nil, "it has expired")
    #expect(try saved.find(Identifier(2), named: nil, of: "com.example", at: now)?.team == "T")
  }

  @Test(arguments: [("old", "new"), (nil, "new"), ("old", nil)] as [(String?, String?)])
  func `an activity has one entry, also after its persistent identifier has changed (R8.1)`(
    before: String?, after: String?
  ) throws {
    let saved = try SavedActivities.open(in: folder.open())
    func save(_ number: Int, _ name: String?, _ title: String) throws {
      let activity = SavedActivity(
        app: "com.example", team: "T", activity: Identifier(number), persistentIdentifier: name,
        type: "com.example.edit", title: title, document: [1])
      try saved.save(activity, at: now)
    }
    try save(1, before, "first")
    try save(2, "another", "another")
    try save(1, after, "second")
    #expect(try saved.search("", at: now).compactMap(\.title) == ["second", "another"])
    #expect(try saved.search("", at: now).map(\.persistentIdentifier) == [after, "another"])
    // It takes the name of another one, which goes.
    try save(1, "another", "third")
    #expect(try saved.search("", at: now).compactMap(\.title) == ["third"])
    #expect(saved.count == 1)
    try saved.check()
  }

  @Test func `keywords and searchable text are found, and a result has its document (R8.1, R8.3)`() throws {
    let saved = try SavedActivities.open(in: folder.open())
    try saved.save(.sample(1, title: nil, keywords: ["red fish", "blue"], text: "deep 海 water"), at: now)
    for query in ["red", "\"red fish\"", "blue", "deep", "海", "water blue"] {
      let found = try saved.search(query, at: now)
      #expect(found.count == 1 && found.first?.persistentIdentifier == "name1" && found.first?.title == nil, "\(query)")
      #expect(try found.first.map { try saved.document(of: $0) } == [1])
    }
    let result = try saved.search("", at: now)[0]
    #expect(result.webpageURL == "https://example.com/1" && result.expiresAt == now + 30 * 86_400)
    #expect(try saved.delete(["name1", "name2"], of: "com.example") == 1)
    #expect(thrown { try saved.document(of: result) }?.status == .notFound)
    #expect(try saved.search("red", at: now).isEmpty)
  }

  @Test func `what was saved of an activity is deleted, of its app alone (R10.2)`() throws {
    let saved = try SavedActivities.open(in: folder.open())
    for number in 1...3 { try saved.save(.sample(number, title: "\(number)"), at: now) }
    let found = try saved.search("", at: now)
    let first = try #require(found.last?.activity)
    #expect(try saved.delete([], [first], of: "com.other") == 0)
    #expect(try saved.delete(["name2"], [first], of: "com.example") == 2)
    #expect(try saved.search("", at: now).compactMap(\.title) == ["3"])
    try saved.check()
  }

  @Test func `what has expired is not found, and goes (R8.1)`() throws {
    let saved = try SavedActivities.open(in: folder.open())
    try saved.save(.sample(1, title: "soon", expires: now + 10), at: now)
    try saved.save(.sample(2, title: "later"), at: now)
    #expect(thrown { try saved.save(.sample(3, title: "gone", expires: now), at: now) }?.status == .invalidState)
    #expect(try saved.search("soon", at: now + 10).isEmpty)
    #expect(try saved.expire(at: now + 10) == 1)
    #expect(saved.count == 1)
  }

  @Test func `deleting says how many there were (R8.2)`() throws {
    var saved: SavedActivities? = try saved(["a", "b", "c"])
    try saved?.save(.sample(9, app: "com.example.other", title: "other"), at: now)
    #expect(try saved?.deleteAll(of: "com.example") == 3)
    #expect(try saved?.deleteAll(of: "com.example") == 0)
    saved = nil
    saved = try SavedActivities.open(in: folder.open())
    #expect(saved?.count == 1)
    #expect(try saved?.deleteAll() == 1)
    #expect(try saved?.search("other", at: now).isEmpty == true)
    try saved?.check()
    #expect(saved?.notice == nil)
  }

  @Test(arguments: [true, false])
  func `what an app had saved is not left in the file (R8.2)`(isApp: Bool) throws {
    let secret = "zanzibar"
    let saved = try saved((0..<300).map { "title \($0)" })
    for number in 0..<50 {
      let document = Array("\(secret) \(number)".utf8)
      try saved.save(.sample(number, app: "com.example.b", title: secret, text: secret, document: document), at: now)
    }
    func isLeft() throws -> Bool {
      try folder.names().contains { try folder.data($0).ranges(of: Data(secret.utf8)).count > 0 }
    }
    #expect(try isLeft())
    #expect(try isApp ? saved.deleteAll(of: "com.example.b") == 50 : saved.deleteAll() == 350)
    #expect(try !isLeft())
    #expect(try saved.search("title", at: now, limit: 500).count == (isApp ? 300 : 0))
  }

  @Test func `the oldest go beyond the bounds (R8.1)`() throws {
    let state = try folder.open()
    do {
      let saved = try SavedActivities.open(in: state, bound: .init(count: 3, bytes: 1 << 20))
      for number in 0..<5 { try saved.save(.sample(number, title: "title \(number)"), at: now) }
      #expect(try saved.search("title", at: now).map(\.persistentIdentifier) == ["name4", "name3", "name2"])
    }
    let saved = try SavedActivities.open(in: state, bound: .init(count: 3, bytes: 20_000))
    try saved.save(.sample(7, title: "title 7", document: [UInt8](repeating: 1, count: 18_500)), at: now)
    #expect(try saved.search("title", at: now).map(\.persistentIdentifier) == ["name7", "name4"])
    #expect(saved.count == 2)
  }

  @Test func `what one process has saved takes a quarter of the room, and its oldest go (R8.1)`() throws {
    let saved = try SavedActivities.open(in: folder.open(), bound: .init(count: 40, bytes: 80_000))
    for number in 0..<3 { try saved.save(.sample(number, title: "others"), at: now) }
    for number in 10..<60 { try saved.save(.sample(number, title: "flood", by: Identifier(7)), at: now) }
    #expect(try saved.search("others", at: now).count == 3)
    let left = try saved.search("flood", at: now).map(\.persistentIdentifier)
    #expect(left.count == 10 && left.first == "name59")
    let large = [UInt8](repeating: 1, count: 15_000)
    for number in 60..<64 {
      try saved.save(.sample(number, title: "large", document: large, by: Identifier(8)), at: now)
    }
    #expect(try saved.search("large", at: now).map(\.persistentIdentifier) == ["name63"])
    #expect(try saved.search("others", at: now).count == 3)
  }

  @Test func `what is deleted or has expired gives its space back`() throws {
    let saved = try SavedActivities.open(in: folder.open())
    let large = [UInt8](repeating: 1, count: 4 << 20)
    for way in 0..<3 {
      for number in 0..<2 {
        try saved.save(.sample(number, title: "large", document: large, expires: now + 5), at: now)
      }
      switch way {
      case 0: try saved.delete(["name0", "name1"], of: "com.example")
      case 1: try saved.deleteAll(of: "com.example")
      default: try saved.expire(at: now + 10)
      }
      #expect(try folder.data("search.db").count < 1_500_000 && folder.data("search.db-wal").count < 1_500_000)
    }
  }

  @Test func `a file of the first version is read, and written on`() throws {
    let state = try folder.open()
    do {
      let opened = try Database.open(
        SavedActivities.fileName, in: state, Schema(steps: [SavedActivities.schema.steps[0]], probes: []), .normal)
      try opened.database.runAll(
        """
        INSERT INTO saved (app, team, activity, persistent, type, shown, saved, expires, size, title, keywords, text)
        VALUES ('com.example.old', 'T', zeroblob(16), 'old', 't', 'Old', 1, 9e9, 600, 'old', '', '');
        INSERT INTO words (rowid, title, keywords, text) SELECT number, title, keywords, text FROM saved;
        """)
    }
    let saved = try SavedActivities.open(in: state)
    try saved.save(.sample(1, title: "new", appName: "Notes"), at: now)
    let found = try saved.search("", at: now)
    #expect(saved.notice == nil && found.map(\.title) == ["new", "Old"] && found.map(\.appName) == ["Notes", ""])
  }

  @Test func `text and queries have limits, with errors that name them`() throws {
    let saved = try SavedActivities.open(in: folder.open())
    let long = String(repeating: "x", count: Limits.searchableText)
    #expect(
      thrown { try saved.save(.sample(1, title: nil, keywords: ["k"], text: long), at: now) }?.status == .limitExceeded)
    try saved.save(.sample(1, title: nil, keywords: [], text: long), at: now)
    #expect(thrown { try saved.save(.sample(1, app: "", title: nil), at: now) }?.status == .invalidArgument)
    let query = String(repeating: "x ", count: Limits.queryWords)
    #expect(try saved.search(query, at: now).isEmpty)
    #expect(thrown { try saved.search(query + "x", at: now) }?.message.contains("33 words, at most 32") == true)
    #expect(thrown { try saved.search(long, at: now) }?.status == .limitExceeded)
    #expect(try saved.search(String(repeating: "本", count: 341), at: now).isEmpty)
  }
}

extension SavedActivity {
  static func sample(
    _ number: Int, app: String = "com.example", title: String?, keywords: [String] = [], text: String = "",
    document: [UInt8]? = nil, expires: Double? = nil, by account: Identifier? = nil,
    appName: String = ""
  ) -> SavedActivity {
    SavedActivity(
      app: app, appName: appName, team: "T", activity: Identifier(number), persistentIdentifier: "name\(number)",
      type: "com.example.edit", title: title, keywords: keywords, searchableText: text,
      webpageURL: "https://example.com/\(number)",
      document: document ?? [UInt8(truncatingIfNeeded: number)], expirationDate: expires,
      principal: account)
  }
}
