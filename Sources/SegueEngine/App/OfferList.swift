import SegueModel
import SegueWire

/// The offers that an app sees (R2.7). They outlive their hub for a while, so that none is gone and back when another
/// hub takes over (R2.8).
///
/// A chooser may see thousands: each change costs a search in halves, and moves those in front of it.
public struct OfferList {
  /// Milliseconds that offers are kept without a hub.
  static let withoutHub: Int64 = 3_000
  /// Milliseconds that a new hub's other apps have to register again.
  static let withNewHub: Int64 = 1_500

  /// Bytes of the offers that an app keeps, and a chooser, which sees those of all: a hub that tells of more does no harm.
  public static let appLimit = 8 * 1024 * 1024
  public static let chooserLimit = 64 * 1024 * 1024

  private struct Entry {
    var offer: Offer
    /// Its places in `order` and `expiries`; nil: it does not expire.
    var place: Place
    var expiry: Expiry?
  }

  /// Where an offer stands: the highest is the frontmost.
  private struct Place: Comparable {
    /// The hub that told it, counted from the first: what the present one has not confirmed comes last.
    let hub: UInt64
    let rank: UInt64
    /// The order in which they came, the other way round: of two with one rank the older one is in front.
    let arrival: UInt64
    let id: Identifier

    static func < (left: Place, right: Place) -> Bool {
      if left.hub != right.hub { return left.hub < right.hub }
      if left.rank != right.rank { return left.rank < right.rank }
      return left.arrival > right.arrival
    }
  }

  private struct Expiry: Comparable {
    /// Uptime.
    let at: Int64
    let arrival: UInt64
    let id: Identifier

    static func < (left: Expiry, right: Expiry) -> Bool {
      left.at != right.at ? left.at > right.at : left.arrival > right.arrival
    }
  }

  typealias Report = (Delivery.OfferEvent, Offer) -> Void

  private let bytesLimit: Int
  private(set) var bytes = 0
  /// To look one up; the order is in `order`.
  private var entries: [Identifier: Entry] = [:]
  /// The frontmost last, since it is the front that changes most.
  private var order = SortedArray<Place>()
  /// What expires first is last.
  private var expiries = SortedArray<Expiry>()
  private var hub: UInt64 = 0
  private var nextArrival: UInt64 = 0
  /// Uptime at which what is not confirmed goes.
  private var purgeAt: Int64?

  init(bytesLimit: Int = OfferList.chooserLimit) { self.bytesLimit = bytesLimit }

  /// Frontmost first; what the hub has not confirmed comes last.
  public var all: [Offer] { order.elements.reversed().compactMap { entries[$0.id]?.offer } }

  public subscript(id: Identifier) -> Offer? { entries[id]?.offer }

  var nextDeadline: Int64? {
    guard let purgeAt, let expiry = expiries.elements.last else { return purgeAt ?? expiries.elements.last?.at }
    return min(purgeAt, expiry.at)
  }

  mutating func put(_ offer: Offer, _ timing: OfferTiming, _ now: Moment, report: Report) {
    let id = offer.description.id
    let before = take(id)
    let date = timing.expirationDate(now: now)
    let offer = Offer(
      description: offer.description.expiring(steady(date, before?.offer.description.expirationDate)),
      origin: offer.origin, appName: offer.appName, bundleIdentifier: offer.bundleIdentifier,
      deviceName: offer.deviceName, rank: offer.rank, activatedAt: now.uptime - timing.age)
    nextArrival += 1
    let place = Place(hub: hub, rank: offer.rank, arrival: nextArrival, id: id)
    let expiry = date.map { Expiry(at: now.uptime(of: $0), arrival: nextArrival, id: id) }
    entries[id] = Entry(offer: offer, place: place, expiry: expiry)
    order.insert(place)
    if let expiry { expiries.insert(expiry) }
    bytes += Self.size(of: offer)
    if let before {
      // Another hub counts ranks anew: that alone is no change.
      let isSame =
        before.place.hub == hub ? before.offer == offer : before.offer.description == offer.description
      if !isSame { report(.changed, offer) }
    } else {
      report(.appeared, offer)
    }
    // The hindmost go.
    while bytes > bytesLimit, let last = order.elements.first { remove(last.id, report: report) }
  }

  /// Bytes in memory, roughly.
  private static func size(of offer: Offer) -> Int {
    256 + offer.description.type.utf8.count + (offer.description.title?.utf8.count ?? 0) + offer.appName.utf8.count
      + offer.bundleIdentifier.utf8.count + offer.deviceName.utf8.count
  }

  mutating func remove(_ id: Identifier, report: Report) {
    guard let entry = take(id) else { return }
    report(.gone, entry.offer)
  }

  /// Whether offers of another hub may still be confirmed by this one.
  var isReconciling: Bool { purgeAt != nil }

  /// Whether those of an app may: it is on its way to this hub, too.
  func awaits(_ origin: Identifier) -> Bool {
    isReconciling && order.elements.prefix { $0.hub != hub }.contains { entries[$0.id]?.offer.origin == origin }
  }

  mutating func loseHub(_ now: Moment) {
    hub += 1
    purgeAt = entries.isEmpty ? nil : now.uptime + Self.withoutHub
  }

  mutating func meetHub(_ now: Moment) {
    // The last in the order is confirmed, so all are.
    let isComplete = order.elements.first.map { $0.hub == hub } ?? true
    purgeAt = isComplete ? nil : now.uptime + Self.withNewHub
  }

  mutating func tick(_ now: Moment, report: Report) {
    if let at = purgeAt, at <= now.uptime {
      purgeAt = nil
      let gone = order.elements.prefix { $0.hub != hub }
      for place in gone.reversed() { remove(place.id, report: report) }
    }
    while let expiry = expiries.elements.last, expiry.at <= now.uptime {
      if let date = entries[expiry.id]?.offer.description.expirationDate, date > now.date {
        // The clock was set back.
        expiries.remove(expiry)
        let later = Expiry(at: max(now.uptime + 1, now.uptime(of: date)), arrival: expiry.arrival, id: expiry.id)
        entries[expiry.id]?.expiry = later
        expiries.insert(later)
      } else {
        remove(expiry.id, report: report)
      }
    }
  }

  private mutating func take(_ id: Identifier) -> Entry? {
    guard let entry = entries.removeValue(forKey: id) else { return nil }
    bytes -= Self.size(of: entry.offer)
    order.remove(entry.place)
    if let expiry = entry.expiry { expiries.remove(expiry) }
    return entry
  }

  /// The date as it was, if the new one differs by no more than clocks and roundings do.
  private func steady(_ date: Double?, _ before: Double?) -> Double? {
    guard let date, let before, abs(date - before) < 1 else { return date }
    return before
  }
}
