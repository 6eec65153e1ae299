// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The queue of the events of a fleet, which knows whether one of them is in progress.
struct FleetSchedule {
  private var queue = EventQueue<FleetEvent>()
  /// The number of queued events in progress: all but timers.
  private var underWay = 0

  var isBusy: Bool { underWay > 0 }
  /// The time of the next event; nil if there is none.
  var nextTime: Int64? { queue.nextTime }

  /// Whether an event matches.
  func contains(where matches: (FleetEvent) -> Bool) -> Bool { queue.contains(where: matches) }

  /// Adds an event.
  mutating func push(_ event: consuming FleetEvent, at: Int64) {
    if event.isUnderWay { underWay += 1 }
    queue.push(event, at: at)
  }

  /// Removes and returns the next event; nil if there is none.
  mutating func pop() -> (at: Int64, event: FleetEvent)? {
    guard let next = queue.pop() else { return nil }
    if next.event.isUnderWay { underWay -= 1 }
    return next
  }
}
