// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The bound of the steps of a fleet at one time. Once it is reached, the fleet advances no more.
struct StepBound {
  /// The most steps at one time.
  var limit = 1_000_000
  private(set) var isReached = false
  private var time: Int64 = 0
  private var count = 0

  /// Steps follow from that time on.
  mutating func begin(at uptime: Int64) { (time, count) = (uptime, 0) }

  /// Counts a step.
  /// - Returns: whether it is the first one too many.
  mutating func countStep(at uptime: Int64) -> Bool {
    if uptime != time { begin(at: uptime) } else { count += 1 }
    isReached = count >= limit
    return isReached
  }
}
