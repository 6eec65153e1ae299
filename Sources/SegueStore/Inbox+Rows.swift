// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueWire

/// The tables, and how offers and entries stand in them.
extension Inbox {
  static let schema = Schema(
    steps: [
      """
      CREATE TABLE payloads (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        size INTEGER NOT NULL CHECK (size >= 0),
        document BLOB NOT NULL
      ) STRICT;
      CREATE TABLE attachments (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        payload INTEGER NOT NULL REFERENCES payloads ON DELETE CASCADE,
        name TEXT NOT NULL,
        size INTEGER NOT NULL,
        is_here INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX attachments_of_payload ON attachments (payload);
      CREATE TABLE parts (
        number INTEGER PRIMARY KEY,
        attachment INTEGER NOT NULL REFERENCES attachments ON DELETE CASCADE,
        content BLOB NOT NULL
      ) STRICT;
      CREATE INDEX parts_of_attachment ON parts (attachment);
      CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        continuation BLOB NOT NULL UNIQUE CHECK (length(continuation) = 16),
        app TEXT NOT NULL,
        stale INTEGER NOT NULL,
        payload INTEGER REFERENCES payloads CHECK ((payload IS NULL) = (state >= 2)),
        state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
        attempts INTEGER NOT NULL CHECK (attempts >= 0),
        crashes INTEGER NOT NULL CHECK (crashes >= 0),
        received REAL NOT NULL,
        expires REAL NOT NULL,
        ended REAL,
        activity BLOB NOT NULL CHECK (length(activity) = 16),
        origin BLOB NOT NULL CHECK (length(origin) = 16),
        origin_app TEXT NOT NULL,
        origin_bundle TEXT NOT NULL,
        device TEXT NOT NULL,
        type TEXT NOT NULL,
        title TEXT,
        payload_version INTEGER NOT NULL,
        size_hint INTEGER NOT NULL,
        expiration REAL,
        streams INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX entries_of_app ON entries (app, state);
      CREATE TABLE kept (
        number INTEGER PRIMARY KEY,
        team TEXT NOT NULL,
        payload INTEGER NOT NULL REFERENCES payloads,
        kept REAL NOT NULL,
        expires REAL NOT NULL,
        activity BLOB NOT NULL UNIQUE CHECK (length(activity) = 16),
        origin BLOB NOT NULL CHECK (length(origin) = 16),
        origin_app TEXT NOT NULL,
        origin_bundle TEXT NOT NULL,
        device TEXT NOT NULL,
        type TEXT NOT NULL,
        title TEXT,
        payload_version INTEGER NOT NULL,
        size_hint INTEGER NOT NULL,
        expiration REAL,
        streams INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE choices (
        type TEXT PRIMARY KEY NOT NULL,
        app TEXT NOT NULL
      ) STRICT;
      CREATE TABLE uses (
        app TEXT PRIMARY KEY NOT NULL,
        used REAL NOT NULL
      ) STRICT;
      CREATE TABLE receipts (
        number INTEGER PRIMARY KEY,
        continuation BLOB NOT NULL UNIQUE CHECK (length(continuation) = 16),
        receiver BLOB NOT NULL CHECK (length(receiver) = 16),
        device TEXT NOT NULL,
        app TEXT NOT NULL,
        bundle TEXT NOT NULL,
        outcome INTEGER NOT NULL,
        status INTEGER NOT NULL,
        reason TEXT NOT NULL,
        stale INTEGER NOT NULL,
        date REAL NOT NULL,
        is_sent INTEGER NOT NULL
      ) STRICT;
      """,
      """
      CREATE TABLE sent (
        continuation BLOB PRIMARY KEY NOT NULL REFERENCES entries (continuation) ON DELETE CASCADE,
        process BLOB NOT NULL CHECK (length(process) = 16)
      ) STRICT;
      """,
      """
      CREATE TABLE askers (
        continuation BLOB PRIMARY KEY NOT NULL REFERENCES entries (continuation) ON DELETE CASCADE,
        account BLOB NOT NULL CHECK (length(account) = 16)
      ) STRICT;
      CREATE INDEX askers_of_account ON askers (account);
      """,
      StoredClock.table,
      """
      CREATE TABLE origin_folders (
        continuation BLOB PRIMARY KEY NOT NULL REFERENCES entries (continuation) ON DELETE CASCADE,
        urls BLOB NOT NULL
      ) STRICT;
      """,
      """
      CREATE TABLE retained (
        activity BLOB PRIMARY KEY NOT NULL REFERENCES kept (activity) ON DELETE CASCADE,
        device BLOB NOT NULL CHECK (length(device) = 16),
        original BLOB NOT NULL CHECK (length(original) = 16),
        revision INTEGER NOT NULL,
        proof BLOB NOT NULL CHECK (length(proof) = 96),
        continuation BLOB CHECK (length(continuation) = 16),
        receiver BLOB CHECK (length(receiver) = 16),
        receiver_device TEXT,
        app TEXT,
        bundle TEXT,
        ended REAL
      ) STRICT;
      """,
      """
      ALTER TABLE retained ADD COLUMN push BLOB CHECK (length(push) = 16);
      ALTER TABLE retained ADD COLUMN target BLOB CHECK (length(target) = 16);
      ALTER TABLE retained ADD COLUMN target_app TEXT;
      ALTER TABLE retained ADD COLUMN outcome INTEGER;
      ALTER TABLE retained ADD COLUMN status INTEGER;
      ALTER TABLE retained ADD COLUMN reason TEXT;
      CREATE TABLE pushed (
        device BLOB NOT NULL CHECK (length(device) = 16),
        activity BLOB NOT NULL CHECK (length(activity) = 16),
        number INTEGER NOT NULL,
        PRIMARY KEY (device, activity)
      ) STRICT;
      """,
    ],
    probes: [
      StoredClock.row,
      "SELECT continuation, urls FROM origin_folders",
      "SELECT continuation, account FROM askers",
      "SELECT continuation, process FROM sent",
      "SELECT device, activity, number FROM pushed",
      "SELECT number, size, document FROM payloads", "SELECT number, payload, name, size, is_here FROM attachments",
      "SELECT number, attachment, content FROM parts", "SELECT type, app FROM choices", "SELECT app, used FROM uses",
      allEntries, allKept, allReceipts,
    ])

