// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The known version of a remote hub's offers, and since when older ones come.
struct KnownVersion {
  private(set) var number: UInt64 = 0
  /// The uptime since which the chosen route sends an older version than the known one, or nil.
  private(set) var behindSince: Int64?

  /// A new list begins.
  /// - Parameter believing: accepts an older version than the known one.
  mutating func restart(believing: Bool) {
    behindSince = nil
    if believing { number = 0 }
  }

  /// Whether a message of that version is not older than the known one, which is that version from now on.
  /// - Parameter isSure: the message counts in any case.
  mutating func accept(_ number: UInt64, isSure: Bool, at uptime: Int64) -> Bool {
    guard isSure || number >= self.number else {
      if behindSince == nil { behindSince = uptime }
      return false
    }
    self.number = number
    behindSince = nil
    return true
  }
}
