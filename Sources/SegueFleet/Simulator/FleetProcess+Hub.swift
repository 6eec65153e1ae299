// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The process as its driver calls it.
extension FleetProcess: AppDriverOwner {
  public func inputHandled() { if let engine { takeStreams(engine) } }
  public func follow(_ loss: HubLoss) { queue(loss.search) }

  public func setTimer(_ uptime: Int64?) {
    checkQueue()
    schedule()
  }
}

/// The process as the election of its hub calls it.
extension FleetProcess: HubSeeker {
  public var hubGeneration: UInt64? { driver?.generation }

  public func prepare() throws(SegueError) {}

  public func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory creates no other kind.
    connection = unsafeDowncast(hub, to: ConnectionEnd.self).connection
    perform { driver?.connected(hub, generation: generation, $1) }
  }

  public func disconnect() {
    perform { driver?.disconnect($1) }
  }

  public func superseded(by generation: UInt64) -> NextHubAttempt {
    var next = NextHubAttempt.retry(generation, after: 0)
    perform { if let driver { next = driver.superseded(by: generation, $1) } }
    return next
  }

  public func backlogFull(at generation: UInt64) -> NextHubAttempt {
    driver?.backlogFull(at: generation, now) ?? .retry(generation, after: 0)
  }

  public func couldNotConnect(_ error: SegueError) -> Int64 { driver?.couldNotConnect(error) ?? 0 }
}
