import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport

/// The questions without an answer of each process, whatever became of the connections that they came by: what has been
/// asked takes time also if its asker has gone.
final class AskQuota: @unchecked Sendable {
  /// The most of one process, and of all.
  static let accountLimit = 32
  static let limit = 128

  private let lock = Lock()
  // Guarded by the lock.
  private var counts: [Account: Int] = .init()
  private var total = 0

  /// - Returns: a place that is kept until the question is answered, or dropped. Throws LIMIT_EXCEEDED.
  func take(_ account: Account) throws(SegueError) -> Place {
    let isTaken = lock.withLock {
      let count = counts[account] ?? 0
      guard count < Self.accountLimit, total < Self.limit else { return false }
      counts[account] = count + 1
      total += 1
      return true
    }
    guard isTaken else {
      throw SegueError(
        .limitExceeded,
        """
        control: \(Self.accountLimit) questions of this process, or \(Self.limit) of all, wait for an answer, which is \
        the most
        """)
    }
    return Place(of: account, in: self)
  }

  private func giveBack(_ account: Account) {
    lock.withLock {
      total -= 1
      let count = counts[account] ?? 0
      counts[account] = count > 1 ? count - 1 : nil
    }
  }

  /// The place of one question. Its last owner may release it on any thread.
  final class Place: @unchecked Sendable {
    private let account: Account
    private let quota: AskQuota

    fileprivate init(of account: Account, in quota: AskQuota) {
      self.account = account
      self.quota = quota
    }

    deinit { quota.giveBack(account) }
  }
}
