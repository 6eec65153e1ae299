// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The offers that an app sees (R2.7). They outlive their hub for a while, so that none disappears and reappears when
/// another hub takes over (R2.8).
///
/// A chooser may see thousands: each change costs a binary search, and moves the offers in front of it.
public struct OfferList {
  /// Milliseconds for which offers are kept without a hub.
  static let withoutHub: Int64 = 3_000
  /// Milliseconds for the other apps to register with a new hub.
  static let withNewHub: Int64 = 1_500

  /// The most bytes of offers of an app, and of a chooser, which sees all: bounds what a hub can send.
  public static let appLimit = 8 * 1024 * 1024
  public static let chooserLimit = 64 * 1024 * 1024

  private struct Entry {
    var offer: Offer
    /// Its positions in `order` and `expiries`; nil if it does not expire.
    var place: Place
    var expiry: Expiry?
  }

  /// The position of an offer: the highest is the frontmost.
  private struct Place: Comparable {
    /// The number of the hub that sent it last: offers that the current hub has not confirmed come last.
    let hub: UInt64
    let rank: UInt64
    /// The arrival order, reversed: of two with the same rank the older one is in front.
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
  /// For look-ups; the order is in `order`.
  private var entries: [Identifier: Entry] = .init()
  /// Frontmost last, since the front changes most.
  private var order = SortedArray<Place>()
  /// Ordered by expiration; the first to expire is last.
  private var expiries = SortedArray<Expiry>()
  private var hub: UInt64 = 0
  private var nextArrival: UInt64 = 0
  /// The uptime at which unconfirmed offers are dropped.
  private var purgeAt: Int64?

  init(bytesLimit: Int = OfferList.chooserLimit) { self.bytesLimit = bytesLimit }

  /// Frontmost first; unconfirmed offers last.
  public var all: [Offer] { order.elements.reversed().compactMap { entries[$0.id]?.offer } }

  public subscript(id: Identifier) -> Offer? { entries[id]?.offer }

  var nextDeadline: Int64? {
    guard let purgeAt, let expiry = expiries.elements.last else { return purgeAt ?? expiries.elements.last?.at }
    return min(purgeAt, expiry.at)
  }

  mutating func put(_ offer: Offer, _ timing: OfferTiming, _ now: Instant, report: Report) {
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
      // Another hub assigns new ranks: that alone is no change.
      let isSame =
        before.place.hub == hub ? before.offer == offer : before.offer.description == offer.description
      if !isSame { report(.changed, offer) }
    } else {
      report(.appeared, offer)
    }
    // Drops the lowest-ranked offers.
    while bytes > bytesLimit, let last = order.elements.first { remove(last.id, report: report) }
  }

  /// The approximate bytes in memory.
  private static func size(of offer: Offer) -> Int {
    256 + offer.description.textSize + Text.size(offer.appName) + Text.size(offer.bundleIdentifier)
      + Text.size(offer.deviceName)
  }

  mutating func remove(_ id: Identifier, report: Report) {
    guard let entry = take(id) else { return }
    report(.gone, entry.offer)
  }

  /// Whether this hub may still confirm offers of the former one.
  var isReconciling: Bool { purgeAt != nil }

  /// Whether this hub may still confirm the offers of an app, which may still register.
  func awaits(_ origin: Identifier) -> Bool {
    isReconciling && order.elements.prefix { $0.hub != hub }.contains { entries[$0.id]?.offer.origin == origin }
  }

  mutating func hubLost(_ now: Instant) {
    hub += 1
    purgeAt = entries.isEmpty ? nil : now.uptime + Self.withoutHub
  }

  mutating func hubReady(_ now: Instant) {
    // The last in the order is confirmed, so all are.
    let isComplete = order.elements.first.map { $0.hub == hub } ?? true
    purgeAt = isComplete ? nil : now.uptime + Self.withNewHub
  }

  mutating func tick(_ now: Instant, report: Report) {
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

  /// The old date, if the new one differs only by clock skew and rounding.
  private func steady(_ date: Double?, _ before: Double?) -> Double? {
    guard let date, let before, abs(date - before) < 1 else { return date }
    return before
  }
}
