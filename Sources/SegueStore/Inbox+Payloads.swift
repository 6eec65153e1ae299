// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel

/// Documents, and attachments in parts, so that none needs memory for the whole.
extension Inbox {
  /// Bytes of one part of an attachment.
  private static let part = 256 * 1024
  /// The share of an inbox that the entries for one app, and those that one principal has asked for, may use at most.
  private static let share = 4
  /// The share of an inbox for the entries for one app that one principal has asked for: it leaves room to others.
  private static let shareOfBoth = 8
  /// Bytes of a document: a value of the largest size, and the other properties.
  private static let document = Limits.value + 64 * 1024

  /// The activity document of an entry or a kept offer. Throws NOT_FOUND if that is no longer there.
  public func document(of payload: StoredPayload) throws(SegueError) -> [UInt8] {
    let found = try database.first("SELECT document FROM payloads WHERE number = ?1", [.integer(payload.number)]) {
      row throws(SegueError) in try row.blob(0, atMost: Self.document)
    }
    guard let found else { throw SegueError(.notFound, "document: its entry is no longer there") }
    return found
  }

  /// Writes a stored attachment to a descriptor, at its place.
  /// Throws NOT_FOUND if it was not kept or its entry is no longer there, SYSTEM if it cannot be written.
  public func copy(_ attachment: StoredAttachment, to descriptor: Int32) throws(SegueError) {
    guard attachment.isHere else {
      throw SegueError(.notFound, "attachment \(attachment.name): the agent has not kept it; only its origin has it")
    }
    var size: UInt64 = 0
    try database.forEachRow(
      "SELECT content FROM parts WHERE attachment = ?1 ORDER BY number", [.integer(attachment.number)]
    ) { row throws(SegueError) in
      try row.withBlob(0, atMost: Self.part) { bytes throws(SegueError) in
        guard FileBytes.write(descriptor, bytes) else { throw .refused("attachment \(attachment.name)") }
        size += UInt64(bytes.count)
      }
    }
    guard size == attachment.size else {
      guard try exists(attachment) else {
        throw SegueError(.notFound, "attachment \(attachment.name): its entry is no longer there")
      }
      throw database.damaged("attachment \(attachment.name) has \(size) of \(attachment.size) bytes")
    }
  }

  private func exists(_ attachment: StoredAttachment) throws(SegueError) -> Bool {
    try database.first("SELECT 1 FROM attachments WHERE number = ?1", [.integer(attachment.number)]) {
      _ throws(SegueError) in true
    } ?? false
  }

  func payload(_ number: Int64) throws(SegueError) -> StoredPayload {
    let size = try database.first("SELECT length(document) FROM payloads WHERE number = ?1", [.integer(number)]) {
      row throws(SegueError) in try row.count(0)
    }
    guard let size else { throw database.unreadable("an entry has no document") }
    var attachments: [StoredAttachment] = []
    try database.forEachRow(
      "SELECT number, name, size, is_here FROM attachments WHERE payload = ?1 ORDER BY number", [.integer(number)]
    ) { row throws(SegueError) in
      guard attachments.count < Limits.attachments else { throw row.wrong(0, "attachment: there are too many") }
      attachments.append(
        StoredAttachment(
          name: try row.text(1, atMost: Limits.identifier), size: UInt64(bitPattern: try row.integer(2)),
          isHere: try row.truth(3), number: try row.integer(0)))
    }
    return StoredPayload(documentSize: size, attachments: attachments, number: number)
  }

  /// Stores a document with its attachments, within a transaction.
  /// - Parameter check: gets the bytes of all, and throws if there is no room for them.
  func store(
    _ document: [UInt8], _ attachments: [AttachmentContent],
    _ check: (Int64) throws(SegueError) -> Void = { _ throws(SegueError) in }
  ) throws(SegueError) -> Int64 {
    guard document.count <= Self.document else {
      throw SegueError(.limitExceeded, "document: \(document.count) bytes, at most \(Self.document) are allowed")
    }
    guard attachments.count <= Limits.attachments else {
      throw SegueError(.limitExceeded, "activity: has \(attachments.count) attachments, at most \(Limits.attachments)")
    }
    let size = try size(document, attachments)
    try check(size)
    try checkRoom(for: size)
    try database.run(
      "INSERT INTO payloads (size, document) VALUES (?1, ?2)", [.integer(size), .blob(document)])
    let payload = database.lastRow
    for attachment in attachments {
      let isHere = if case .origin = attachment.source { false } else { true }
      try database.run(
        "INSERT INTO attachments (payload, name, size, is_here) VALUES (?1, ?2, ?3, ?4)",
        [.integer(payload), .text(attachment.name), .integer(Int64(bitPattern: attachment.size)), Cell(isHere)])
      try store(attachment, database.lastRow)
    }
    return payload
  }

