// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The events of a process that are in the queue of its fleet.
struct QueuedEvents {
  /// The deadline of the engine.
  var deadline = QueuedDeadline()
  private var settlesAt: Int64?
  /// Whether there is an event for callbacks.
  var hasCallbacks = false

  /// Sets the uptime at which the app has waited long enough for the other apps of a new hub.
  /// - Returns: the uptime of the event to queue; nil for none.
  mutating func addSettling(at uptime: Int64?) -> Int64? {
    guard uptime != settlesAt else { return nil }
    settlesAt = uptime
    return uptime
  }
}
