import SegueModel

/// What an app offers by its own account: what all devices are to agree on.
struct Offered {
  /// Nil: nothing.
  var id: Identifier?
  var title: String?
  var type = ""
  /// Uptime of the last change.
  var since: Int64 = 0
  /// What it offered before, and may not have gone everywhere.
  var former: [Identifier] = []
  var isAuditQueued = false
  /// The activity as it was looked at last, with the uptime of its last change; nil: it may have changed since then.
  private var seen: (id: Identifier, changedAt: Int64, expirationDate: Double?)?

  /// Whether nothing can have come of the activity that is current since it was looked at.
  func isAsSeen(_ id: Identifier, changedAt: Int64, _ now: Moment) -> Bool {
    guard let seen, seen.id == id, seen.changedAt == changedAt else { return false }
    return seen.expirationDate.map { now.date < $0 } ?? true
  }

  mutating func see(_ id: Identifier?, changedAt: Int64, expirationDate: Double?, _ now: Moment) {
    // What changes again within the same millisecond shows no difference.
    seen = id.flatMap { changedAt < now.uptime ? ($0, changedAt, expirationDate) : nil }
  }
}
