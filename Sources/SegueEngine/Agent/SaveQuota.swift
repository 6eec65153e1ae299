import SegueModel

/// The rate limit of saves for search by the apps of a process: ten a second, and a burst that is large enough for
/// several apps that close (R8.1).
struct SaveQuota {
  /// Saves at once.
  static let burst: Int64 = 128

  /// The uptime at which all saves of an account are paid. Those that have paid are not in it.
  private var debts: [(account: Identifier, paidAt: Int64)] = []

  /// - Returns: whether the account may save once more.
  mutating func take(_ account: Identifier, _ now: Instant) -> Bool {
    debts.removeAll { $0.paidAt <= now.uptime }
    guard let index = debts.firstIndex(where: { $0.account == account }) else {
      debts.append((account, now.uptime + SearchUpdates.savePause))
      return true
    }
    guard debts[index].paidAt - now.uptime <= (Self.burst - 1) * SearchUpdates.savePause else { return false }
    debts[index].paidAt += SearchUpdates.savePause
    return true
  }
}
