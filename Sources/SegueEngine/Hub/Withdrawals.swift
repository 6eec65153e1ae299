import SegueModel
import SegueWire

/// Withdrawals that are still on their way to others, or that old news may still contradict.
struct Withdrawals {
  /// Milliseconds that one is remembered: longer than news is on its way.
  private static let time: Int64 = 60_000
  /// The oldest goes first.
  private static let limit = 1_024

  private var withdrawals: [Identifier: Withdrawal] = [:]
  private var order: [(id: Identifier, revision: UInt64, until: Int64)] = []

  subscript(id: Identifier) -> Withdrawal? { withdrawals[id] }

  mutating func note(_ id: Identifier, _ withdrawal: Withdrawal, at uptime: Int64) {
    if let known = withdrawals[id], known.hub == withdrawal.hub, known.revision >= withdrawal.revision { return }
    while let oldest = order.first, oldest.until <= uptime || order.count >= Self.limit {
      order.removeFirst()
      if withdrawals[oldest.id]?.revision == oldest.revision { withdrawals[oldest.id] = nil }
    }
    withdrawals[id] = withdrawal
    order.append((id, withdrawal.revision, uptime + Self.time))
  }
}
