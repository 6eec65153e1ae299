// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The number of connections of each process to the hub, and its quota.
final class ConnectionQuota {
  /// The share of the process's descriptors that connections must leave free, for the process and for passed
  /// descriptors.
  private static let ownShare = 4
  /// The share that connections of one process may use.
  private static let processShare = 4

  private let counts = PrincipalTally()

  /// The total number.
  var total: Int { counts.total }

  /// Whether a connection with this descriptor leaves enough free ones.
  static func hasRoom(for descriptor: Int, of limit: Int) -> Bool { descriptor < limit - limit / ownShare }

  /// Whether connections are what uses the descriptors, rather than the process that carries the hub.
  func fills(_ limit: Int) -> Bool { total >= limit / 2 }

  /// Whether a process is within its quota.
  func isKept(by principal: Principal, of limit: Int) -> Bool { counts[principal] <= limit / Self.processShare }

  /// Whether a process has no connection.
  func isFree(_ principal: Principal) -> Bool { counts[principal] == 0 }

  func add(_ principal: Principal) { counts.add(principal) }
  func remove(_ principal: Principal) { counts.remove(principal) }
}
