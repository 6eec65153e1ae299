import SegueModel

/// Offers that a peer has yet to be told of, each once, in the order in which there was news of them.
struct PendingOffers {
  private var order: [Identifier] = []
  private var start = 0
  /// Those in `order` from `start` on.
  private var members: Set<Identifier> = []

  init() {}

  init(_ identifiers: [Identifier]) { for id in identifiers { append(id) } }

  var count: Int { order.count - start }
  var isEmpty: Bool { start == order.count }

  /// One that is there keeps its place: nothing overtakes.
  mutating func append(_ id: Identifier) {
    if members.insert(id).inserted { order.append(id) }
  }

  mutating func popFirst() -> Identifier? {
    guard start < order.count else { return nil }
    let id = order[start]
    members.remove(id)
    start += 1
    if start == order.count {
      // What a burst took is given back.
      self = PendingOffers()
    } else if start >= 1_024, start * 2 >= order.count {
      order.removeFirst(start)
      start = 0
    }
    return id
  }
}