  static let allEntries: StaticString = """
    SELECT activity, origin, origin_app, origin_bundle, device, type, title, payload_version, size_hint, expiration,
      streams, continuation, app, stale, payload, state, attempts, crashes, received, expires, number
    FROM entries WHERE state < 2 ORDER BY number
    """

  static let oneEntry: StaticString = """
    SELECT activity, origin, origin_app, origin_bundle, device, type, title, payload_version, size_hint, expiration,
      streams, continuation, app, stale, payload, state, attempts, crashes, received, expires, number
    FROM entries WHERE continuation = ?1 AND state < 2
    """

  static let allKept: StaticString = """
    SELECT kept.activity, origin, origin_app, origin_bundle, kept.device, type, title, payload_version, size_hint,
      expiration, streams, team, payload, kept, expires,
      retained.device, original, revision, proof, continuation, receiver, receiver_device, app, bundle, ended,
      push, target, target_app, outcome, status, reason
    FROM kept LEFT JOIN retained ON retained.activity = kept.activity ORDER BY number
    """

  static let allReceipts: StaticString = """
    SELECT continuation, receiver, device, app, bundle, outcome, status, reason, stale, date FROM receipts
    WHERE is_sent = 0 ORDER BY number
    """

  /// Throws INVALID_ARGUMENT or LIMIT_EXCEEDED for text that would not be taken when it is read.
  static func check(_ offer: Offer) throws(SegueError) {
    try Text.check(offer.description.type, "type", atMost: Limits.type)
    try Text.check(offer.description.title, "title", atMost: Limits.title)
    try Text.check(Optional(offer.appName), "app", atMost: Limits.identifier)
    try Text.check(Optional(offer.bundleIdentifier), "bundle identifier", atMost: Limits.identifier)
    try Text.check(Optional(offer.deviceName), "device", atMost: Limits.identifier)
  }