  /// The bytes to store.
  private func size(_ document: [UInt8], _ attachments: [AttachmentContent]) throws(SegueError) -> Int64 {
    var stored: UInt64 = 0
    for attachment in attachments {
      guard Attachment.isName(attachment.name) else {
        throw SegueError(.invalidArgument, "attachment: its name must be one that a file can have, of 1…255 bytes")
      }
      if case .origin = attachment.source { continue }
      guard attachment.size <= UInt64(Limits.storedAttachments) - stored else {
        throw SegueError(
          .limitExceeded,
          "attachment \(attachment.name): at most \(Limits.storedAttachments) bytes are stored of one activity")
      }
      stored += attachment.size
    }
    return Int64(document.count) + Int64(stored)
  }

  /// Throws LIMIT_EXCEEDED if what waits for its app, or what waits of those that its principal has asked for, would be
  /// more than a quarter of an inbox; what its account has asked for in its app, more than an eighth.
  func checkShares(of entry: IncomingEntry, for size: Int64) throws(SegueError) {
    try checkShare(
      """
      SELECT count(*), total(payloads.size) FROM entries JOIN payloads ON payloads.number = entries.payload
      WHERE app = ?1 AND state < 2
      """, [.text(entry.app)], Self.share, "for \(entry.app)", size)
    guard let principal = entry.principal else { return }
    try checkShare(
      """
      SELECT count(*), total(payloads.size) FROM askers JOIN entries USING (continuation)
        JOIN payloads ON payloads.number = entries.payload
      WHERE account = ?1 AND state < 2
      """, [Cell(principal)], Self.share, "that one process or device has asked for", size)
    try checkShare(
      """
      SELECT count(*), total(payloads.size) FROM askers JOIN entries USING (continuation)
        JOIN payloads ON payloads.number = entries.payload
      WHERE account = ?1 AND app = ?2 AND state < 2
      """, [Cell(principal), .text(entry.app)], Self.shareOfBoth,
      "for \(entry.app) that one process or device has asked for", size)
  }

  /// - Parameter whose: for people.
  private func checkShare(
    _ query: StaticString, _ keys: [Cell], _ share: Int, _ whose: DiagnosticText, _ size: Int64
  ) throws(SegueError) {
    let used = try database.first(query, keys) {
      row throws(SegueError) in (try row.count(0), Int64(exactly: try row.real(1)) ?? -1)
    }
    guard let used, used.0 < Limits.inboxEntries / share else {
      throw SegueError(
        .limitExceeded, "inbox: \(Limits.inboxEntries / share) entries wait \(whose), which is the most")
    }
    guard 0...Limits.inboxBytes ~= used.1 else { throw database.damaged("payloads have \(used.1) bytes") }
    guard used.1 <= room / Int64(share) - size else {
      throw SegueError(.limitExceeded, "inbox: more than \(room / Int64(share)) bytes would wait \(whose)")
    }
  }

  private func checkRoom(for size: Int64) throws(SegueError) {
    let used = try database.first("SELECT count(*), total(size) FROM payloads") {
      row throws(SegueError) in (try row.count(0), Int64(exactly: try row.real(1)) ?? -1)
    }
    guard let used, used.0 < Limits.inboxEntries else {
      throw SegueError(.limitExceeded, "inbox: has \(Limits.inboxEntries) entries and kept offers, which is the most")
    }
    guard 0...Limits.inboxBytes ~= used.1 else { throw database.damaged("payloads have \(used.1) bytes") }
    guard used.1 <= room - size else {
      throw SegueError(.limitExceeded, "inbox: has \(used.1) bytes, at most \(room) are allowed")
    }
  }

  private func store(_ attachment: AttachmentContent, _ number: Int64) throws(SegueError) {
    switch attachment.source {
    case .origin: break
    case .bytes(let bytes):
      guard UInt64(bytes.count) == attachment.size else { throw Self.wrongSize(attachment, bytes.count) }
      for start in stride(from: 0, to: bytes.count, by: Self.part) {
        try storePart(Array(bytes[start..<min(start + Self.part, bytes.count)]), number)
      }
    case .descriptor(let fd):
      var done: UInt64 = 0
      while done < attachment.size {
        var bytes = [UInt8](repeating: 0, count: Int(min(UInt64(Self.part), attachment.size - done)))
        let count = bytes.withUnsafeMutableBytes { FileBytes.read(fd, at: Int64(done), into: $0) }
        guard count >= 0 else { throw .refused("attachment \(attachment.name)") }
        guard count == bytes.count else { throw Self.wrongSize(attachment, Int(done) + count) }
        try storePart(bytes, number)
        done += UInt64(count)
      }
    }
  }

  private func storePart(_ bytes: [UInt8], _ attachment: Int64) throws(SegueError) {
    try database.run(
      "INSERT INTO parts (attachment, content) VALUES (?1, ?2)", [.integer(attachment), .blob(bytes)])
  }

  private static func wrongSize(_ attachment: AttachmentContent, _ count: Int) -> SegueError {
    SegueError(.invalidArgument, "attachment \(attachment.name): has \(count) bytes, not \(attachment.size)")
  }

  /// Removes a document with its attachments, within a transaction.
  func removePayload(_ number: Int64) throws(SegueError) {
    try database.run("DELETE FROM payloads WHERE number = ?1", [.integer(number)])
  }
}
