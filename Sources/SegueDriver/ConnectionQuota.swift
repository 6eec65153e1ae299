/// The number of connections of each process to the hub, and its quota.
struct ConnectionQuota {
  /// The share of the process's descriptors that connections must leave free, for the process and for passed
  /// descriptors.
  private static let ownShare = 4
  /// The share that connections of one process may use.
  private static let processShare = 4

  private var counts: [Int32: Int] = [:]
  /// The total number.
  private(set) var total = 0

  /// Whether a connection with this descriptor leaves enough free ones.
  static func hasRoom(for descriptor: Int, of limit: Int) -> Bool { descriptor < limit - limit / ownShare }

  /// Whether a process is within its quota.
  func isKept(by process: Int32, of limit: Int) -> Bool { counts[process, default: 0] <= limit / Self.processShare }

  mutating func add(_ process: Int32) {
    counts[process, default: 0] += 1
    total += 1
  }

  mutating func remove(_ process: Int32) {
    let others = counts[process, default: 1] - 1
    counts[process] = others == 0 ? nil : others
    total -= 1
  }
}
