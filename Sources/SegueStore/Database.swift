// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CSQLite
import SegueModel

/// One SQLite database of the state folder, used by one process and one thread at a time.
///
/// Once SQLite reports damage, or a row cannot be read that no list leaves out, every call fails with that. The file is
/// checked when it is opened next; if that finds nothing and the next user meets damage again, the file is set aside.
final class Database {
  let name: String
  let folder: StateFolder
  private let connection: OpaquePointer
  /// Prepared statements, which last as long as the connection.
  private var statements: [OpaquePointer] = []
  /// The index of each prepared statement, by the address of its text.
  private var places: [UnsafePointer<UInt8>: Int] = [:]
  private var damage: SegueError?
  private var isInTransaction = false
  /// Whether a row that cannot be read is left out.
  private var leavesOut = false
  /// The rows that were left out, and are to be told; those that were told.
  private var (leftOut, told): ([String], [String]) = ([], [])
  /// The most rows that are told of.
  private static let tellingLimit = 64

  init(_ name: String, _ folder: StateFolder, _ connection: OpaquePointer) {
    self.name = name
    self.folder = folder
    self.connection = connection
  }

  deinit {
    // A damaged database is not written to: what stands in its log may be of use.
    if damage != nil { keepLog(true) } else { folder.remove(name + StateFolder.doubt) }
    for statement in statements { sqlite3_finalize(statement) }
    sqlite3_close(connection)
  }

  /// Whether the end of the connection leaves the write-ahead log as it is.
  func keepLog(_ keeps: Bool) { _ = sqlite_configure(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps ? 1 : 0) }

  func configure(_ option: Int32, _ isOn: Bool) { _ = sqlite_configure(connection, option, isOn ? 1 : 0) }

  // MARK: Statements

  /// Runs a statement to its end.
  /// - Returns: the number of rows that it changed.
  @discardableResult
  func run(_ text: StaticString, _ cells: [Cell] = []) throws(SegueError) -> Int {
    try forEachRow(text, cells) { _ throws(SegueError) in }
    return Int(sqlite3_changes(connection))
  }

