// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSQLite
import SegueAgentCore
import SegueModel

/// Saved activities, and the index to search them (handoff.md section 8): at most `Limits.savedActivities` of at most
/// `Limits.savedBytes`, beyond which the oldest go.
///
/// The changes of a call survive the end of the process; a loss of power may take the last calls back, since apps save
/// again. For the rest the rules of `Inbox` hold: no clock, one thread at a time, errors.
public final class SavedActivities: @unchecked Sendable {
  static let fileName = "search.db"
  private let database: Database
  /// The message for the user that a damaged file was set aside, where, and why, or that the index was made anew.
  public private(set) var notice: String?
  private var total: Total
  /// The most that is saved.
  private let bound: Total
  private var clock = StoredClock()

  struct Total {
    var count: Int64 = 0
    var bytes: Int64 = 0
  }

  /// Opens the file, and creates it if necessary.
  /// Throws UNSUPPORTED_VERSION if the file is of a newer version (which leaves it untouched), SYSTEM, BUSY.
  public static func open(in folder: StateFolder) throws(SegueError) -> SavedActivities {
    try open(in: folder, bound: Total(count: Limits.savedActivities, bytes: Limits.savedBytes))
  }

  static func open(in folder: StateFolder, bound: Total) throws(SegueError) -> SavedActivities {
    let opened = try Database.open(fileName, in: folder, schema, .normal)
    let total = try opened.database.first("SELECT count(*), total(size) FROM saved") {
      row throws(SegueError) in Total(count: try row.integer(0), bytes: Int64(exactly: try row.real(1)) ?? 0)
    }
    let saved = SavedActivities(opened, total ?? Total(), bound)
    if opened.wasSuspect { try saved.check() }
    return saved
  }

  private init(_ opened: OpenedDatabase, _ total: Total, _ bound: Total) {
    self.bound = bound
    database = opened.database
    notice = opened.notice
    self.total = total
  }

  /// Whether a folder has saved activities.
  public static func isThere(in folder: StateFolder) -> Bool { folder.has(fileName) }

  /// Frees what is in memory to be read faster (at most 1 MiB), for a time in which nothing happens.
  public func releaseMemory() { database.releaseMemory() }

  /// Tells of what cannot be read: it is left out, and stays in the file. Each is told once.
  public func takeReports() -> [String] { database.takeReports() }

  // MARK: Saving

  /// Saves an activity in place of what the same app has saved of it, or under its persistent identifier.
  ///
  /// Throws LIMIT_EXCEEDED for text or a document that is too long, INVALID_STATE if it has expired.
  public func save(_ activity: SavedActivity, at now: Double) throws(SegueError) {
    try Self.check(activity)
    let expiry = activity.expirationDate ?? now + Limits.savedLife
    guard expiry > now else { throw SegueError(.invalidState, "activity: has expired") }
    let keywords = SearchText.spaced(activity.keywords.joined(separator: "\n"))
    let title = SearchText.spaced(activity.title ?? "")
    let text = SearchText.spaced(activity.searchableText)
    let size = Self.overhead + activity.document.count + 2 * (title.utf8.count + keywords.utf8.count + text.utf8.count)
    try change { total throws(SegueError) in
      try removeEarlier(activity, &total)
      try database.run(
        """
        INSERT INTO saved
          (app, activity, persistent, type, shown, webpage, saved, expires, size, title, keywords, text, team,
          account, app_name, expiration)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        """,
        [
          .text(activity.app), Cell(activity.activity), Cell(activity.persistentIdentifier), .text(activity.type),
          Cell(activity.title), Cell(activity.webpageURL), .real(now), .real(expiry), .integer(Int64(size)),
          .text(title), .text(keywords), .text(text), .text(activity.team),
          activity.principal.map { Cell($0) } ?? .null,
          .text(activity.appName), Cell(activity.expirationDate),
        ])
      let new = Cell.integer(database.lastRow)
      try database.run(
        "INSERT INTO words (rowid, title, keywords, text) VALUES (?1, ?2, ?3, ?4)",
        [new, .text(title), .text(keywords), .text(text)])
      try database.run("INSERT INTO documents (number, document) VALUES (?1, ?2)", [new, .blob(activity.document)])
      total.count += 1
      // A damaged file may state any size of the others.
      total.bytes &+= Int64(size)
      if let principal = activity.principal { try makeRoom(inShareOf: Cell(principal), &total) }
      while total.count > 1, total.count > bound.count || total.bytes > bound.bytes {
        guard let oldest = try number("SELECT min(number) FROM saved", []) else { break }
        try remove(oldest, &total)
      }
    }
  }

  /// The share of all that one process may save, under whatever names.
  private static let share: Int64 = 4

