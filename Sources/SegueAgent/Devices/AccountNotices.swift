import SegueModel
import SegueRuntime
import SegueTransport
import SegueTrust

/// What the user is told of the account and its devices without having asked, oldest first.
struct AccountNotices {
  private(set) var all: [(date: Double, error: SegueError)] = []
  /// Rations the notices that each device causes.
  private var claims = TryLimiter(each: Limits.answers, all: Limits.devices * Limits.answers)

  /// Adds a notice. One that was told before takes its later date.
  mutating func add(_ error: SegueError) {
    let known = all.firstIndex {
      $0.error.status == error.status && Text.isSame($0.error.message, error.message)
    }
    if let known { all.remove(at: known) } else { Log.info("\(error.message)") }
    all.append((Clock.date, error))
    all.removeFirst(max(0, all.count - Limits.notices))
  }

  /// Adds what another device says, or is found to do, unless it has caused too many notices lately.
  /// - Parameter peer: nil: one that has not shown who it is.
  /// - Returns: whether it was added.
  mutating func add(_ error: SegueError, of peer: Identifier?, at uptime: Int64) -> Bool {
    guard claims.take(peer?.bytes ?? [], at: uptime) else { return false }
    add(error)
    return true
  }

  func value() throws(SegueError) -> Value {
    var values: [Value] = []
    for (date, error) in all {
      values.append(
        try .dictionary([
          (key: .string("date"), value: try .date(date)),
          (key: .string("status"), value: .integer(Int64(error.status.rawValue))),
          (key: .string("message"), value: .string(error.message)),
        ]))
    }
    return try .array(values)
  }
}
