// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The deadline of an object of a fleet that is in the fleet's queue. A later one is queued once this one is due.
struct QueuedDeadline {
  private var at: Int64?

  /// Sets the next deadline.
  /// - Returns: the uptime of the event to queue; nil if one is queued that comes no later.
  mutating func add(_ next: Int64?) -> Int64? {
    guard let next, at.map({ next < $0 }) ?? true else { return nil }
    at = next
    return next
  }

  /// Whether the event of that uptime counts: otherwise the deadline was reset meanwhile.
  func isDue(_ uptime: Int64) -> Bool { at == uptime }

  /// Removes the deadline, which is due.
  mutating func remove() { at = nil }
}