  /// Removes the oldest saved activities of a process until they take at most its share, or only one is left.
  private func makeRoom(inShareOf principal: Cell, _ total: inout Total) throws(SegueError) {
    let most = Total(count: bound.count / Self.share, bytes: bound.bytes / Self.share)
    while total.count > most.count || total.bytes > most.bytes {
      let own = try database.first(
        "SELECT count(*), total(size), min(number) FROM saved WHERE account = ?1", [principal]
      ) { row throws(SegueError) in
        let total = Total(count: try row.integer(0), bytes: Int64(exactly: try row.real(1)) ?? 0)
        return (total: total, oldest: try row.integer(2))
      }
      guard let own, own.total.count > 1, own.total.count > most.count || own.total.bytes > most.bytes else { return }
      try remove(own.oldest, &total)
    }
  }

  /// The bytes that a saved activity takes in the file besides its text and document, about.
  private static let overhead = 512

  private static func check(_ activity: SavedActivity) throws(SegueError) {
    try Text.check(activity.app, "app", atMost: Limits.identifier)
    try Text.check(Optional(activity.appName), "app name", atMost: Limits.identifier)
    try Text.check(Optional(activity.team), "team", atMost: Limits.identifier)
    try Text.check(activity.type, "type", atMost: Limits.type)
    try Text.check(activity.title, "title", atMost: Limits.title)
    try Text.check(activity.persistentIdentifier, "persistent_identifier", atMost: Limits.identifier)
    try Text.check(activity.webpageURL, "webpage_url", atMost: Limits.url)
    let searchable = activity.keywords.reduce(activity.searchableText.utf8.count) { $0 + $1.utf8.count }
    guard searchable <= Limits.searchableText else {
      throw SegueError(
        .limitExceeded, "searchable text: \(searchable) bytes with the keywords, at most \(Limits.searchableText)")
    }
    guard activity.document.count <= Limits.value + 64 * 1024 else {
      throw SegueError(.limitExceeded, "document: \(activity.document.count) bytes, which is too much")
    }
  }

  // MARK: Searching

  /// The saved activities that have all words of a query, in title, keywords or text: the newest first.
  ///
  /// Words are compared without case and accents; one that ends in `*` is a prefix; without words all are found.
  /// - Parameter limit: the most results, up to 1,000.
  /// - Parameter app: a bundle identifier, if only that app's are wanted.
  /// - Parameter after: the number of the result after which to go on.
  /// Throws LIMIT_EXCEEDED for a query that is too long.
  public func search(
    _ query: String, at now: Double, limit: Int = 20, app: String? = nil, after: Int64? = nil
  ) throws(SegueError) -> [SearchResult] {
    let expression = try SearchText.expression(query)
    var found: [SearchResult] = []
    let cells: [Cell] = [
      .real(now), Cell(app), .integer(Int64(max(0, min(limit, Self.mostResults)))), .integer(after ?? .max),
    ]
    if let expression {
      try database.forEachReadableRow("a saved activity", Self.matching, cells + [.text(expression)]) {
        row throws(SegueError) in
        found.append(try Self.result(row))
      }
    } else {
      try database.forEachReadableRow("a saved activity", Self.newest, cells) { row throws(SegueError) in
        found.append(try Self.result(row))
      }
    }
    return found
  }

  /// The saved activity of that name, or without one of that identifier, as it is now; nil if there is none, or it has
  /// expired.
  public func find(
    _ activity: Identifier, named persistentIdentifier: String?, of app: String, at now: Double
  ) throws(SegueError) -> SearchResult? {
    let cells: [Cell] = [.real(now), .text(app), Cell(persistentIdentifier), Cell(activity)]
    return try database.firstReadable("a saved activity", Self.named, cells) {
      row throws(SegueError) in try Self.result(row)
    }
  }

  /// Results of one search.
  private static let mostResults = 1_000

  private static func result(_ row: Row) throws(SegueError) -> SearchResult {
    SearchResult(
      app: try row.text(1, atMost: Limits.identifier), appName: try row.text(10, atMost: Limits.identifier),
      team: try row.text(9, atMost: Limits.identifier),
      activity: try row.identifier(2),
      persistentIdentifier: try row.optionalText(3, atMost: Limits.identifier),
      type: try row.text(4, atMost: Limits.type), title: try row.optionalText(5, atMost: Limits.title),
      webpageURL: try row.optionalText(6, atMost: Limits.url), savedAt: try row.real(7), expiresAt: try row.real(8),
      number: try row.integer(0))
  }

  /// The activity document of a result. Throws NOT_FOUND if it was deleted since.
  public func document(of result: SearchResult) throws(SegueError) -> [UInt8] {
    let found = try database.first("SELECT document FROM documents WHERE number = ?1", [.integer(result.number)]) {
      row throws(SegueError) in try row.blob(0, atMost: Limits.value + 64 * 1024)
    }
    guard let found else { throw SegueError(.notFound, "saved activity: was deleted since it was found") }
    return found
  }

  /// The number of saved activities.
  public var count: Int { Int(clamping: total.count) }

  // MARK: Deleting

