import SegueModel

/// What a peer has yet to be told of offers.
struct OfferNews: Hashable {
  enum Kind: UInt8 {
    /// Of an activity, to an app.
    case activity
    /// Of an offer of a hub, to another hub.
    case offer
    /// That all offers of a hub were told.
    case listed
    /// Of the route to a hub.
    case route
  }

  let kind: Kind
  /// Its offer, or nil's.
  let hub: Identifier
  let activity: Identifier

  static func activity(_ id: Identifier) -> OfferNews { OfferNews(kind: .activity, hub: none, activity: id) }
  static func offer(_ hub: Identifier, _ id: Identifier) -> OfferNews {
    OfferNews(kind: .offer, hub: hub, activity: id)
  }
  static func listed(_ hub: Identifier) -> OfferNews { OfferNews(kind: .listed, hub: hub, activity: none) }
  static func route(_ hub: Identifier) -> OfferNews { OfferNews(kind: .route, hub: hub, activity: none) }

  private static var none: Identifier { Identifier(high: 0, low: 0) }
}

/// News that a peer has yet to be told, each once, in the order in which it came.
struct PendingOffers {
  /// So many are looked through; of more, the set knows.
  private static let few = 16

  private var order: [OfferNews] = []
  private var start = 0
  /// Those in `order` from `start` on, if they were more than a few since there were none.
  private var members: Set<OfferNews> = []

  init() {}

  init(_ news: [OfferNews]) { for one in news { append(one) } }

  var count: Int { order.count - start }
  var isEmpty: Bool { start == order.count }

  func contains(_ news: OfferNews) -> Bool {
    members.isEmpty ? order[start...].contains(news) : members.contains(news)
  }

  /// News that is there keeps its place: nothing overtakes.
  mutating func append(_ news: OfferNews) {
    guard !contains(news) else { return }
    if members.isEmpty, count == Self.few { members = Set(order[start...]) }
    order.append(news)
    if !members.isEmpty { members.insert(news) }
  }

  /// The same, behind all that waits.
  mutating func appendLast(_ news: OfferNews) {
    if contains(news), let place = order[start...].firstIndex(of: news) {
      order.remove(at: place)
      if !members.isEmpty { members.remove(news) }
    }
    append(news)
  }

  mutating func popFirst() -> OfferNews? {
    guard start < order.count else { return nil }
    let news = order[start]
    if !members.isEmpty { members.remove(news) }
    start += 1
    if start == order.count {
      // What a burst took is given back.
      self = PendingOffers()
    } else if start >= 1_024, start * 2 >= order.count {
      order.removeFirst(start)
      start = 0
    }
    return news
  }
}