  /// Passes each row of a result. `body` must not run the same statement.
  func forEachRow(
    _ text: StaticString, _ cells: [Cell] = [], _ body: (Row) throws(SegueError) -> Void
  ) throws(SegueError) {
    let statement = try prepared(text, cells)
    defer { Self.end(statement) }
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: try body(Row(statement: statement, database: self))
      case SQLITE_DONE: return
      case let code: throw failure(code)
      }
    }
  }

  /// The result of `body` for the first row; nil if there is none.
  func first<Result>(
    _ text: StaticString, _ cells: [Cell] = [], _ body: (Row) throws(SegueError) -> Result
  ) throws(SegueError) -> Result? {
    let statement = try prepared(text, cells)
    defer { Self.end(statement) }
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return try body(Row(statement: statement, database: self))
    case SQLITE_DONE: return nil
    case let code: throw failure(code)
    }
  }

  // MARK: Rows that cannot be read

  static let isLeftOut: StaticString = "is left out, and stays in the file"

  /// Passes each row of a result. A row that `body` cannot read is left out, stays in the file, and is told
  /// (`takeReports`): it takes no other one with it.
  /// - Parameter item: what a row is, for people.
  func forEachReadableRow(
    _ item: StaticString, _ text: StaticString, _ cells: [Cell] = [], _ body: (Row) throws(SegueError) -> Void
  ) throws(SegueError) {
    try forEachRow(text, cells) { row throws(SegueError) in
      _ = try readable(item, Self.isLeftOut) { () throws(SegueError) in try body(row) }
    }
  }

  /// Returns the result of `body` for the first row; nil if there is none, or it is left out.
  /// - Parameter fate: what becomes of a row that cannot be read, for people.
  func firstReadable<Result>(
    _ item: StaticString, _ text: StaticString, _ cells: [Cell] = [], fate: StaticString = Database.isLeftOut,
    _ body: (Row) throws(SegueError) -> Result
  ) throws(SegueError) -> Result? {
    let found = try first(text, cells) { row throws(SegueError) in
      try readable(item, fate) { () throws(SegueError) in try body(row) }
    }
    return found ?? nil
  }

  /// Nil if a row cannot be read. Throws if the file is damaged.
  private func readable<Result>(
    _ item: StaticString, _ fate: StaticString, _ body: () throws(SegueError) -> Result
  ) throws(SegueError) -> Result? {
    leavesOut = true
    defer { leavesOut = false }
    do throws(SegueError) { return try body() } catch {
      guard error.status == .malformed, damage == nil else { throw error }
      let line = String(joining: "\(error.message): \(item) \(fate)")
      if told.count < Self.tellingLimit, !told.contains(where: { Text.isSame($0, line) }) {
        told.append(line)
        leftOut.append(line)
      }
      return nil
    }
  }

  /// The error for a row that cannot be read. If rows are not left out, the database counts as damaged.
  func unreadable(_ what: DiagnosticText) -> SegueError {
    leavesOut ? SegueError(.malformed, "\(folder.path)/\(name): \(what)") : damaged(what)
  }

  /// Tells of rows that were left out; each once.
  func takeReports() -> [String] {
    defer { leftOut = [] }
    return leftOut
  }

  // MARK: Transactions

  /// Runs `body` as one transaction: committed if it returns, undone if it or the commit throws. In a transaction, as
  /// part of that.
  func transaction<Result>(_ body: () throws(SegueError) -> Result) throws(SegueError) -> Result {
    guard !isInTransaction else { return try body() }
    try run("BEGIN IMMEDIATE")
    isInTransaction = true
    defer { isInTransaction = false }
    do throws(SegueError) {
      let result = try body()
      try run("COMMIT")
      return result
    } catch {
      // SQLite may have done it by itself.
      if sqlite3_get_autocommit(connection) == 0 { sqlite3_exec(connection, "ROLLBACK", nil, nil, nil) }
      throw error
    }
  }

  /// Runs several statements, none of which has a result.
  func runAll(_ text: StaticString) throws(SegueError) {
    let code = sqlite3_exec(connection, Self.pointer(text), nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// SQLite's own result of a statement.
  func result(of text: StaticString) -> Int32 { sqlite3_exec(connection, Self.pointer(text), nil, nil, nil) }

  /// Sets the version of the schema; a pragma takes no parameter.
  func setVersion(_ version: Int64) throws(SegueError) {
    let code = sqlite3_exec(connection, "PRAGMA user_version=\(version)", nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Frees the pages that are kept in memory, and can be read again.
  func releaseMemory() { _ = sqlite3_db_release_memory(connection) }

  /// Gives space back to the file system, if more than 1 MiB of the file is unused; if that fails, some other time.
  func giveBack() {
    guard !isInTransaction else { return }
    let unused = try? first("PRAGMA freelist_count") { row throws(SegueError) in try row.integer(0) }
    guard let unused, unused > 256, result(of: "PRAGMA incremental_vacuum") == SQLITE_OK else { return }
    // The file is shortened when the log is in it, and the log has become as long as what is given back.
    emptyLog()
  }

  /// Overwrites what the log has of former contents, and shortens it; if that fails, the next commits do it.
  func emptyLog() { _ = result(of: "PRAGMA wal_checkpoint(TRUNCATE)") }

  /// The number of the row that was inserted last.
  var lastRow: Int64 { sqlite3_last_insert_rowid(connection) }

  /// Whether a statement can be prepared: whether the tables and columns that it names are there.
  func canPrepare(_ text: StaticString) -> Bool {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(connection, Self.pointer(text), Int32(text.utf8CodeUnitCount), &statement, nil)
    sqlite3_finalize(statement)
    return code == SQLITE_OK
  }

  /// Ends a statement, and frees what was bound to it: a document.
  private static func end(_ statement: OpaquePointer) {
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
  }

  private func prepared(_ text: StaticString, _ cells: [Cell]) throws(SegueError) -> OpaquePointer {
    if let damage { throw damage }
    let statement = try prepared(text)
    for (index, cell) in cells.enumerated() {
      if case .real(let number) = cell, !number.isFinite {
        throw SegueError(.invalidArgument, "date: must be finite")
      }
      let code = Self.bind(cell, statement, Int32(index + 1))
      guard code == SQLITE_OK else { throw failure(code) }
    }
    return statement
  }

  private func prepared(_ text: StaticString) throws(SegueError) -> OpaquePointer {
    if let place = places[text.utf8Start] { return statements[place] }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(
      connection, Self.pointer(text), Int32(text.utf8CodeUnitCount), UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else {
      // The text is ours, and right: what it names is no longer there.
      throw code == SQLITE_ERROR ? damaged("\(errorText)") : failure(code)
    }
    places[text.utf8Start] = statements.count
    statements.append(statement)
    return statement
  }

  private static func pointer(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  private static func bind(_ cell: Cell, _ statement: OpaquePointer, _ place: Int32) -> Int32 {
    switch cell {
    case .null: sqlite3_bind_null(statement, place)
    case .integer(let number): sqlite3_bind_int64(statement, place, number)
    case .real(let number): sqlite3_bind_double(statement, place, number)
    case .text(let text):
      Text.withBytes(text) { sqlite_bind_text(statement, place, $0.baseAddress, UInt64($0.count)) }
    case .blob(let bytes):
      bytes.withUnsafeBytes { sqlite_bind_blob(statement, place, $0.baseAddress, UInt64($0.count)) }
    }
  }

  // MARK: Errors

  /// Marks the database as damaged.
  /// - Returns: the error to throw.
  func damaged(_ what: DiagnosticText) -> SegueError {
    let error = SegueError(.malformed, "\(folder.path)/\(name): is damaged: \(what)")
    if damage == nil {
      damage = error
      // If this cannot be written, a log that stays says the same.
      try? folder.create(name + StateFolder.suspicion)
    }
    return error
  }

  private var errorText: String { sqlite3_errmsg(connection).map { String(cString: $0) } ?? "" }

  /// The error for a result of SQLite.
  func failure(_ code: Int32) -> SegueError {
    let said = errorText
    let number = sqlite3_system_errno(connection)
    switch code & 0xff {
    // No statement of ours breaks a constraint, unless an index does not fit its table.
    // And the file can be written, as far as the system is concerned (`StateFolder.create`).
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_READONLY: return damaged("\(said)")
    case SQLITE_FULL: return full()
    case SQLITE_IOERR where number == ENOSPC || number == EDQUOT: return full()
    case SQLITE_IOERR where number != 0: return .refused("\(folder.path)/\(name)", number)
    case SQLITE_BUSY, SQLITE_LOCKED:
      return SegueError(.busy, "\(folder.path)/\(name): another process has it open")
    default: return SegueError(.system, "\(folder.path)/\(name): \(said)")
    }
  }

  private func full() -> SegueError {
    SegueError(.system, "\(folder.path)/\(name): the disk is full, and nothing was stored; free some space")
  }
}
