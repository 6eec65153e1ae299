// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel

/// The durable half of the agent: entries that wait for apps (R3.8), kept offers (R2.5), the user's choices (R6.2) and
/// receipts. The changes of a call are on the disk when it returns; a call that throws has changed nothing, except that
/// after a disk that fails to synchronise, a restart may show it as done.
///
/// It has no clock: `now` is seconds since 1970. It waits for the disk, and so must not be used on a thread that others
/// wait for. It may move between threads, but is used by one at a time. All calls throw SYSTEM if the disk is full or
/// fails, and MALFORMED if the file is damaged: then release the object and open it again. The second time at the
/// latest the file is set aside, and a new one begun.
public final class Inbox: @unchecked Sendable {
  static let fileName = "inbox.db"
  let database: Database
  /// The message for the user that a damaged inbox was set aside, where, and why; nil: none.
  public let notice: String?
  /// Bytes of all documents and attachments that may be stored.
  let room: Int64
  private var clock = StoredClock()

  /// Opens the inbox, and creates it if necessary. Entries that were delivered and not acknowledged wait again.
  /// Throws INVALID_STATE if the folder belongs to another machine, UNSUPPORTED_VERSION if the file is of a newer
  /// version (which leaves it untouched), SYSTEM, BUSY.
  public static func open(in folder: StateFolder) throws(SegueError) -> Inbox {
    try open(in: folder, room: Limits.inboxBytes)
  }

  static func open(in folder: StateFolder, room: Int64) throws(SegueError) -> Inbox {
    if let refusal = folder.refusal { throw refusal }
    let opened = try Database.open(fileName, in: folder, schema, .full)
    try opened.database.run("UPDATE entries SET state = 0 WHERE state = 1")
    return Inbox(opened, room)
  }

  private init(_ opened: OpenedDatabase, _ room: Int64) {
    self.room = room
    database = opened.database
    notice = opened.notice
  }

  /// Whether a folder has an inbox.
  public static func isThere(in folder: StateFolder) -> Bool { folder.has(fileName) }

  /// Frees what is in memory to be read faster (at most 1 MiB), for a time in which nothing happens.
  public func releaseMemory() { database.releaseMemory() }

  /// Tells of entries and others that cannot be read: they are left out, and stay in the file. Each is told once.
  public func takeReports() -> [String] { database.takeReports() }

  /// Makes several calls in one commit: of one that throws, and of those before it, nothing is stored.
  public func atOnce<Result>(_ body: () throws(SegueError) -> Result) throws(SegueError) -> Result {
    defer { database.giveBack() }
    return try database.transaction(body)
  }

  // MARK: Entries

  /// Stores an entry, in one commit.
  /// Throws LIMIT_EXCEEDED if the attachments, the inbox, what waits for that app, or what that account has asked for,
  /// have too many bytes, and INVALID_STATE if it has expired.
  public func put(_ entry: IncomingEntry, at now: Double) throws(SegueError) -> Placement {
    try Text.check(entry.app, "app", atMost: Limits.identifier)
    try Self.check(entry.offer)
    let expiry = entry.offer.description.expirationDate ?? now + Limits.inboxLife
    return try database.transaction { () throws(SegueError) in
      let id = Cell(entry.continuation)
      let known = try database.first("SELECT state FROM entries WHERE continuation = ?1", [id]) {
        row throws(SegueError) in try row.integer(0)
      }
      if let known { return known < Self.ended ? .known : .ended }
      guard expiry > now else { throw SegueError(.invalidState, "activity: has expired") }
      let payload = try store(entry.document, entry.attachments) { size throws(SegueError) in
        try checkShares(of: entry, for: size)
      }
      try database.run(
        """
        INSERT INTO entries (continuation, app, stale, payload, state, attempts, crashes, received, expires,
          activity, origin, origin_app, origin_bundle, device, type, title, payload_version, size_hint, expiration,
          streams)
        VALUES (?1, ?2, ?3, ?4, 0, 0, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
        """,
        [id, .text(entry.app), Cell(entry.isStale), .integer(payload), .real(now), .real(expiry)]
          + Self.cells(of: entry.offer))
      if let principal = entry.principal {
        try database.run("INSERT INTO askers (continuation, account) VALUES (?1, ?2)", [id, Cell(principal)])
      }
      if !entry.originFolders.isEmpty, entry.originFolders.count <= OriginFolders.sizeLimit {
        try database.run(
          "INSERT INTO origin_folders (continuation, urls) VALUES (?1, ?2)", [id, .blob(entry.originFolders)])
      }
      return .stored
    }
  }

  /// All entries that were neither acknowledged nor dropped, the oldest first.
  public func entries() throws(SegueError) -> [InboxEntry] {
    var found: [InboxEntry] = []
    try database.forEachReadableRow("an entry", Self.allEntries) { row throws(SegueError) in
      found.append(try entry(row))
    }
    return found
  }

  /// Nil if there is none, or no longer, or it cannot be read.
  public func entry(_ continuation: Identifier) throws(SegueError) -> InboxEntry? {
    try database.firstReadable("an entry", Self.oneEntry, [Cell(continuation)]) { row throws(SegueError) in
      try entry(row)
    }
  }

