// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The stop of a process, as by SIGSTOP, and the events that wait for its end.
struct ProcessStop {
  private(set) var isOn = false
  private var waiting: [FleetEvent] = []
  /// Uptime at which the process last went on.
  private(set) var endedAt: Int64 = .min

  /// Stops the process.
  mutating func begin() { isOn = true }

  /// Continues the process.
  /// - Returns: the events that have waited.
  mutating func end(at uptime: Int64) -> [FleetEvent] {
    endedAt = uptime
    defer { drop() }
    return waiting
  }

  /// Drops the events: the process has ended.
  mutating func drop() {
    isOn = false
    waiting = []
  }

  /// Postpones an event if the process is stopped, and returns whether it is.
  mutating func postpones(_ event: FleetEvent) -> Bool {
    guard isOn else { return false }
    waiting.append(event)
    return true
  }
}
