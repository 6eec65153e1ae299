// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The hub's work for each principal: messages and frames that it has sent and caused, reads, and records that were
/// decrypted for them. A principal that has caused too much waits while others have their turn, whichever of its
/// connections it has used. So a process that floods the hub costs others little time.
struct WorkQuota {
  /// Units for each millisecond: a few per cent of the hub's time for the cheapest messages.
  static let rate: Int64 = 512
  /// Milliseconds that a principal may be ahead.
  static let burst: Int64 = 8
  /// Milliseconds that a principal waits at most: less than an app waits for its hub.
  static let longestWait: Int64 = 100
  /// The units of one read.
  static let readCost = 8
  /// The units of one record of TLS, which may hold a single byte. A record takes about 1.5 µs, so that a principal can
  /// spend 5 % of the hub's time on records.
  private static let recordCost = 16
  /// Bytes of content from which on a record costs nothing besides its frames.
  private static let recordSize = 4_096

  /// The cost of decrypting records.
  /// - Parameter size: the bytes of content in all of them.
  static func cost(ofRecords count: Int, with size: Int) -> Int { max(0, count - size / recordSize) * recordCost }

  /// Never iterated.
  private var accounts: [Principal: WorkAccount] = .init()
  /// Principals without a connection that have not paid yet, oldest first.
  private var departed: [Principal] = []

  /// The account of a principal with a connection.
  mutating func account(of principal: Principal, _ uptime: Int64) -> WorkAccount {
    if let account = accounts[principal] {
      // It is back: its connections keep the account.
      departed.removeAll { $0 == principal }
      return account
    }
    if let index = departed.firstIndex(where: { isPaid($0, uptime) }) { accounts[departed.remove(at: index)] = nil }
    let account = WorkAccount()
    accounts[principal] = account
    return account
  }

  /// The last connection of a principal has closed. The principal owes its work as long as before.
  mutating func remove(_ principal: Principal, _ uptime: Int64) {
    if isPaid(principal, uptime) {
      accounts[principal] = nil
    } else if !departed.contains(principal) {
      departed.append(principal)
    }
  }

  private func isPaid(_ principal: Principal, _ uptime: Int64) -> Bool {
    accounts[principal].map { $0.isPaid(uptime) } ?? true
  }
}

/// The work that one principal has caused and not paid for.
///
/// Its balance is a moment, in units of work since the start of the clock: all of its work is paid for then (the
/// generic cell rate algorithm).
final class WorkAccount {
  private var paidAt: Int64 = 0

  /// The uptime from which on the principal has its turn.
  var turn: Int64 { (paidAt + WorkQuota.rate - 1) / WorkQuota.rate }

  func charge(_ work: Int, _ uptime: Int64) {
    let paid = max(paidAt, (uptime - WorkQuota.burst) * WorkQuota.rate) + Int64(work)
    paidAt = min(paid, (uptime + WorkQuota.longestWait) * WorkQuota.rate)
  }

  /// Whether it would forget nothing by ending.
  func isPaid(_ uptime: Int64) -> Bool { paidAt <= (uptime - WorkQuota.burst) * WorkQuota.rate }
}
