// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CSQLite
import SegueModel

/// A database that was opened, and what the user should know of it.
struct OpenedDatabase {
  let database: Database
  /// The message that a damaged database was set aside, where, and why; nil if nothing was wrong.
  let notice: String?
  /// Whether it was not closed as it should be, or found damaged, before.
  let wasSuspect: Bool
}

extension Database {
  /// "Segu": what a database of ours says in its header.
  private static let application: Int64 = 0x5365_6775

  /// Opens the database of this name, creates or migrates it, checks it after an unclean end, and replaces it if it is
  /// damaged.
  /// Throws UNSUPPORTED_VERSION for a newer schema and leaves the file as it is, SYSTEM, BUSY.
  static func open(
    _ name: String, in folder: StateFolder, _ schema: Schema, _ durability: Durability
  ) throws(SegueError) -> OpenedDatabase {
    guard StateFiles.registration == SQLITE_OK else { throw SegueError(.system, "SQLite refuses access to files") }
    // The log that an interrupted set-aside has left must not become that of the next database.
    if !folder.has(name), folder.has(name + "-wal") { _ = try folder.setAside(name, as: "damaged") }
    if folder.has(name + StateFolder.suspicion), folder.has(name + StateFolder.doubt) {
      return try replaced(name, folder, schema, durability, "\(folder.path)/\(name): is damaged again")
    }
    let isSuspect = folder.has(name + "-wal") || folder.has(name + StateFolder.suspicion)
    do throws(SegueError) {
      return OpenedDatabase(
        database: try opened(name, folder, schema, durability, isSuspect: isSuspect), notice: nil,
        wasSuspect: isSuspect)
    } catch {
      guard error.status == .malformed else { throw error }
      return try replaced(name, folder, schema, durability, error.message)
    }
  }

  private static func replaced(
    _ name: String, _ folder: StateFolder, _ schema: Schema, _ durability: Durability, _ reason: String
  ) throws(SegueError) -> OpenedDatabase {
    let aside = try folder.setAside(name, as: "damaged")
    let database = try opened(name, folder, schema, durability, isSuspect: false)
    return OpenedDatabase(
      database: database, notice: "\(reason); it was set aside as \(aside), and a new one begun", wasSuspect: false)
  }

  /// Throws MALFORMED if the file is damaged, or no database of ours.
  private static func opened(
    _ name: String, _ folder: StateFolder, _ schema: Schema, _ durability: Durability, isSuspect: Bool
  ) throws(SegueError) -> Database {
    try folder.checkFiles(of: name)
    try folder.create(name)
    let database = try connected(name, folder)
    database.configure(SQLITE_DBCONFIG_DEFENSIVE, true)
    database.configure(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
    database.keepLog(true)
    // One process uses it: no shared memory is needed beside the log, which could not grow on a full disk (SIGBUS).
    try database.run("PRAGMA locking_mode=EXCLUSIVE")
    try database.run("PRAGMA mmap_size=0")
    // Nothing is written outside of the folder.
    try database.run("PRAGMA temp_store=MEMORY")
    try database.run("PRAGMA cell_size_check=ON")
    // KiB of pages in memory.
    try database.run("PRAGMA cache_size=-1024")
    // Deleted content is overwritten (R10.3).
    try database.run("PRAGMA secure_delete=ON")
    try database.run("PRAGMA foreign_keys=ON")
    let version = try database.knownVersion(schema)
    try database.run(durability.pragma)
    // Has an effect on an empty file only: unused pages can then be given back (`giveBack`).
    try database.run("PRAGMA auto_vacuum=INCREMENTAL")
    try database.useLog()
    if isSuspect { try database.check() }
    try database.migrate(from: version, to: schema)
    for probe in schema.probes where !database.canPrepare(probe) {
      throw database.damaged("a table is missing, or not as it should be")
    }
    try folder.synchronise()
    if folder.has(name + StateFolder.suspicion) { try folder.doubt(name) }
    database.keepLog(false)
    return database
  }

  private static func connected(_ name: String, _ folder: StateFolder) throws(SegueError) -> Database {
    var connection: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let files = UnsafeRawPointer(StateFiles.name.utf8Start).assumingMemoryBound(to: CChar.self)
    let code = sqlite3_open_v2(folder.address(of: name), &connection, flags, files)
    guard let connection else { throw SegueError(.system, "\(folder.path)/\(name): no memory to open it") }
    let database = Database(name, folder, connection)
    guard code == SQLITE_OK else { throw database.failure(code) }
    // No row of ours is longer than a document, and what names it.
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, Int32(2 * Limits.value))
    return database
  }

  /// The version of the schema, 0 for an empty file.
  private func knownVersion(_ schema: Schema) throws(SegueError) -> Int64 {
    let application = try number("PRAGMA application_id")
    let version = try number("PRAGMA user_version")
    if application != Self.application {
      guard application == 0, version == 0, try number("SELECT count(*) FROM sqlite_schema") == 0 else {
        throw damaged("it is a database of another program")
      }
    }
    guard 0...Schema.highestVersion ~= version else { throw damaged("its schema version is \(version)") }
    guard version <= schema.version else {
      throw SegueError(
        .unsupportedVersion,
        """
        \(folder.path)/\(name): has schema version \(version), known is \(schema.version): it was left as it is; \
        install the newer version that wrote it, or move the file away
        """)
    }
    return version
  }

  private func useLog() throws(SegueError) {
    let mode = try first("PRAGMA journal_mode=WAL") { row throws(SegueError) in try row.text(0, atMost: 16) }
    guard let mode, Text.isSame(mode, "wal") else {
      throw SegueError(.system, "\(folder.path)/\(name): the file system allows no write-ahead log")
    }
    // The space that a large attachment has made the log grow by is given back.
    try run("PRAGMA journal_size_limit=1048576")
  }

  /// Throws MALFORMED unless all pages, indices and rows are as they should be.
  func check() throws(SegueError) {
    let said = try first("PRAGMA integrity_check(1)") { row throws(SegueError) in try row.text(0, atMost: 4096) }
    guard let said, Text.isSame(said, "ok") else { throw damaged("\(said ?? "the check says nothing")") }
  }

  private func migrate(from version: Int64, to schema: Schema) throws(SegueError) {
    guard version < schema.version else { return }
    try transaction { () throws(SegueError) in
      for step in schema.steps[Int(version)...] { try runAll(step) }
      try runAll("PRAGMA application_id=1399154549")
      try setVersion(schema.version)
    }
  }

  private func number(_ text: StaticString) throws(SegueError) -> Int64 {
    try first(text) { row throws(SegueError) in try row.integer(0) } ?? 0
  }
}
