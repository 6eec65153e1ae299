// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

@testable import SegueFleet

/// The connection of what the agent of a `World` offers for an app that has ended (R2.5).
final class KeptConnection {
  let participant: KeptParticipant
  /// Whether the agent offers it no more: its last messages go out.
  var isOver = false
  private let driver: AppDriver<AppEngine>
  private let process: FleetProcess
  private unowned let world: World
  private var connection: Connection?

  init(_ participant: KeptParticipant, of process: FleetProcess, in world: World) {
    self.participant = participant
    self.process = process
    self.world = world
    driver = AppDriver(participant.engine, in: process.directory)
  }

  var isConnected: Bool { connection != nil }

  func connect(to hub: FleetHub) {
    let connection = world.device.connect(process, to: hub)
    self.connection = connection
    driver.connected(ConnectionEnd(connection, 0, in: world.fleet), generation: hub.generation, world.now)
  }

  /// - Returns: whether it has read something, or left.
  func poll() -> Bool {
    var hasMoved = false
    while let connection, connection.isReadable(0) {
      driver.receive(world.now)
      hasMoved = true
      participant.refuseRequests()
      if driver.drain(world.now) != nil { self.connection = nil }
    }
    _ = driver.drain(world.now)
    guard isOver else { return hasMoved }
    driver.disconnect(world.now)
    return true
  }
}
