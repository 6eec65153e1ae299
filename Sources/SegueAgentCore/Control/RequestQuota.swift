// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The requests without an answer of each process, whatever became of the connections that they came by: a request
/// takes time also if its client has gone.
public final class RequestQuota: @unchecked Sendable {
  /// The most of one process, and of all.
  public static let principalLimit = 32
  public static let limit = 128

  private let lock = Lock()
  // Guarded by the lock.
  private var counts: [Principal: Int] = .init()
  private var total = 0

  public init() {}

  /// - Returns: a place that is taken until the request is answered, or dropped. Throws LIMIT_EXCEEDED.
  public func take(_ principal: Principal) throws(SegueError) -> Place {
    let isTaken = lock.withLock {
      let count = counts[principal] ?? 0
      guard count < Self.principalLimit, total < Self.limit else { return false }
      counts[principal] = count + 1
      total += 1
      return true
    }
    guard isTaken else {
      throw SegueError(
        .limitExceeded,
        """
        control: \(Self.principalLimit) questions of this process, or \(Self.limit) of all, wait for an answer, which \
        is the most
        """)
    }
    return Place(of: principal, in: self)
  }

  private func giveBack(_ principal: Principal) {
    lock.withLock {
      total -= 1
      let count = counts[principal] ?? 0
      counts[principal] = count > 1 ? count - 1 : nil
    }
  }

  /// The place of one request. Its last owner may release it on any thread.
  public final class Place: @unchecked Sendable {
    private let principal: Principal
    private let quota: RequestQuota

    fileprivate init(of principal: Principal, in quota: RequestQuota) {
      self.principal = principal
      self.quota = quota
    }

    deinit { quota.giveBack(principal) }
  }
}
