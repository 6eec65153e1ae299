import SegueEngine
import SegueModel
import SegueSystem

/// The requests without an answer of each process, whatever became of the connections that they came by: a request
/// takes time also if its client has gone.
public final class RequestQuota: @unchecked Sendable {
  /// The most of one process, and of all.
  public static let accountLimit = 32
  public static let limit = 128

  private let lock = Lock()
  // Guarded by the lock.
  private var counts: [Account: Int] = .init()
  private var total = 0

  public init() {}

  /// - Returns: a place that is taken until the request is answered, or dropped. Throws LIMIT_EXCEEDED.
  public func take(_ account: Account) throws(SegueError) -> Place {
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

  /// The place of one request. Its last owner may release it on any thread.
  public final class Place: @unchecked Sendable {
    private let account: Account
    private let quota: RequestQuota

    fileprivate init(of account: Account, in quota: RequestQuota) {
      self.account = account
      self.quota = quota
    }

    deinit { quota.giveBack(account) }
  }
}
