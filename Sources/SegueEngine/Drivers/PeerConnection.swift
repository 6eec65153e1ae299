// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A connection of a hub, as its driver knows it.
final class PeerConnection {
  let number: HubEngine.PeerNumber
  let bytes: any ByteConnection
  /// The principal that is charged for the connection; nil for another hub.
  let principal: Principal?
  /// The account of the principal that was last charged. The principal of a link may change.
  private var account: (principal: Principal, work: WorkAccount)?
  /// Whether the system has refused a write.
  var isRefused = false
  /// Whether it is not read for now.
  var isPaused = false

  init(_ bytes: any ByteConnection, as number: HubEngine.PeerNumber, of principal: Principal?) {
    self.number = number
    self.bytes = bytes
    self.principal = principal
  }

  /// The account of the principal that is charged for the connection now.
  func account(of principal: Principal, in quota: inout WorkQuota, _ uptime: @autoclosure () -> Int64) -> WorkAccount {
    if let account, account.principal == principal { return account.work }
    let work = quota.account(of: principal, uptime())
    account = (principal, work)
    return work
  }
}
