// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The calls that tell the account of the time, one at a time.
struct AccountTicks {
  private var isUnderWay = false
  /// The uptime at which the account was last told.
  private var last: Int64 = 0

  /// The uptime at which the account is to be told next; nil: never, or while it is being told.
  func deadline(of account: AccountSnapshot) -> Int64? { isUnderWay ? nil : account.nextTick(after: last) }

  /// The account is being told.
  mutating func begin() { isUnderWay = true }
  /// The account was told.
  mutating func end(at uptime: Int64) { (isUnderWay, last) = (false, uptime) }
}
