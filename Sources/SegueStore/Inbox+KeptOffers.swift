// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueWire

/// Kept offers (R2.5).
extension Inbox {
  /// Keeps an offer with its last snapshot, instead of an older one of the same activity, until `life` seconds from now
  /// or the activity's expiration date.
  /// - Parameters:
  ///   - team: the Team ID of its app.
  ///   - retained: the device for which it is retained (R14.5); nil: an app of this device has left it.
  /// Throws LIMIT_EXCEEDED as `put` does, INVALID_STATE if it has expired.
  public func keep(
    _ offer: Offer, team: String, document: [UInt8], attachments: [AttachmentContent] = [], at now: Double,
    life: Double = Limits.keptOfferLife, retained: KeptOffer.Retained? = nil
  ) throws(SegueError) {
    try Text.check(Optional(team), "team", atMost: Limits.identifier)
    try Self.check(offer)
    let latest = now + life
    let expiry = offer.description.expirationDate.map { min($0, latest) } ?? latest
    guard expiry > now else { throw SegueError(.invalidState, "activity: has expired") }
    defer { database.giveBack() }
    try database.transaction { () throws(SegueError) in
      _ = try remove(offer.description.id)
      let payload = try store(document, attachments)
      try database.run(
        """
        INSERT INTO kept (team, payload, kept, expires, activity, origin, origin_app, origin_bundle, device, type,
          title, payload_version, size_hint, expiration, streams)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
        """, [.text(team), .integer(payload), .real(now), .real(expiry)] + Self.cells(of: offer))
      guard let retained else { return }
      let origin = retained.origin
      try database.run(
        """
        INSERT INTO retained (activity, device, original, revision, proof, push, target, target_app)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        """,
        [
          Cell(offer.description.id), Cell(origin.device), Cell(origin.activity),
          .integer(Int64(bitPattern: origin.revision)), .blob(origin.proof), origin.push.map { Cell($0.id) } ?? .null,
          origin.push.map { Cell($0.target) } ?? .null, Cell(origin.push?.app),
        ])
    }
  }

  /// Notes how a retained activity was continued, or a push has ended (R14.5).
  /// - Returns: false if it is not retained.
  @discardableResult
  public func settle(_ activity: Identifier, revision: UInt64, _ receipt: Receipt) throws(SegueError) -> Bool {
    let receiver = receipt.receiver
    for text in [receiver.deviceName, receiver.appName, receiver.bundleIdentifier] {
      try Text.check(Optional(text), "receiver", atMost: Limits.identifier)
    }
    return try database.run(
      """
      UPDATE retained SET continuation = ?2, receiver = ?3, receiver_device = ?4, app = ?5, bundle = ?6, ended = ?7,
        outcome = ?9, status = ?10, reason = ?11
      WHERE activity = ?1 AND revision = ?8
      """,
      [
        Cell(activity), Cell(receipt.continuation), Cell(receiver.id), .text(receiver.deviceName),
        .text(receiver.appName), .text(receiver.bundleIdentifier), .real(receipt.date),
        .integer(Int64(bitPattern: revision)), .integer(Int64(receipt.outcome.rawValue)),
        .integer(Int64(receipt.status.rawValue)),
        .text(Text.start(of: receipt.reason, atMost: Limits.identifier)),
      ]) > 0
  }

  /// The oldest first, those that have expired included until `expire`.
  public func keptOffers() throws(SegueError) -> [KeptOffer] {
    var found: [KeptOffer] = []
    try database.forEachReadableRow("a kept offer", Self.allKept) { row throws(SegueError) in
      found.append(try keptOffer(row))
    }
    return found
  }

  /// Nil if there is none of that activity.
  public func keptOffer(_ activity: Identifier) throws(SegueError) -> KeptOffer? {
    try keptOffers().first { $0.offer.description.id == activity }
  }

  /// Forgets the kept offer of an activity.
  /// - Returns: false if there is none.
  @discardableResult
  public func withdraw(_ activity: Identifier) throws(SegueError) -> Bool {
    defer { database.giveBack() }
    return try database.transaction { () throws(SegueError) in try remove(activity) }
  }

  /// Forgets the kept offers of an app: it makes another activity current.
  /// - Returns: their activities.
  @discardableResult
  public func withdrawOffers(ofApp bundle: String) throws(SegueError) -> [Identifier] {
    defer { database.giveBack() }
    return try database.transaction { () throws(SegueError) in try removeOffers(ofApp: bundle) }
  }

  /// Within a transaction.
  func removeOffers(ofApp bundle: String) throws(SegueError) -> [Identifier] {
    var found: [Identifier] = []
    try database.forEachRow("SELECT activity FROM kept WHERE origin_bundle = ?1 ORDER BY number", [.text(bundle)]) {
      row throws(SegueError) in found.append(try row.identifier(0))
    }
    for activity in found { _ = try remove(activity) }
    return found
  }

  /// Within a transaction.
  func remove(_ activity: Identifier) throws(SegueError) -> Bool {
    let payload = try database.first("SELECT payload FROM kept WHERE activity = ?1", [Cell(activity)]) {
      row throws(SegueError) in try row.integer(0)
    }
    guard let payload else { return false }
    try database.run("DELETE FROM kept WHERE activity = ?1", [Cell(activity)])
    try removePayload(payload)
    return true
  }
}
