/// What is to happen, in the order of time; what is to happen at the same time, in the order in which it was put in.
struct EventQueue<Event> {
  private struct Entry {
    let at: Int64
    let sequence: UInt64
    /// Where the event is: moving entries about must not count references.
    let slot: Int

    func isBefore(_ other: Entry) -> Bool { at != other.at ? at < other.at : sequence < other.sequence }
  }

  /// A binary heap: no entry is before its parent.
  private var entries: [Entry] = []
  private var events: [Event?] = []
  private var free: [Int] = []
  private var nextSequence: UInt64 = 0

  var count: Int { entries.count }

  /// When the next event is, in milliseconds; nil: there is none.
  var nextTime: Int64? { entries.first?.at }

  mutating func push(_ event: consuming Event, at: Int64) {
    let slot: Int
    if let last = free.popLast() {
      slot = last
      events[slot] = event
    } else {
      slot = events.count
      events.append(event)
    }
    let entry = Entry(at: at, sequence: nextSequence, slot: slot)
    nextSequence += 1
    entries.append(entry)
    entries.withUnsafeMutableBufferPointer { entries in
      var hole = entries.count - 1
      while hole > 0 {
        let parent = (hole - 1) / 2
        guard entry.isBefore(entries[parent]) else { break }
        entries[hole] = entries[parent]
        hole = parent
      }
      entries[hole] = entry
    }
  }

  mutating func pop() -> (at: Int64, event: Event)? {
    guard let first = entries.first, let event = events[first.slot].take() else { return nil }
    free.append(first.slot)
    let last = entries.removeLast()
    if !entries.isEmpty { sink(last) }
    return (first.at, event)
  }

  /// Puts an entry in the place of the first, and then where it belongs.
  private mutating func sink(_ entry: Entry) {
    entries.withUnsafeMutableBufferPointer { entries in
      var hole = 0
      while true {
        var child = 2 * hole + 1
        guard child < entries.count else { break }
        if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) { child += 1 }
        guard entries[child].isBefore(entry) else { break }
        entries[hole] = entries[child]
        hole = child
      }
      entries[hole] = entry
    }
  }
}
