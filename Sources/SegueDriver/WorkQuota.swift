import SegueEngine

/// The hub's work for each account: messages and frames that it has sent and caused, reads, and records that were
/// decrypted for them. An account that has caused too much waits while others have their turn, whichever of its
/// connections it has used. So a process that floods the hub costs others little time.
///
/// The balance of an account is a moment, in units of work since the start of the clock: all of its work is paid for
/// then (the generic cell rate algorithm).
struct WorkQuota {
  /// Units for each millisecond: a few per cent of the hub's time for the cheapest messages.
  static let rate: Int64 = 512
  /// Milliseconds that an account may be ahead.
  static let burst: Int64 = 8
  /// Milliseconds that an account waits at most: less than an app waits for its hub.
  static let longestWait: Int64 = 100
  /// The units of one read.
  static let readCost = 8
  /// The units of one record of TLS, which may hold a single byte. A record takes about 1.5 µs, so that an account can
  /// spend 5 % of the hub's time on records.
  private static let recordCost = 16
  /// Bytes of content from which on a record costs nothing besides its frames.
  private static let recordSize = 4_096

  /// The cost of decrypting records.
  /// - Parameter size: the bytes of content in all of them.
  static func cost(ofRecords count: Int, with size: Int) -> Int { max(0, count - size / recordSize) * recordCost }

  /// Never iterated.
  private var paidAt: [Account: Int64] = .init()
  /// Accounts without a connection that have not paid yet, oldest first.
  private var departed: [Account] = []

  /// Whether an account has its turn now.
  func hasTurn(_ account: Account, _ uptime: Int64) -> Bool { turn(of: account) <= uptime }

  /// The uptime from which on an account has its turn.
  func turn(of account: Account) -> Int64 { paidAt[account].map { ($0 + Self.rate - 1) / Self.rate } ?? 0 }

  mutating func charge(_ work: Int, to account: Account, _ uptime: Int64) {
    if let index = departed.firstIndex(where: { isPaid($0, uptime) }) { paidAt[departed.remove(at: index)] = nil }
    let paid = max(paidAt[account] ?? 0, (uptime - Self.burst) * Self.rate) + Int64(work)
    paidAt[account] = min(paid, (uptime + Self.longestWait) * Self.rate)
  }

  /// The last connection of an account has closed. The account owes its work as long as before.
  mutating func remove(_ account: Account, _ uptime: Int64) {
    if isPaid(account, uptime) {
      paidAt[account] = nil
    } else if !departed.contains(account) {
      departed.append(account)
    }
  }

  private func isPaid(_ account: Account, _ uptime: Int64) -> Bool {
    paidAt[account].map { $0 <= (uptime - Self.burst) * Self.rate } ?? true
  }
}