  /// Deletes an app's saved activities with these persistent identifiers (R8.2), and those that were saved of these
  /// activities (R10.2).
  /// - Returns: how many there were.
  @discardableResult
  public func delete(
    _ persistentIdentifiers: [String], _ activities: [Identifier] = [], of app: String
  ) throws(SegueError) -> Int {
    defer { database.giveBack() }
    return try change { total throws(SegueError) in
      var count = 0
      for identifier in persistentIdentifiers {
        let found = try number(
          "SELECT number FROM saved WHERE app = ?1 AND persistent = ?2", [.text(app), .text(identifier)])
        guard let found else { continue }
        try remove(found, &total)
        count += 1
      }
      for activity in activities {
        count += try removeAll(
          "SELECT number FROM saved WHERE app = ?1 AND activity = ?2", [.text(app), Cell(activity)], &total)
      }
      return count
    }
  }

  /// Deletes all saved activities of an app (R8.2). Nothing of them is left in the file, which takes up to a second if
  /// the file is large.
  /// - Returns: how many there were.
  @discardableResult
  public func deleteAll(of app: String) throws(SegueError) -> Int {
    let count = try change { total throws(SegueError) in
      let count = try removeAll("SELECT number FROM saved WHERE app = ?1", [.text(app)], &total)
      // The index keeps words of what was deleted until it merges its parts.
      if count > 0 { try database.run("INSERT INTO words (words) VALUES ('optimize')") }
      return count
    }
    database.giveBack()
    database.emptyLog()
    return count
  }

  /// Deletes everything; nothing of it is left in the file.
  /// - Returns: how many there were.
  @discardableResult
  public func deleteAll() throws(SegueError) -> Int {
    let count = try change { total throws(SegueError) in
      let count = total.count
      try database.run("INSERT INTO words (words) VALUES ('delete-all')")
      try database.run("DELETE FROM documents")
      try database.run("DELETE FROM saved")
      total = Total()
      return Int(clamping: count)
    }
    database.giveBack()
    database.emptyLog()
    return count
  }

  /// As `Inbox.follow`.
  @discardableResult
  public func follow(_ reading: ClockReading, stores: Bool = false) throws(SegueError) -> Double? {
    try clock.follow(reading, stores: stores, in: database) { seconds throws(SegueError) in
      try database.run("UPDATE saved SET expires = expires + ?1 WHERE expiration IS NULL", [.real(seconds)])
    }
  }

  /// Deletes expired activities. Those with a date of their own stay while the device's date may be wrong (`follow`).
  /// - Returns: how many there were.
  @discardableResult
  public func expire(at now: Double) throws(SegueError) -> Int {
    guard clock.isKnown else { return 0 }
    let count = try change { total throws(SegueError) in
      try removeAll(
        "SELECT number FROM saved WHERE expires <= ?1 AND (?2 OR expiration IS NULL)",
        [.real(now), Cell(clock.isSteady)], &total)
    }
    database.giveBack()
    return count
  }

  /// Runs a change as one transaction; the totals change with it.
  private func change<Result>(
    _ body: (inout Total) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    var changed = total
    let result = try database.transaction { () throws(SegueError) in try body(&changed) }
    total = changed
    return result
  }

  /// Its former states: an activity has one entry, also after a change of its persistent identifier, and a persistent
  /// identifier has one activity.
  private func removeEarlier(_ activity: SavedActivity, _ total: inout Total) throws(SegueError) {
    _ = try removeAll(
      Self.earlier,
      [.text(activity.app), Cell(activity.activity), Cell(activity.persistentIdentifier)], &total)
  }

  private func removeAll(_ text: StaticString, _ cells: [Cell], _ total: inout Total) throws(SegueError) -> Int {
    var numbers: [Int64] = []
    try database.forEachRow(text, cells) { row throws(SegueError) in numbers.append(try row.integer(0)) }
    for number in numbers { try remove(number, &total) }
    return numbers.count
  }

  private func remove(_ number: Int64, _ total: inout Total) throws(SegueError) {
    let id = Cell.integer(number)
    let size = try self.number("SELECT size FROM saved WHERE number = ?1", [id])
    // The index must be told the words that it has.
    try database.run(
      """
      INSERT INTO words (words, rowid, title, keywords, text)
      SELECT 'delete', number, title, keywords, text FROM saved WHERE number = ?1
      """, [id])
    try database.run("DELETE FROM documents WHERE number = ?1", [id])
    try database.run("DELETE FROM saved WHERE number = ?1", [id])
    total.count -= 1
    total.bytes &-= size ?? 0
  }

  /// The integer of the first row; nil if there is none.
  private func number(_ text: StaticString, _ cells: [Cell]) throws(SegueError) -> Int64? {
    try database.first(text, cells) { row throws(SegueError) in row.isNull(0) ? nil : try row.integer(0) } ?? nil
  }

  // MARK: Checking

  /// Checks the whole file, which takes seconds if it is large, and makes the index anew if it does not fit what is
  /// saved (see `notice`).
  /// Throws MALFORMED if the file is damaged: then release the object and open it again.
  public func check() throws(SegueError) {
    try database.check()
    let code = database.result(of: "INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    guard code & 0xff == SQLITE_CORRUPT else {
      guard code == SQLITE_OK else { throw database.failure(code) }
      return
    }
    try database.run("INSERT INTO words (words) VALUES ('rebuild')")
    notice = "\(database.folder.path)/\(Self.fileName): the index did not fit what is saved, and was made anew"
  }
}
