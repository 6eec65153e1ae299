// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSQLite
import Foundation
import SegueModel
import Testing

@testable import SegueStore
@testable import StoreProbe

/// Files that are damaged, of a newer version, or of another program: never a trap, never a reason not to start.
@Suite struct DamageTests {
  let folder = TemporaryFolder()
  let now = 1_800_000_000.0

  private func filled() throws -> Inbox {
    let inbox = try Inbox.open(in: folder.open())
    var workload = Workload(seed: 3)
    for _ in 0..<60 { _ = try inbox.run(workload.next(), at: workload.now) }
    return inbox
  }

  /// Calls everything; whether no call threw.
  private func use(_ inbox: Inbox, seed: Int) throws(SegueError) {
    _ = try inbox.summary()
    var workload = Workload(seed: UInt64(seed))
    for _ in 0..<40 { _ = try inbox.run(workload.next(), at: workload.now) }
  }

  @Test(arguments: seeds(3))
  func `pages that are damaged at random lead to errors, and to a new inbox (R3.8)`(seed: Int) throws {
    _ = try filled()
    let whole = try folder.data("inbox.db")
    var random = Workload(seed: UInt64(seed))
    for round in 0..<80 {
      for name in folder.names() where name != "machine" { unlink("\(folder.state)/\(name)") }
      var damaged = whole
      switch random.below(4) {
      case 0:
        let page = random.below(whole.count / 4096) * 4096
        damaged.replaceSubrange(page..<page + 4096, with: Data(count: 4096))
      case 1: damaged = damaged.prefix(random.below(whole.count))
      default: for _ in 0...random.below(30) { damaged[random.below(whole.count)] = UInt8(random.below(256)) }
      }
      try folder.write(damaged, "inbox.db")
      // As after an unclean end, or not.
      if random.below(2) == 0 { try folder.write(Data(), "inbox.db.suspect") }
      var (isUsable, said) = (false, "")
      for _ in 0..<4 where !isUsable {
        let what = "seed \(seed), round \(round)"
        do {
          let inbox = try Inbox.open(in: folder.open())
          try use(inbox, seed: round)
          isUsable = true
        } catch let error as SegueError {
          said = error.message
          // The file states a version that a newer Segue may have written.
          if error.status == .unsupportedVersion {
            isUsable = true
            continue
          }
          #expect(error.status == .malformed || error.status == .system, "\(what): \(error.message)")
        }
      }
      #expect(isUsable, "seed \(seed), round \(round): \(said)")
    }
  }

