// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The activity that an app itself offers, on which all devices have to agree.
struct Offered {
  /// Nil: nothing.
  var id: Identifier?
  var title: String?
  var type = ""
  /// Whether apps of other teams see it (R13.1).
  var isPublic = false
  /// Uptime of the last change.
  var since: Int64 = 0
  /// The earlier offer, which may still be listed somewhere.
  var former: [Identifier] = []
  var isAuditQueued = false
  /// The activity at the last check, with the uptime of its last change; nil if it may have changed since then.
  private var seen: (id: Identifier, changedAt: Int64, expirationDate: Double?)?

  /// Whether the current activity cannot have changed since the last check.
  func isAsSeen(_ id: Identifier, changedAt: Int64, _ now: Instant) -> Bool {
    guard let seen, seen.id == id, seen.changedAt == changedAt else { return false }
    return seen.expirationDate.map { now.date < $0 } ?? true
  }

  mutating func see(_ id: Identifier?, changedAt: Int64, expirationDate: Double?, _ now: Instant) {
    // A second change within the same millisecond would not show.
    seen = id.flatMap { changedAt < now.uptime ? ($0, changedAt, expirationDate) : nil }
  }
}
