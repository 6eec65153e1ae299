// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The promises of agents (docs/agent.md).
extension InvariantChecker {
  /// Milliseconds in which apps find another hub after an agent came, left or died.
  static let reunionTime: Int64 = 1_000
  /// Milliseconds for which an agent must have been able to answer until all that could be decided before it could is
  /// done: 1 s until a hub counts as silent, and some waits of 500 ms for others that open a generation.
  private static let answeringTime: Int64 = 3_000

  /// A process makes itself the hub of a generation: an agent that answers is not superseded.
  func checkPlace(of process: FleetProcess, in folder: FleetFolder, _ generation: UInt64) {
    let device = process.device
    guard let agent = device.agent, agent !== process, agent.isAwake, let hub = agent.hub, hub.isAlive, !hub.isClosing,
      device.folder === folder, folder.hub === hub, generation > hub.generation
    else { return }
    let settled = max(device.interruptions.lastUntil, process.resumedAt, agent.resumedAt, hub.listedAt)
    guard device.resources.hasUsualBacklog, fleet.clock.uptime - settled > Self.answeringTime else {
      return
    }
    report(process.name, "section 9: it supersedes an agent that answers")
  }

  /// An agent came, left or died a second ago: all apps are at a hub, unless something else has happened as well.
  func judgeReunion(_ device: FleetDevice, since: Int64) {
    let uptime = fleet.clock.uptime
    // A later move is judged later.
    guard device.interruptions.agentMovedAt == since else { return }
    let isSettled = device.interruptions.lastUntil < since - Self.answeringTime && device.resources.openingStops == 0
    guard device.isUp, isSettled, device.admitsHubs, device.resources.hasUsualBacklog else { return }
    for process in device.processes where process.isAwake && process.resumedAt < since - Self.answeringTime {
      guard let app = process.app, !process.learnsLate, app.beganAt < since else { continue }
      guard !app.driver.engine.isReady else { continue }
      report(process.name, "R2.8: it has no hub \(uptime - since) ms after an agent moved it")
    }
  }
}
