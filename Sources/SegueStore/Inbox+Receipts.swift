// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel

/// Receipts that the agent owes to origins: one for each continuation. It does not change once it is stored (R3.6,
/// R3.8).
extension Inbox {
  /// Decides the receipt of a continuation. The origin must get it only after this returns.
  /// - Returns: false if one was decided before: this one must not be sent.
  public func decide(_ receipt: Receipt) throws(SegueError) -> Bool {
    let receiver = receipt.receiver
    for text in [receipt.reason, receiver.deviceName, receiver.appName, receiver.bundleIdentifier] {
      try Text.check(Optional(text), "receipt", atMost: Limits.identifier)
    }
    return try database.transaction { () throws(SegueError) in
      let count = try database.run(
        """
        INSERT INTO receipts (continuation, receiver, device, app, bundle, outcome, status, reason, stale, date,
          is_sent)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0) ON CONFLICT (continuation) DO NOTHING
        """,
        [
          Cell(receipt.continuation), Cell(receiver.id), .text(receiver.deviceName), .text(receiver.appName),
          .text(receiver.bundleIdentifier), .integer(Int64(receipt.outcome.rawValue)),
          .integer(Int64(receipt.status.rawValue)), .text(receipt.reason), Cell(receipt.isStale), .real(receipt.date),
        ])
      try database.run(
        """
        DELETE FROM receipts WHERE number <= (SELECT number FROM receipts ORDER BY number DESC LIMIT 1 OFFSET ?1)
        """, [.integer(Self.remembered)])
      return count > 0
    }
  }

  /// Receipts that were decided, and whose arrival was not confirmed: after a restart the same ones are sent again,
  /// the oldest first.
  public func unconfirmedReceipts() throws(SegueError) -> [Receipt] {
    var found: [Receipt] = []
    try database.forEachReadableRow("a receipt", Self.allReceipts) { row throws(SegueError) in
      found.append(try receipt(row))
    }
    return found
  }

  /// The destination of the receipt of a continuation: the origin and its activity. Nil if the inbox never had its
  /// entry, or has forgotten it.
  public func source(
    of continuation: Identifier
  ) throws(SegueError) -> (origin: Identifier, activity: Identifier)? {
    try database.first("SELECT origin, activity FROM entries WHERE continuation = ?1", [Cell(continuation)]) {
      row throws(SegueError) in (try row.identifier(0), try row.identifier(1))
    }
  }

  /// The app that an entry is for, as long as the entry is remembered.
  func app(of continuation: Identifier) throws(SegueError) -> String? {
    try database.firstReadable("an entry", "SELECT app FROM entries WHERE continuation = ?1", [Cell(continuation)]) {
      row throws(SegueError) in try row.text(0, atMost: Limits.identifier)
    }
  }

  /// Notes that the origin has the receipt of a continuation.
  /// - Returns: false if none is unconfirmed.
  @discardableResult
  public func confirmReceipt(_ continuation: Identifier) throws(SegueError) -> Bool {
    try database.run(
      "UPDATE receipts SET is_sent = 1 WHERE continuation = ?1 AND is_sent = 0", [Cell(continuation)]) > 0
  }

  private func receipt(_ row: Row) throws(SegueError) -> Receipt {
    guard let outcome = Int32(exactly: try row.integer(5)).flatMap({ Outcome(rawValue: $0) }) else {
      throw row.wrong(5, "outcome")
    }
    guard let status = Int32(exactly: try row.integer(6)).flatMap({ Status(rawValue: $0) }) else {
      throw row.wrong(6, "status")
    }
    let receiver = Receiver(
      id: try row.identifier(1), deviceName: try row.text(2, atMost: Limits.identifier),
      appName: try row.text(3, atMost: Limits.identifier),
      bundleIdentifier: try row.text(4, atMost: Limits.identifier))
    return Receipt(
      continuation: try row.identifier(0), receiver: receiver, outcome: outcome, status: status,
      reason: try row.text(7, atMost: Limits.identifier), isStale: try row.truth(8), date: try row.real(9))
  }
}
