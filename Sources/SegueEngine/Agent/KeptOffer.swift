// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An activity that an app has left with the agent (R2.5).
struct KeptOffer {
  /// Without the content of attachments.
  var record: KeptRecord
  /// The principal that was charged when it was left; nil: that was before a restart.
  let principal: Identifier?
  /// Whether it was left at the current hub, which sees to it that no other app offers what its app has offered.
  var isLeftHere: Bool
  /// The uptime at which it was left; before the start of the clock if that was before a restart.
  let since: Int64
  /// The uptime at which its time is up, whatever its date.
  var endsAt: Int64
  /// The uptime at which its own date comes, as it was known when that was ahead: a date that is set later ends
  /// nothing. Nil: it has none, or that was past whenever it was looked at.
  var dateAt: Int64?
  var pause = ExpiryPause()
  /// Whether it is on the disk.
  var isStored: Bool
  /// The older state of the activity that is on the disk; at most one. Empty if this one is there, or none is.
  var former: [KeptOffer] = []
  /// Nil while it is not offered: its app is open, or may still register; its date is past; it is not on the disk
  /// yet; or the system has refused to connect it.
  var offer: KeptParticipant?

  /// The uptime until which attachments of what was continued are served although it is offered no longer (R14.5).
  var servesUntil: Int64 = 0

  /// The uptime at which it expires.
  var expiresAt: Int64 { min(endsAt, dateAt ?? endsAt) }

  /// The bytes that are held, those of the older state among them.
  var documentBytes: Int { former.reduce(record.document.count) { $0 + $1.record.document.count } }

  /// The older state that is on the disk now, and was left just before.
  func stored(_ older: KeptRecord, _ now: Instant) -> KeptOffer {
    var state = KeptOffer(
      record: older.withoutContent, principal: principal, isLeftHere: isLeftHere, since: since, endsAt: endsAt,
      isStored: true)
    _ = state.look(now)
    return state
  }

  /// Looks at its own date. One that is past hides it: the clock may be wrong, and be set back.
  /// - Returns: the uptime at which to look again; nil if it may be offered.
  mutating func look(_ now: Instant) -> Int64? {
    guard let date = record.description.expirationDate else { return nil }
    guard date > now.date else { return pause.next(now) }
    pause.end()
    let timing = OfferTiming(activatedAt: since, expirationDate: date, now: now)
    // Whole milliseconds remain: it is not over before the next one.
    if dateAt == nil, let remaining = timing.remaining { dateAt = now.uptime + remaining + 1 }
    return nil
  }
}