  /// Notes that an app gets its next entry: the oldest that waits, has not expired and is not held. The app must get
  /// it only after this returns.
  /// - Parameter tried: entries that it does not get.
  /// - Returns: nil if there is none, or if the app has an entry already: it gets one at a time.
  public func beginDelivery(
    to app: String, except tried: [Identifier] = [], at now: Double
  ) throws(SegueError) -> InboxEntry? {
    try database.transaction { () throws(SegueError) in
      let isBusy = try database.first("SELECT 1 FROM entries WHERE app = ?1 AND state = 1 LIMIT 1", [.text(app)]) {
        _ throws(SegueError) in true
      }
      guard isBusy == nil else { return nil }
      var waiting: [Identifier] = []
      try database.forEachRow(
        """
        SELECT continuation FROM entries WHERE app = ?1 AND state = 0 AND crashes < ?2 AND expires > ?3
        ORDER BY number
        """, [.text(app), .integer(Limits.crashes), .real(now)]
      ) { row throws(SegueError) in
        let continuation = try row.identifier(0)
        if !tried.contains(continuation) { waiting.append(continuation) }
      }
      // One that cannot be read holds up no other.
      for next in waiting {
        guard try entry(next) != nil else { continue }
        try database.run("UPDATE entries SET state = 1, attempts = attempts + 1 WHERE continuation = ?1", [Cell(next)])
        return try entry(next)
      }
      return nil
    }
  }

  /// The folders of the origin of an entry, as `OriginFolders` reads them; empty if it has sent none, or the entry has
  /// ended.
  public func originFolders(of continuation: Identifier) throws(SegueError) -> [UInt8] {
    try database.first("SELECT urls FROM origin_folders WHERE continuation = ?1", [Cell(continuation)]) {
      row throws(SegueError) in try row.blob(0, atMost: OriginFolders.sizeLimit)
    } ?? []
  }

  /// Notes that a process of the app was sent the whole document: of the last one only its word counts (R3.6).
  /// - Parameter process: identifies that process, also to a later agent.
  public func noteSent(_ continuation: Identifier, to process: Identifier) throws(SegueError) {
    try database.run(
      """
      INSERT INTO sent (continuation, process) SELECT ?1, ?2 FROM entries WHERE continuation = ?1 AND state < 2
      ON CONFLICT (continuation) DO UPDATE SET process = excluded.process
      """, [Cell(continuation), Cell(process)])
  }

  /// Whether a process was the last to be sent the whole document of an entry.
  public func wasSent(_ continuation: Identifier, to process: Identifier) throws(SegueError) -> Bool {
    try database.first(
      "SELECT 1 FROM sent WHERE continuation = ?1 AND process = ?2", [Cell(continuation), Cell(process)]
    ) { _ throws(SegueError) in true } ?? false
  }

  /// Ends a delivery without an acknowledgement.
  /// - Returns: false if the entry is not being delivered.
  @discardableResult
  public func endDelivery(_ continuation: Identifier, _ end: DeliveryEnd) throws(SegueError) -> Bool {
    try database.run(
      """
      UPDATE entries SET state = 0, attempts = attempts - ?2, crashes = crashes + ?3
      WHERE continuation = ?1 AND state = 1
      """, [Cell(continuation), Cell(end == .untold), Cell(end == .crashed)]) > 0
  }

  /// Ends an entry for good, after the app has answered (restored or declined), in time or late.
  /// - Returns: false if there is no such entry, or no longer.
  @discardableResult
  public func acknowledge(_ continuation: Identifier, at now: Double) throws(SegueError) -> Bool {
    try end(continuation, as: Self.acknowledged, at: now)
  }

  /// Ends an entry because the user wants it no more.
  /// - Returns: false if there is no such entry, or no longer.
  @discardableResult
  public func drop(_ continuation: Identifier, at now: Double) throws(SegueError) -> Bool {
    try end(continuation, as: Self.dropped, at: now)
  }

  /// Looks for the oldest entry of an activity for an app that was neither acknowledged nor dropped, and forgets the
  /// crashes on it.
  /// - Returns: nil if there is none.
  public func askAgain(
    for activity: Identifier, of origin: Identifier, in app: String, at now: Double
  ) throws(SegueError) -> WaitingEntry? {
    let found = try database.first(
      """
      SELECT continuation, crashes, stale FROM entries
      WHERE app = ?1 AND state < 2 AND activity = ?2 AND origin = ?3 AND (state = 1 OR expires > ?4)
      ORDER BY number LIMIT 1
      """, [.text(app), Cell(activity), Cell(origin), .real(now)]
    ) { row throws(SegueError) in
      (entry: WaitingEntry(try row.identifier(0), isStale: try row.truth(2)), crashes: try row.integer(1))
    }
    guard let found else { return nil }
    if found.crashes > 0 { try retry(found.entry.continuation) }
    return found.entry
  }

