// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The connections that have not shown yet that a device of the account is at their other end: at most 64, each for at
/// most 5 seconds, so that a flood neither exhausts this device nor shuts a genuine device out (A19).
///
/// One more is refused, or ends another one, by this order:
/// 1. the oldest that has waited for more than 200 ms for its knock, or for more than 1 s after it;
/// 2. the newest of the address from which most have come lately, so that a flood of any rate leaves others the time
///    for a knock.
///
/// An address from which a link has come lately is ended after all others; of these, what has knocked after what has
/// not. A knock alone proves little: a revoked device can knock, too.
public struct HalfOpenTable {
  /// The most connections, and the most of one address.
  public static let limit = 64
  public static let addressLimit = 8
  /// Milliseconds until a connection must be up.
  public static let time: Int64 = 5_000
  /// Milliseconds for which a connection is not ended by later ones: until it has knocked, and then until it is up.
  public static let knockTime: Int64 = 200
  public static let handshakeTime: Int64 = 1_000
  /// Bytes that a connection may send before its peer is authenticated.
  public static let bytes = 64 * 1024
  /// The most addresses that are remembered because a link has come from there.
  static let rememberedAddresses = 64

  /// The source of a connection.
  public struct Source: Equatable, Sendable {
    /// The IPv6 address, without its port; IPv4 as ::ffff:a.b.c.d.
    public let address: Identifier
    /// The part that the addresses of one network have in common: the first 64 bits of IPv6, all of IPv4.
    public let prefix: Identifier

    public init(address: Identifier, prefix: Identifier) {
      self.address = address
      self.prefix = prefix
    }
  }

  /// The decision about a new connection.
  public enum Admission: Equatable, Sendable {
    /// It is added. The owner closes the other connection, if there is one.
    case added(ending: UInt64?)
    /// The owner closes it at once.
    case refused
  }

  private struct Entry {
    let number: UInt64
    let source: Source
    let addedAt: Int64
    let deadline: Int64
    /// Whether it has proved the knock key.
    var hasKnocked = false
    /// Whether a link has come from its address.
    let isKnown: Bool
  }

  /// Oldest first.
  private var entries: [Entry] = []
  /// Addresses from which links have come, the last ones last.
  private var known: [Identifier] = []
  private var arrivals = Arrivals()

  public init() {}

  public var count: Int { entries.count }
  public func contains(_ number: UInt64) -> Bool { entries.contains { $0.number == number } }

  /// The uptime at which the oldest must be up; nil without connections.
  public var nextDeadline: Int64? { entries.first?.deadline }

  /// Adds a connection, if there is room or room can be made.
  public mutating func add(_ number: UInt64, from source: Source, _ uptime: Int64) -> Admission {
    let (deadline, overflow) = uptime.addingReportingOverflow(Self.time)
    let entry = Entry(
      number: number, source: source, addedAt: uptime, deadline: overflow ? .max : deadline,
      isKnown: known.contains(source.address))
    entries.append(entry)
    arrivals.note(source.address, uptime)
    var ended: UInt64?
    if entries.count(where: { $0.source.address == source.address }) > Self.addressLimit {
      ended = removeOne(uptime) { $0.source.address == source.address }
    } else if entries.count > Self.limit {
      ended = removeOne(uptime) { _ in true }
    }
    return ended == number ? .refused : .added(ending: ended)
  }

  /// Removes one of those that are meant: of the prefix that has most, what has not knocked first.
  private mutating func removeOne(_ uptime: Int64, _ isMeant: (Entry) -> Bool) -> UInt64? {
    let meant = entries.indices.filter { isMeant(entries[$0]) }
    let strangers = meant.filter { !entries[$0].isKnown }
    let last = entries.count - 1
    if strangers == [last] {
      // Links have come from all other addresses.
      return entries.remove(at: meant.first { isLate(entries[$0], uptime) } ?? last).number
    }
    let silent = strangers.filter { !entries[$0].hasKnocked }
    var candidates = silent.isEmpty || silent == [last] ? strangers : silent
    if candidates.isEmpty { candidates = meant }
    let counts = candidates.map { count(of: entries[$0].source.prefix, among: candidates) }
    let most = counts.max() ?? 0
    candidates = zip(candidates, counts).filter { $0.1 == most }.map { $0.0 }
    guard let index = candidates.first(where: { isLate(entries[$0], uptime) }) ?? busiest(of: candidates) else {
      return nil
    }
    return entries.remove(at: index).number
  }

  /// Whether it has had its time.
  private func isLate(_ entry: Entry, _ uptime: Int64) -> Bool {
    uptime - entry.addedAt >= (entry.hasKnocked ? Self.handshakeTime : Self.knockTime)
  }

  /// The newest of the address from which most have come lately.
  private func busiest(of candidates: [Int]) -> Int? {
    var (found, most): (Int?, Int) = (nil, 0)
    for index in candidates {
      let count = arrivals.count(from: entries[index].source.address)
      if count >= most { (found, most) = (index, count) }
    }
    return found
  }

  private func count(of prefix: Identifier, among candidates: [Int]) -> Int {
    candidates.count { entries[$0].source.prefix == prefix }
  }

  /// The other end has proved the knock key.
  public mutating func knocked(_ number: UInt64) {
    guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
    entries[index].hasKnocked = true
  }

  /// The connection is a link.
  public mutating func linked(_ number: UInt64) {
    guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
    let address = entries.remove(at: index).source.address
    known.removeAll { $0 == address }
    known.append(address)
    known.removeFirst(max(0, known.count - Self.rememberedAddresses))
  }

  /// The connection is closed, or another owner's.
  public mutating func remove(_ number: UInt64) { entries.removeAll { $0.number == number } }

  /// Removes and returns the connections whose time is over, which the owner closes.
  public mutating func takeOverdue(_ uptime: Int64) -> [UInt64] {
    let overdue = entries.filter { $0.deadline <= uptime }.map { $0.number }
    entries.removeAll { $0.deadline <= uptime }
    return overdue
  }
}

/// The number of connections that have come from each address in the last one to two seconds.
private struct Arrivals {
  private static let window: Int64 = 1_000
  /// The most addresses of a window. Others count as new, as they do in the system's own table of neighbours.
  private static let limit = 1_024

  private var beganAt: Int64 = 0
  /// Never iterated.
  private var (former, present): ([Identifier: Int], [Identifier: Int]) = (.init(), .init())

  mutating func note(_ address: Identifier, _ uptime: Int64) {
    if uptime - beganAt >= Self.window {
      former = uptime - beganAt < 2 * Self.window ? present : .init()
      present = .init()
      beganAt = uptime
    }
    guard present.count < Self.limit || present[address] != nil else { return }
    present[address, default: 0] += 1
  }

  func count(from address: Identifier) -> Int { (former[address] ?? 0) + (present[address] ?? 0) }
}