  @Test func `an inbox is checked after an unclean end, and a damaged one set aside (R3.8)`() throws {
    _ = try filled()
    _ = try Inbox.open(in: folder.open())
    // Its log has another page than those that are damaged below.
    let inbox = try Inbox.open(in: folder.open())
    try inbox.markUsed("com.example.other", at: now)
    let copy = TemporaryFolder()
    for name in ["machine", "inbox.db", "inbox.db-wal"] {
      if mkdir(copy.state, 0o700) != 0 { #expect(errno == EEXIST) }
      try copy.write(try folder.data(name), name)
    }
    // A page of the index of continuations: no query of the next lines would notice.
    var data = try copy.data("inbox.db")
    for number in 0..<16 {
      for place in data.ranges(of: Data(Sample.id(number).bytes)).dropFirst() { data[place.upperBound - 1] = 0xee }
    }
    try copy.write(data, "inbox.db")
    let opened = try Inbox.open(in: copy.open())
    let notice = try #require(opened.notice)
    #expect(notice.contains("is damaged") && notice.contains("inbox.db.damaged-1"), "\(notice)")
    #expect(try opened.entries().isEmpty)
    #expect(try opened.put(.sample(1), at: now) == .stored)
    #expect(copy.names().contains("inbox.db.damaged-1") && copy.names().contains("inbox.db.damaged-1-wal"))
  }

  @Test func `an error of damage stays, and the next opening begins anew`() throws {
    let state = try folder.open()
    do {
      let inbox = try Inbox.open(in: state)
      _ = try inbox.put(.sample(1), at: now)
      let damage = inbox.database.damaged("for a test")
      #expect(thrown { try inbox.entries() } == damage)
      #expect(thrown { try inbox.put(.sample(2), at: now) } == damage)
    }
    #expect(folder.names().contains("inbox.db.suspect"))
    // It was checked, and nothing was found.
    do {
      let inbox = try Inbox.open(in: state)
      #expect(try inbox.notice == nil && inbox.entries().count == 1)
    }
    #expect(!folder.names().contains("inbox.db.suspect"))
    // But if that happens again, the file has to go.
    do {
      let inbox = try Inbox.open(in: state)
      _ = inbox.database.damaged("for a test")
    }
    do { _ = try Inbox.open(in: state).database.damaged("again") }
    let next = try Inbox.open(in: state)
    #expect(try next.notice?.contains("damaged-1") == true && next.entries().isEmpty)
  }

  /// A database with the tables of the inbox or of saved activities, but no checks of types.
  /// - Returns: false if SQLite itself does not take the value there.
  private func lax(_ name: String, _ schema: Schema, _ statements: String) throws -> Bool {
    try? FileManager.default.removeItem(atPath: folder.state)
    #expect(mkdir(folder.state, 0o700) == 0)
    try folder.write(Data((TemporaryFolder.machine.text + "\n").utf8), "machine")
    let text = schema.steps.map { "\($0)" }.joined().replacing("STRICT", with: "")
      .replacing(/(TEXT|REAL|INTEGER|BLOB) NOT NULL/) { $0.output.1 }.replacing(
        /CHECK \([a-z_]+ ?(>=|BETWEEN)[^)]*\)/, with: ""
      )
      .replacing(/CHECK \(length[^)]*\) = 16\)/, with: "").replacing(/CHECK \(\(payload[^)]*\) = \([^)]*\)\)/, with: "")
    var connection: OpaquePointer?
    #expect(sqlite3_open("\(folder.state)/\(name)", &connection) == SQLITE_OK)
    let all = "\(text); \(statements); PRAGMA application_id=1399154549; PRAGMA user_version=\(schema.version)"
    let code = sqlite3_exec(connection, all, nil, nil, nil)
    #expect(code == SQLITE_OK || code == SQLITE_MISMATCH, "\(String(cString: sqlite3_errmsg(connection)))")
    sqlite3_close(connection)
    return code == SQLITE_OK
  }

  static let wrong = ["NULL", "-1", "1e999", "'text'", "x'ff'", "zeroblob(40000)", "CAST(x'fffe' AS TEXT)", "1 << 62"]

  @Test(arguments: wrong)
  func `each cell of an entry is checked when it is read`(value: String) throws {
    let good = [
      "number": "1", "continuation": "zeroblob(16)", "app": "'com.example.a'", "stale": "0", "payload": "1",
      "state": "0", "attempts": "0", "crashes": "0", "received": "1.0", "expires": "3e9", "ended": "NULL",
      "activity": "zeroblob(16)", "origin": "zeroblob(16)", "origin_app": "'a'", "origin_bundle": "'b'",
      "device": "'d'", "type": "'t'", "title": "'t'", "payload_version": "1", "size_hint": "1", "expiration": "3e9",
      "streams": "1",
    ]
    let payload = "INSERT INTO payloads VALUES (1, 1, x'01')"
    for column in good.keys.sorted() {
      var row = good
      row[column] = value
      let (names, values) = (row.keys.sorted(), row.keys.sorted().map { row[$0]! })
      let insert =
        "INSERT OR IGNORE INTO entries (\(names.joined(separator: ","))) VALUES (\(values.joined(separator: ",")))"
      guard try lax("inbox.db", Inbox.schema, "\(payload); \(insert)") else { continue }
      // It may be as good as the right one; what matters is that nothing worse than an error follows.
      do {
        let inbox = try Inbox.open(in: folder.open())
        try use(inbox, seed: 1)
      } catch let error as SegueError {
        #expect(error.status == .malformed, "\(column): \(error.message)")
      }
    }
  }

  @Test(arguments: wrong)
  func `each cell of other tables is checked when it is read`(value: String) throws {
    let entry = """
      INSERT INTO entries VALUES (1, zeroblob(16), 'com.example.app0', 0, 1, 0, 0, 0, 1.0, 3e9, NULL, zeroblob(16),
        zeroblob(16), 'a', 'b', 'd', 't', 't', 1, 1, NULL, 1)
      """
    for (table, values) in [
      ("payloads", ["1", "1", "x'01'"]), ("attachments", ["1", "1", "'a'", "1", "1"]), ("parts", ["1", "1", "x'01'"]),
      (
        "kept",
        [
          "1", "''", "1", "1.0", "3e9", "zeroblob(16)", "zeroblob(16)", "'a'", "'b'", "'d'", "'t'", "'t'", "1", "1",
          "NULL", "1",
        ]
      ),
      ("choices", ["'t'", "'a'"]), ("uses", ["'a'", "1.0"]),
      ("receipts", ["1", "zeroblob(16)", "zeroblob(16)", "'d'", "'a'", "'b'", "1", "0", "''", "0", "1.0", "0"]),
    ] {
      for column in values.indices {
        var row = values
        row[column] = value
        var statements = "INSERT OR IGNORE INTO \(table) VALUES (\(row.joined(separator: ",")))"
        if table != "payloads" { statements += "; INSERT INTO payloads VALUES (1, 1, x'01')" }
        if table == "parts" { statements += "; INSERT INTO attachments VALUES (1, 1, 'a', 1, 1)" }
        guard try lax("inbox.db", Inbox.schema, "\(statements); \(entry)") else { continue }
        do {
          try use(try Inbox.open(in: folder.open()), seed: 1)
        } catch let error as SegueError {
          #expect(error.status == .malformed, "\(table) \(column): \(error.message)")
        }
      }
    }
  }

  @Test(arguments: wrong)
  func `each cell of a saved activity is checked when it is read`(value: String) throws {
    let good = [
      "1", "'a'", "'T'", "zeroblob(16)", "'p'", "'t'", "'s'", "'w'", "1.0", "3e9", "1", "'title'", "''", "''", "'A'",
      "zeroblob(16)", "3e9",
    ]
    for column in good.indices {
      var row = good
      row[column] = value
      let insert = "INSERT OR IGNORE INTO saved VALUES (\(row.joined(separator: ",")))"
      guard try lax("search.db", SavedActivities.schema, insert) else { continue }
      do {
        let saved = try SavedActivities.open(in: folder.open())
        for result in try saved.search("", at: now) { _ = thrown { try saved.document(of: result) } }
        try saved.check()
        _ = try saved.search("title", at: now)
        try saved.deleteAll(of: "a")
      } catch let error as SegueError {
        #expect(error.status == .malformed, "\(column): \(error.message)")
      }
    }
  }

  /// The columns of the row of a clock, with values that damage can put there; `lax` writes them.
  static let readings =
    ["1e300", "9e9", "-1e300", "-1.0", "NULL", "'text'"].map { ("date", $0) }
    + ["-1", "9223372036854775807", "-9223372036854775807 - 1", "NULL", "1.5"].map { ("uptime", $0) }
    + ["1e300", "-1e300", "NULL"].map { ("steady", $0) } + [("boot", "NULL"), ("boot", "x'ff'")]

  @Test(arguments: readings)
  func `a clock that is damaged begins anew, and ends nothing (R2.5, R3.8, R8.1)`(column: String, value: String) throws
  {
    var row = ["number": "0", "boot": "'one'", "uptime": "1000", "date": "1800000000.0", "steady": "0.0"]
    row[column] = value
    let names = row.keys.sorted()
    let clock =
      "INSERT INTO clock (\(names.joined(separator: ","))) VALUES (\(names.map { row[$0]! }.joined(separator: ",")))"
    func reading(_ passed: Double) -> ClockReading {
      ClockReading(Instant(uptime: 61_000 + Int64(passed * 1000), date: now + 60 + passed), boot: "one")
    }
    let own = now + 3_600
    if try lax(
      "inbox.db", Inbox.schema,
      """
      \(clock);
      INSERT INTO payloads VALUES (1, 1, x'01'), (2, 1, x'01'), (3, 1, x'01');
      INSERT INTO entries VALUES (1, zeroblob(16), 'a', 0, 1, 0, 0, 0, \(now), \(now + Limits.inboxLife), NULL,
        zeroblob(16), zeroblob(16), 'a', 'b', 'd', 't', 't', 1, 1, NULL, 1);
      INSERT INTO entries VALUES (2, x'01010101010101010101010101010101', 'a', 0, 2, 0, 0, 0, \(now), \(own), NULL,
        zeroblob(16), zeroblob(16), 'a', 'b', 'd', 't', 't', 1, 1, \(own), 1);
      INSERT INTO kept VALUES (1, '', 3, \(now), \(own), zeroblob(16), zeroblob(16), 'a', 'b', 'd', 't', 't', 1, 1,
        \(own), 1)
      """)
    {
      let inbox = try Inbox.open(in: folder.open())
      #expect(try inbox.follow(reading(0)) == nil)
      #expect(try inbox.expire(at: now + 60) == ([], []))
      #expect(try inbox.entries().map(\.expiresAt) == [now + Limits.inboxLife, own] && inbox.keptOffers().count == 1)
      let isRead = column == "uptime" && value.hasPrefix("9")
      #expect(inbox.takeReports().map { $0.hasSuffix("the clock begins anew") } == (isRead ? [] : [true]))
      // The disk has a good one again.
      #expect(try inbox.follow(reading(86_400)) == nil && inbox.takeReports() == [])
      #expect(try inbox.expire(at: now + 86_460).keptOffers.count == 1)
    }
    if try lax(
      "search.db", SavedActivities.schema,
      """
      \(clock);
      INSERT INTO saved VALUES (1, 'a', 'T', zeroblob(16), 'p', 't', 's', 'w', \(now), \(now + Limits.savedLife), 1, '',
        '', '', 'A', NULL, NULL)
      """)
    {
      let saved = try SavedActivities.open(in: folder.open())
      #expect(try saved.follow(reading(0)) == nil && saved.expire(at: now + 60) == 0)
      #expect(try saved.search("", at: now).map(\.expiresAt) == [now + Limits.savedLife])
    }
  }

  @Test func `a size that is damaged stops no save (R8.1)`() throws {
    let sizes =
      "INSERT INTO saved VALUES (1, 'a', 'T', zeroblob(16), 'p', 't', 's', 'w', 1.0, 3e9, 9223372036854774784, "
    #expect(try lax("search.db", SavedActivities.schema, sizes + "'', '', '', 'A', NULL, NULL)"))
    let saved = try SavedActivities.open(in: folder.open())
    try saved.save(.sample(2, title: "title", text: String(repeating: "text ", count: 200)), at: now)
    #expect(try saved.search("title", at: now).count == 1)
  }

  @Test(arguments: [Int64.max, 1 << 31, -1])
  func `an entry whose count of attempts is damaged holds up no other one (R3.8)`(count: Int64) throws {
    let entry = "zeroblob(16), zeroblob(16), 'a', 'b', 'd', 't', 't', 1, 1, NULL, 1)"
    #expect(
      try lax(
        "inbox.db", Inbox.schema,
        """
        INSERT INTO payloads VALUES (1, 1, x'01'), (2, 1, x'01');
        INSERT INTO entries VALUES (1, x'01010101010101010101010101010101', 'a', 0, 1, 0, \(count), 0, 1.0,
          3e9, NULL, \(entry);
        INSERT INTO entries VALUES (2, zeroblob(16), 'a', 0, 2, 0, 0, 0, 1.0, 3e9, NULL, \(entry)
        """))
    let inbox = try Inbox.open(in: folder.open())
    #expect(try inbox.beginDelivery(to: "a", at: now)?.number == 2)
    #expect(try inbox.entries().map(\.number) == [2])
  }

  @Test func `a newer inbox is left as it is, to the byte, and search goes on`() throws {
    let inbox = try filled()
    try inbox.database.setVersion(8)
    let copy = TemporaryFolder()
    #expect(mkdir(copy.state, 0o700) == 0)
    for name in ["machine", "inbox.db", "inbox.db-wal"] { try copy.write(try folder.data(name), name) }
    let before = (try copy.data("inbox.db"), try copy.data("inbox.db-wal"))
    let state = try copy.open()
    for _ in 0..<2 {
      let error = try #require(thrown { try Inbox.open(in: state) })
      #expect(error.status == .unsupportedVersion && error.message.contains("version 8, known is 7"))
    }
    #expect(try before == (copy.data("inbox.db"), copy.data("inbox.db-wal")))
    #expect(try SavedActivities.open(in: state).count == 0)
  }

  @Test func `an older schema is migrated, step by step, or not at all`() throws {
    let state = try folder.open()
    let (first, second, third): (StaticString, StaticString, StaticString) = (
      "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1)", "ALTER TABLE a ADD COLUMN y TEXT",
      "UPDATE a SET y = 'new'; CREATE TABLE b (z) STRICT"
    )
    func open(_ steps: [StaticString]) throws(SegueError) -> Database {
      try Database.open("test.db", in: state, Schema(steps: steps, probes: ["SELECT x FROM a"]), .full).database
    }
    func versions(_ database: Database) throws(SegueError) -> Int64? {
      try database.first("PRAGMA user_version") { row throws(SegueError) in try row.integer(0) }
    }
    #expect(try versions(open([first])) == 1)
    // The third step is wrong: a column of a strict table has a type.
    #expect(thrown { try open([first, second, third]) }?.status == .system)
    #expect(try versions(open([first])) == 1)
    let database = try open([first, second, "UPDATE a SET y = 'new'"])
    #expect(try versions(database) == 3)
    #expect(try database.first("SELECT y FROM a") { row throws(SegueError) in try row.text(0, atMost: 9) } == "new")
  }

  @Test func `a database of another program, or without a table, is set aside`() throws {
    let state = try folder.open()
    func make(_ statements: String) throws {
      unlink("\(folder.state)/inbox.db")
      var connection: OpaquePointer?
      #expect(sqlite3_open("\(folder.state)/inbox.db", &connection) == SQLITE_OK)
      #expect(sqlite3_exec(connection, statements, nil, nil, nil) == SQLITE_OK)
      sqlite3_close(connection)
    }
    try make("CREATE TABLE bookmarks (url)")
    #expect(try Inbox.open(in: state).notice?.contains("another program") == true)
    try make("PRAGMA application_id=1399154549; PRAGMA user_version=1")
    #expect(try Inbox.open(in: state).notice?.contains("a table is missing") == true)
    try make("PRAGMA application_id=1399154549; PRAGMA user_version=-1")
    #expect(try Inbox.open(in: state).notice?.contains("version is -1") == true)
    try folder.write(Data("no database at all, but text".utf8), "inbox.db")
    #expect(try Inbox.open(in: state).notice?.contains("damaged-4") == true)
    for _ in 0..<3 {
      try folder.write(Data("no database at all, but text".utf8), "inbox.db")
      #expect(try Inbox.open(in: state).notice?.contains("damaged-5") == true)
    }
    for part in ["", "-wal", "-journal"] {
      unlink("\(folder.state)/inbox.db")
      _ = try Inbox.open(in: state)
      unlink("\(folder.state)/inbox.db\(part)")
      #expect(mkfifo("\(folder.state)/inbox.db\(part)", 0o600) == 0)
      let error = try #require(thrown { try Inbox.open(in: state) })
      #expect(error.status == .system && error.message.hasSuffix("inbox.db\(part): is no regular file; move it away"))
      unlink("\(folder.state)/inbox.db\(part)")
    }
    unlink("\(folder.state)/inbox.db")
    #expect(symlink("/etc/passwd", "\(folder.state)/inbox.db") == 0)
    #expect(thrown { try Inbox.open(in: state) }?.status == .system)
    #expect(try Data(contentsOf: URL(fileURLWithPath: "/etc/passwd")).starts(with: Data("root".utf8)))
  }

  @Test func `an index that does not fit what is saved is made anew (R8.1)`() throws {
    let state = try folder.open()
    do {
      let saved = try SavedActivities.open(in: state)
      for number in 0..<20 { try saved.save(.sample(number, title: "title \(number)"), at: now) }
    }
    var connection: OpaquePointer?
    #expect(sqlite3_open("\(folder.state)/search.db", &connection) == SQLITE_OK)
    #expect(
      sqlite3_exec(connection, "UPDATE saved SET title = 'word' WHERE number = 3", nil, nil, nil) == SQLITE_OK)
    sqlite3_close(connection)
    let saved = try SavedActivities.open(in: state)
    #expect(try saved.search("word", at: now).isEmpty)
    try saved.check()
    #expect(saved.notice?.contains("made anew") == true)
    #expect(try saved.search("word", at: now).count == 1)
  }
}
