// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The rate limit of saves for search by the apps of a process: ten a second, and a burst that is large enough for
/// several apps that close (R8.1).
struct SaveQuota {
  /// Saves at once.
  static let burst = 128
  private static let perSecond = Int(1_000 / SearchUpdates.savePause)

  /// Principals whose saves are all paid are not in it.
  private var limiters: [(principal: Identifier, saves: RateLimiter)] = []

  /// - Returns: whether the principal may save once more.
  mutating func take(_ principal: Identifier, _ now: Instant) -> Bool {
    limiters.removeAll { $0.saves.isUnused(at: now.uptime) }
    if let index = limiters.firstIndex(where: { $0.principal == principal }) {
      return limiters[index].saves.take(at: now.uptime)
    }
    var saves = RateLimiter(burst: Self.burst, perSecond: Self.perSecond)
    defer { limiters.append((principal, saves)) }
    return saves.take(at: now.uptime)
  }
}
