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
}
