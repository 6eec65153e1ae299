// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The earliest of several deadlines.
struct EarliestDeadline {
  private(set) var uptime: Int64?

  mutating func set(_ uptime: Int64) { self.uptime = earlier(self.uptime, uptime) }

  /// - Returns: whether it has passed; it is then unset.
  mutating func take(_ now: Int64) -> Bool {
    guard let uptime, uptime <= now else { return false }
    self.uptime = nil
    return true
  }
}

/// The earlier of two deadlines, or nil.
func earlier(_ one: Int64?, _ other: Int64?) -> Int64? {
  guard let one, let other else { return one ?? other }
  return min(one, other)
}