  /// Forgets the crashes on an entry, so that its app gets it again.
  /// - Returns: false if there is no such entry, or no longer.
  @discardableResult
  public func retry(_ continuation: Identifier) throws(SegueError) -> Bool {
    try database.run("UPDATE entries SET crashes = 0 WHERE continuation = ?1 AND state < 2", [Cell(continuation)]) > 0
  }

  // MARK: Time

  /// Follows the clocks of the device, before each use: what has no date of its own waits as long as before if the date
  /// was set. Without it, dates are taken as they are. The date at which an entry came stays as the clock said it then.
  /// - Parameter stores: whether the disk is to get this reading. Otherwise it gets one an hour.
  /// - Returns: the seconds by which the date was set; nil if it was not, as far as is known.
  @discardableResult
  public func follow(_ reading: ClockReading, stores: Bool = false) throws(SegueError) -> Double? {
    try clock.follow(reading, stores: stores, in: database) { seconds throws(SegueError) in
      try database.run(
        """
        UPDATE entries SET ended = ended + ?1,
          expires = CASE WHEN expiration IS NULL THEN expires + ?1 ELSE expires END
        """, [.real(seconds)])
      try database.run(
        """
        UPDATE kept SET kept = kept + ?1, expires = min(kept + ?1 + ?2, coalesce(expiration, kept + ?1 + ?2))
        WHERE activity NOT IN (SELECT activity FROM retained)
        """, [.real(seconds), .real(Limits.keptOfferLife)])
      // Otherwise an app that was used under a date that was ahead would stay the most recent one.
      try database.run("UPDATE uses SET used = used + ?1", [.real(seconds)])
    }
  }

  /// Removes what has expired: entries that wait (one that is being delivered may still be acknowledged), kept offers,
  /// and what is remembered of ended entries and receipts after `Limits.inboxLife`. An entry or an offer with a date of
  /// its own stays while the date of the device may be wrong (`follow`).
  /// - Returns: the entries, and the activities of the kept offers.
  public func expire(at now: Double) throws(SegueError) -> (entries: [Identifier], keptOffers: [Identifier]) {
    guard clock.isKnown else { return ([], []) }
    let gone = try database.transaction { () throws(SegueError) in
      let entries = try identifiers(
        """
        SELECT continuation FROM entries WHERE state = 0 AND expires <= ?1 AND (?2 OR expiration IS NULL)
        ORDER BY number
        """, now)
      let kept = try identifiers(
        "SELECT activity FROM kept WHERE expires <= ?1 AND (?2 OR expiration IS NULL) ORDER BY number", now)
      if !entries.isEmpty { _ = try end(entries, as: Self.dropped, at: now) }
      for activity in kept { _ = try remove(activity) }
      let old = Cell.real(now - Limits.inboxLife)
      try database.run("DELETE FROM entries WHERE state >= 2 AND ended < ?1", [old])
      // A receipt says when it was made, by whatever clock: one lasts as long as its entry is remembered.
      try database.run(
        """
        DELETE FROM receipts WHERE date < ?1 AND ?2
          AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.continuation = receipts.continuation)
        """, [old, Cell(clock.isSteady)])
      return (entries, kept)
    }
    database.giveBack()
    return gone
  }

  private func identifiers(_ text: StaticString, _ now: Double) throws(SegueError) -> [Identifier] {
    var found: [Identifier] = []
    try database.forEachRow(text, [.real(now), Cell(clock.isSteady)]) { row throws(SegueError) in
      found.append(try row.identifier(0))
    }
    return found
  }

  private func end(_ continuation: Identifier, as state: Int64, at now: Double) throws(SegueError) -> Bool {
    let count = try database.transaction { () throws(SegueError) in try end([continuation], as: state, at: now) }
    database.giveBack()
    return count > 0
  }

  /// Ends entries, within a transaction. The inbox remembers that they were there.
  private func end(_ continuations: [Identifier], as state: Int64, at now: Double) throws(SegueError) -> Int {
    var count = 0
    for continuation in continuations {
      let id = Cell(continuation)
      let payload = try database.first("SELECT payload FROM entries WHERE continuation = ?1 AND state < 2", [id]) {
        row throws(SegueError) in try row.integer(0)
      }
      guard let payload else { continue }
      try database.run(
        "UPDATE entries SET state = ?2, ended = ?3, payload = NULL WHERE continuation = ?1",
        [id, .integer(state), .real(now)])
      try removePayload(payload)
      try database.run("DELETE FROM origin_folders WHERE continuation = ?1", [id])
      count += 1
    }
    try database.run(
      """
      DELETE FROM entries WHERE state >= 2 AND number <=
        (SELECT number FROM entries WHERE state >= 2 ORDER BY number DESC LIMIT 1 OFFSET ?1)
      """, [.integer(Self.remembered)])
    return count
  }

  private static let ended: Int64 = 2
  private static let acknowledged: Int64 = 2
  private static let dropped: Int64 = 3
  /// Ended entries that are remembered, so that they are not taken once more; receipts, choices, and uses of apps.
  static let remembered: Int64 = 10_000
}
