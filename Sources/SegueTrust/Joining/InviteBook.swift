import SegueModel

/// The invites of this device that can still be used. They are in memory only: when the agent ends, all are void.
struct InviteBook {
  private struct Entry {
    let invite: Invite
    /// The identity that a TLS client names; derived once, since anybody may ask.
    let keyIdentity: [UInt8]
    let isAutomatic: Bool
    /// Uptime, in milliseconds.
    let until: Int64
  }

  private var entries: [Entry] = []
  private var tries = TryLimiter(each: Limits.joinTries, all: Limits.joinTriesOfAll)

  /// Throws LIMIT_EXCEEDED.
  mutating func add(_ invite: Invite, isAutomatic: Bool, at now: Instant) throws(SegueError) {
    expire(at: now)
    guard entries.count < Limits.invites else {
      throw SegueError(.limitExceeded, "invite: \(Limits.invites) invites are open; wait ten minutes, or cancel them")
    }
    entries.append(
      Entry(
        invite: invite, keyIdentity: invite.keyIdentity, isAutomatic: isAutomatic,
        until: now.uptime + Limits.inviteLife))
  }

  /// Whether a connection from there may try now. Wrong tries only wait: if they used the invite up, anybody in the
  /// network could void it.
  mutating func mayTry(from source: [UInt8], at now: Instant) -> Bool { tries.take(source, at: now.uptime) }

  /// The invite with this identity of its key; nil if there is none.
  mutating func invite(for keyIdentity: [UInt8], at now: Instant) -> Invite? {
    expire(at: now)
    return entries.first { isSameSecret($0.keyIdentity, keyIdentity) }?.invite
  }

  /// Voids an invite.
  /// - Returns: whether its device joins without being asked for; nil if it was void before.
  mutating func burn(_ invite: Invite, at now: Instant) -> Bool? {
    expire(at: now)
    guard let index = entries.firstIndex(where: { isSameSecret($0.invite.token, invite.token) }) else { return nil }
    return entries.remove(at: index).isAutomatic
  }

  mutating func burnAll() { entries = [] }

  var isEmpty: Bool { entries.isEmpty }
  var invites: [Invite] { entries.map { $0.invite } }

  /// When the next invite ends by itself; nil without invites.
  var deadline: Int64? { entries.map { $0.until }.min() }

  mutating func expire(at now: Instant) { entries.removeAll { $0.until <= now.uptime } }
}

/// Rations tries, by where they come from, so that one source does not slow down others.
public struct TryLimiter {
  private struct Source {
    let name: [UInt8]
    /// In thousandths of a try.
    var left: Int64
    var last: Int64
  }

  /// Tries that one source may make at once, and all of them together, in thousandths.
  private let (each, total): (Int64, Int64)
  private var sources: [Source] = []
  private var all: Source

  /// - Parameters:
  ///   - each: tries that one source may make at once, and then one each second.
  ///   - all: those of all sources together, and then a thousandth of that each millisecond.
  public init(each: Int, all: Int) {
    (self.each, total) = (1000 * Int64(each), 1000 * Int64(all))
    self.all = Source(name: [], left: total, last: 0)
  }

  /// Takes a try, if one is left.
  public mutating func take(_ name: [UInt8], at uptime: Int64) -> Bool {
    let known = sources.firstIndex { $0.name == name }
    var source = known.map { sources.remove(at: $0) } ?? Source(name: name, left: each, last: uptime)
    Self.refill(&source, each, 1, uptime)
    Self.refill(&all, total, total / 1000, uptime)
    let isAllowed = source.left >= 1000 && all.left >= 1000
    if isAllowed {
      source.left -= 1000
      all.left -= 1000
    }
    // The most recent last; the oldest is forgotten, and starts anew.
    sources.append(source)
    if sources.count > Limits.joinSources { sources.removeFirst() }
    return isAllowed
  }

  /// - Parameter rate: tries a second.
  private static func refill(_ source: inout Source, _ full: Int64, _ rate: Int64, _ uptime: Int64) {
    let waited = min(max(0, uptime - source.last), 3_600_000)
    source.left = min(full, source.left + waited * rate)
    source.last = uptime
  }
}
