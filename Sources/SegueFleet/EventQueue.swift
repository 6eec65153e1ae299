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

  mutating func push(_ event: Event, at: Int64) {
    let slot: Int
    if let last = free.popLast() {
      slot = last
      events[slot] = event
    } else {
      slot = events.count
      events.append(event)
    }
    entries.append(Entry(at: at, sequence: nextSequence, slot: slot))
    nextSequence += 1
    var index = entries.count - 1
    while index > 0 {
      let parent = (index - 1) / 2
      guard entries[index].isBefore(entries[parent]) else { return }
      entries.swapAt(index, parent)
      index = parent
    }
  }

  mutating func pop() -> (at: Int64, event: Event)? {
    guard let first = entries.first, let event = events[first.slot] else { return nil }
    events[first.slot] = nil
    free.append(first.slot)
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      sink()
    }
    return (first.at, event)
  }

  private mutating func sink() {
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
        if entries[child].isBefore(entries[least]) { least = child }
      }
      guard least != index else { return }
      entries.swapAt(index, least)
      index = least
    }
  }
}
