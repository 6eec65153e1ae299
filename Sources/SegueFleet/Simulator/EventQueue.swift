// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Future events, ordered by time; events of the same time in the order in which they were added.
struct EventQueue<Event> {
  private struct Entry {
    let at: Int64
    let sequence: UInt64
    /// The index of the event: moving entries must not count references.
    let slot: Int

    func isBefore(_ other: Entry) -> Bool { at != other.at ? at < other.at : sequence < other.sequence }
  }

  /// Invariant: the first `count` entries are a binary heap: no entry is before its parent. The rest is free.
  private var entries: [Entry] = []
  private(set) var count = 0
  private var events: [Event?] = []
  private var nextSequence: UInt64 = 0

  /// The time of the next event, in milliseconds; nil if there is none.
  var nextTime: Int64? { count > 0 ? entries[0].at : nil }

  func contains(where matches: (Event) -> Bool) -> Bool {
    entries[..<count].contains { events[$0.slot].map(matches) ?? false }
  }

  mutating func push(_ event: consuming Event, at: Int64) {
    let slot: Int
    if count < entries.count {
      slot = entries[count].slot
      events[slot] = event
    } else {
      slot = count
      events.append(event)
      entries.append(Entry(at: at, sequence: nextSequence, slot: slot))
    }
    let entry = Entry(at: at, sequence: nextSequence, slot: slot)
    entries.withUnsafeMutableBufferPointer { Self.raise(entry, to: count, $0) }
    nextSequence += 1
    count += 1
  }

  mutating func pop() -> (at: Int64, event: Event)? {
    guard count > 0 else { return nil }
    let first = entries[0]
    guard let event = events[first.slot].take() else { return nil }
    count -= 1
    entries.withUnsafeMutableBufferPointer { entries in
      // The last entry usually belongs near the bottom: the hole sinks to the bottom, and the last entry rises from
      // there.
      var hole = 0
      var child = 2
      while child <= count {
        if child == count || entries[child - 1].isBefore(entries[child]) { child -= 1 }
        entries[hole] = entries[child]
        hole = child
        child = 2 * hole + 2
      }
      if hole < count { Self.raise(entries[count], to: hole, entries) }
      entries[count] = first
    }
    return (first.at, event)
  }

  /// Inserts an entry at its position between a hole and the root.
  private static func raise(_ entry: Entry, to hole: Int, _ entries: UnsafeMutableBufferPointer<Entry>) {
    var hole = hole
    while hole > 0 {
      let parent = (hole - 1) / 2
      guard entry.isBefore(entries[parent]) else { break }
      entries[hole] = entries[parent]
      hole = parent
    }
    entries[hole] = entry
  }
}
