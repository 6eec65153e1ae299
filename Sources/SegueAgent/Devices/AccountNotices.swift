import SegueModel
import SegueRuntime
import SegueTransport

/// What the user is told of the account and its devices without having asked, oldest first.
struct AccountNotices {
  private(set) var all: [(date: Double, error: SegueError)] = []

  /// What is said again at once is told once, with its last date.
  mutating func add(_ error: SegueError) {
    if let last = all.last, last.error.status == error.status, Text.isSame(last.error.message, error.message) {
      all[all.count - 1].date = Clock.date
      return
    }
    Log.info("\(error.message)")
    all.append((Clock.date, error))
    all.removeFirst(max(0, all.count - Limits.notices))
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
