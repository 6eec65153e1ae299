import SegueEngine

/// What the host is to be told, oldest first.
struct DueQueue {
  enum Item {
    case delivery(Delivery)
    /// Objects to restore.
    case restoration(Continuation)
    /// An attachment that has come, or a part of it.
    case transfer(Transfer)
  }

  private var items: [Item?] = []
  private var first = 0

  var isEmpty: Bool { first == items.count }
  var count: Int { items.count - first }

  mutating func append(_ item: Item) { items.append(item) }

  mutating func popFirst() -> Item? {
    guard first < items.count else { return nil }
    defer {
      first += 1
      if first == items.count {
        items.removeAll(keepingCapacity: items.count <= 64)
        first = 0
      }
    }
    // Not kept until the others have gone: that may be much later, and under the lock.
    return items[first].take()
  }
}
