import SegueModel
import SegueWire

/// The offers that an app sees (R2.7). They outlive their hub for a while, so that none is gone and back when another
/// hub takes over (R2.8).
public struct OfferList {
  /// Milliseconds that offers are kept without a hub.
  static let withoutHub: Int64 = 3_000
  /// Milliseconds that a new hub's other apps have to register again.
  static let withNewHub: Int64 = 1_500

  private struct Entry {
    var offer: Offer
    /// The present hub has told it.
    var isConfirmed: Bool
    /// Uptime at which it expires.
    var expiresAt: Int64?
  }

  typealias Report = (Delivery.OfferEvent, Offer) -> Void

  /// Frontmost first.
  private var entries: [Entry] = []
  /// Uptime at which what is not confirmed goes.
  private var purgeAt: Int64?
  private var nextExpiry: Int64?

  /// Frontmost first; what the hub has not confirmed comes last.
  public var all: [Offer] { entries.map { $0.offer } }

  public subscript(id: Identifier) -> Offer? { index(of: id).map { entries[$0].offer } }

  var nextDeadline: Int64? {
    guard let purgeAt, let nextExpiry else { return purgeAt ?? nextExpiry }
    return min(purgeAt, nextExpiry)
  }

  mutating func put(_ offer: Offer, _ timing: OfferTiming, _ now: Moment, report: Report) {
    let date = timing.expirationDate(now: now)
    let known = index(of: offer.description.id)
    let offer = Offer(
      description: offer.description.expiring(known.flatMap { steady(date, at: $0) } ?? date),
      origin: offer.origin, appName: offer.appName, bundleIdentifier: offer.bundleIdentifier,
      deviceName: offer.deviceName, rank: offer.rank, activatedAt: now.uptime - timing.age)
    let before = known.map { entries[$0] }
    if let known { entries.remove(at: known) }
    let expiresAt = date.map { now.uptime(of: $0) }
    let place = entries.firstIndex { !$0.isConfirmed || $0.offer.rank < offer.rank } ?? entries.count
    entries.insert(Entry(offer: offer, isConfirmed: true, expiresAt: expiresAt), at: place)
    updateNextExpiry()
    guard let before else { return report(.appeared, offer) }
    // Another hub counts ranks anew: that alone is no change.
    let isSame = before.isConfirmed ? before.offer == offer : before.offer.description == offer.description
    if !isSame { report(.changed, offer) }
  }

  mutating func remove(_ id: Identifier, report: Report) {
    guard let index = index(of: id) else { return }
    let offer = entries.remove(at: index).offer
    updateNextExpiry()
    report(.gone, offer)
  }

  mutating func loseHub(_ now: Moment) {
    for index in entries.indices { entries[index].isConfirmed = false }
    purgeAt = entries.isEmpty ? nil : now.uptime + Self.withoutHub
  }

  mutating func meetHub(_ now: Moment) {
    let isComplete = entries.allSatisfy { $0.isConfirmed }
    purgeAt = isComplete ? nil : now.uptime + Self.withNewHub
  }

  mutating func tick(_ now: Moment, report: Report) {
    if let at = purgeAt, at <= now.uptime {
      purgeAt = nil
      removeAll(report: report) { !$0.isConfirmed }
    }
    if let at = nextExpiry, at <= now.uptime {
      removeAll(report: report) { $0.offer.description.expirationDate.map { $0 <= now.date } ?? false }
      for index in entries.indices {
        entries[index].expiresAt = entries[index].offer.description.expirationDate.map { now.uptime(of: $0) }
      }
      updateNextExpiry()
    }
  }

  private mutating func removeAll(report: Report, where isGone: (Entry) -> Bool) {
    let gone = entries.filter(isGone)
    guard !gone.isEmpty else { return }
    entries.removeAll(where: isGone)
    updateNextExpiry()
    for entry in gone { report(.gone, entry.offer) }
  }

  /// The date as it was, if the new one differs by no more than clocks and roundings do.
  private func steady(_ date: Double?, at index: Int) -> Double? {
    guard let date, let before = entries[index].offer.description.expirationDate, abs(date - before) < 1 else {
      return nil
    }
    return before
  }

  private func index(of id: Identifier) -> Int? { entries.firstIndex { $0.offer.description.id == id } }

  private mutating func updateNextExpiry() {
    nextExpiry = nil
    for entry in entries {
      guard let at = entry.expiresAt else { continue }
      nextExpiry = min(nextExpiry ?? at, at)
    }
  }
}
