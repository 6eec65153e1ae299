// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The notices that the user gets of the account and its devices without having asked, oldest first.
struct AccountNotices {
  private let environment: any AgentEnvironment
  private(set) var all: [(date: Double, error: SegueError, source: NoticeSource)] = []
  /// Rations the notices that each device causes.
  private var claims = SourceRateLimiter(each: Limits.answers, all: Limits.devices * Limits.answers)

  init(in environment: any AgentEnvironment) { self.environment = environment }

  /// Adds a notice. One that was told before takes its later date, and one of a clock the place of the former one. If
  /// there are too many, the source with the most of them loses its oldest.
  mutating func add(_ error: SegueError, of source: NoticeSource = .here) {
    let known = all.firstIndex { known in
      if case .clock = source { return known.source == source }
      return known.error == error
    }
    if let known { all.remove(at: known) } else { environment.log(.info, "\(error.message)") }
    all.append((environment.now.date, error, source))
    all.shorten(to: Limits.notices) { $0.source.owner == $1.source.owner }
  }

  /// Adds what another device says, or is found to do, unless it has caused too many notices lately.
  /// - Parameter peer: nil: one that has not shown who it is.
  /// - Returns: whether it was added.
  mutating func add(_ error: SegueError, of peer: Identifier?, at uptime: Int64) -> Bool {
    guard claims.take(peer?.bytes ?? [], at: uptime) else { return false }
    add(error, of: peer.map { .device($0) } ?? .unlisted)
    return true
  }

  func value() throws(SegueError) -> Value {
    var values: [Value] = []
    for (date, error, _) in all {
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
