/// How many connections each process has to the hub, and how many it may have.
struct ConnectionQuota {
  /// Of the descriptors of the hub's process: the share that connections leave to itself, and to what apps send.
  private static let ownShare = 4
  /// The share that connections of one process may take.
  private static let processShare = 4

  private var counts: [Int32: Int] = [:]
  /// The number of all of them.
  private(set) var total = 0

  /// Whether a connection with this descriptor leaves enough of them.
  static func hasRoom(for descriptor: Int, of limit: Int) -> Bool { descriptor < limit - limit / ownShare }

  /// Whether a process has no more connections than it may.
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
