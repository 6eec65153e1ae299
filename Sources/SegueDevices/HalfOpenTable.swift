import SegueModel

/// The connections that have not shown yet that a device of the account is at their other end: at most 64, each for at
/// most 5 seconds, so that a flood neither exhausts this device nor shuts a genuine device out (A19).
public struct HalfOpenTable {
  /// The most connections.
  public static let limit = 64
  /// Milliseconds until a connection must be up.
  public static let time: Int64 = 5_000
  /// Bytes that a connection may send before its peer is authenticated.
  public static let bytes = 64 * 1024

  private struct Entry {
    let number: UInt64
    /// The address of the other end, without its port.
    let source: [UInt8]
    let deadline: Int64
    /// Whether it has proved the knock key.
    var hasKnocked = false
  }

  /// Oldest first.
  private var entries: [Entry] = []

  public init() {}

  public var count: Int { entries.count }
  public func contains(_ number: UInt64) -> Bool { entries.contains { $0.number == number } }

  /// The uptime at which the oldest must be up; nil without connections.
  public var nextDeadline: Int64? { entries.first?.deadline }

  /// Adds a connection.
  /// - Returns: the connection that makes room for it, which the owner closes. Those that have knocked stay if others
  ///   can go. Of the others the oldest goes of the source that has most, so that one flood hits itself.
  public mutating func add(_ number: UInt64, from source: [UInt8], _ uptime: Int64) -> UInt64? {
    let (deadline, overflow) = uptime.addingReportingOverflow(Self.time)
    var victim: UInt64?
    if entries.count >= Self.limit { victim = removeOne() }
    entries.append(Entry(number: number, source: source, deadline: overflow ? .max : deadline))
    return victim
  }

  private mutating func removeOne() -> UInt64? {
    let sparesKnocked = entries.contains { !$0.hasKnocked }
    var sources: [(source: [UInt8], oldest: Int, count: Int)] = []
    for (index, entry) in entries.enumerated() where !(sparesKnocked && entry.hasKnocked) {
      if let known = sources.firstIndex(where: { $0.source == entry.source }) {
        sources[known].count += 1
      } else {
        sources.append((entry.source, index, 1))
      }
    }
    guard var most = sources.first else { return nil }
    for source in sources where source.count > most.count { most = source }
    return entries.remove(at: most.oldest).number
  }

  /// The other end has proved the knock key.
  public mutating func knocked(_ number: UInt64) {
    if let index = entries.firstIndex(where: { $0.number == number }) { entries[index].hasKnocked = true }
  }

  /// The connection is up, or closed.
  public mutating func remove(_ number: UInt64) { entries.removeAll { $0.number == number } }

  /// Removes and returns the connections whose time is over, which the owner closes.
  public mutating func takeOverdue(_ uptime: Int64) -> [UInt64] {
    let overdue = entries.filter { $0.deadline <= uptime }.map { $0.number }
    entries.removeAll { $0.deadline <= uptime }
    return overdue
  }
}
