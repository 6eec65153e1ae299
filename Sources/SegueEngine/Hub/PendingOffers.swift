import SegueModel

/// Offers that a peer has yet to be told of, each once, in the order in which there was news of them.
struct PendingOffers {
  /// So many are looked through; of more, the set knows.
  private static let few = 16

  private var order: [Identifier] = []
  private var start = 0
  /// Those in `order` from `start` on, if they were more than a few since there were none.
  private var members: Set<Identifier> = []

  init() {}

  init(_ identifiers: [Identifier]) { for id in identifiers { append(id) } }

  var count: Int { order.count - start }
  var isEmpty: Bool { start == order.count }

  private func contains(_ id: Identifier) -> Bool {
    members.isEmpty ? order[start...].contains(id) : members.contains(id)
  }

  /// One that is there keeps its place: nothing overtakes.
  mutating func append(_ id: Identifier) {
    guard !contains(id) else { return }
    if members.isEmpty, count == Self.few { members = Set(order[start...]) }
    order.append(id)
    if !members.isEmpty { members.insert(id) }
  }

  mutating func popFirst() -> Identifier? {
    guard start < order.count else { return nil }
    let id = order[start]
    if !members.isEmpty { members.remove(id) }
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