  /// An offer in the order of its columns.
  static func cells(of offer: Offer) -> [Cell] {
    let description = offer.description
    return [
      Cell(description.id), Cell(offer.origin), .text(offer.appName), .text(offer.bundleIdentifier),
      .text(offer.deviceName), .text(description.type), Cell(description.title),
      .integer(Int64(description.payloadVersion)), .integer(Int64(bitPattern: description.sizeHint)),
      Cell(description.expirationDate), Cell(description.supportsContinuationStreams),
    ]
  }

  /// The offer in the first eleven columns.
  private func offer(_ row: Row) throws(SegueError) -> Offer {
    guard let version = UInt32(exactly: try row.integer(7)) else { throw row.wrong(7, "32-bit number") }
    let description = OfferDescription(
      id: try row.identifier(0), type: try row.text(5, atMost: Limits.type),
      title: try row.optionalText(6, atMost: Limits.title), payloadVersion: version,
      sizeHint: UInt64(bitPattern: try row.integer(8)), expirationDate: try row.optionalReal(9),
      supportsContinuationStreams: try row.truth(10))
    return Offer(
      description: description, origin: try row.identifier(1), appName: try row.text(2, atMost: Limits.identifier),
      bundleIdentifier: try row.text(3, atMost: Limits.identifier),
      deviceName: try row.text(4, atMost: Limits.identifier), rank: 0, activatedAt: 0)
  }

  func entry(_ row: Row) throws(SegueError) -> InboxEntry {
    guard let state = InboxEntry.State(rawValue: try row.integer(15)) else { throw row.wrong(15, "state") }
    return InboxEntry(
      number: try row.integer(20), continuation: try row.identifier(11),
      app: try row.text(12, atMost: Limits.identifier), offer: try offer(row),
      isStale: try row.truth(13), payload: try payload(try row.integer(14)), state: state,
      attempts: try row.count(16), crashes: try row.count(17), receivedAt: try row.real(18),
      expiresAt: try row.real(19))
  }

  func keptOffer(_ row: Row) throws(SegueError) -> KeptOffer {
    KeptOffer(
      offer: try offer(row), team: try row.text(11, atMost: Limits.identifier),
      payload: try payload(try row.integer(12)), keptAt: try row.real(13), expiresAt: try row.real(14),
      retained: try retained(row))
  }

  private func retained(_ row: Row) throws(SegueError) -> KeptOffer.Retained? {
    guard !row.isNull(15) else { return nil }
    let push =
      row.isNull(25)
      ? nil
      : RetainedPush(
        id: try row.identifier(25), target: try row.identifier(26),
        app: try row.optionalText(27, atMost: Limits.identifier))
    let origin = RetainedOrigin(
      device: try row.identifier(15), activity: try row.identifier(16),
      revision: UInt64(bitPattern: try row.integer(17)), push: push,
      proof: try row.blob(18, atMost: RetainedOrigin.proofSize))
    guard !row.isNull(19) else { return KeptOffer.Retained(origin: origin, receipt: nil) }
    let receiver = Receiver(
      id: try row.identifier(20), deviceName: try row.text(21, atMost: Limits.identifier),
      appName: try row.text(22, atMost: Limits.identifier),
      bundleIdentifier: try row.text(23, atMost: Limits.identifier))
    let receipt = Receipt(
      continuation: try row.identifier(19), receiver: receiver, outcome: try outcome(row, 28),
      status: try status(row, 29), reason: try row.optionalText(30, atMost: Limits.identifier) ?? "", isStale: false,
      date: try row.real(24))
    return KeptOffer.Retained(origin: origin, receipt: receipt)
  }

  /// A former version has noted only what was restored.
  private func outcome(_ row: Row, _ column: Int32) throws(SegueError) -> Outcome {
    if row.isNull(column) { return .restored }
    guard let outcome = Int32(exactly: try row.integer(column)).flatMap({ Outcome(rawValue: $0) }) else {
      throw row.wrong(column, "outcome")
    }
    return outcome
  }

  private func status(_ row: Row, _ column: Int32) throws(SegueError) -> Status {
    if row.isNull(column) { return .ok }
    return Int32(exactly: try row.integer(column)).flatMap { Status(rawValue: $0) } ?? .handoffFailed
  }
}
