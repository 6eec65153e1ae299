// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A participant at the hub in the process of an agent, with a connection of its own.
final class FleetParticipant<Engine: HubParticipant>: AppDriverOwner, HubSeeker {
  private let driver: AppDriver<Engine>
  /// The agent lets go of its participants at its end, which breaks the cycle.
  private let agent: FleetAgent
  /// Called after each call of the engine, before its bytes are written.
  private let settled: () -> Void
  private var connection: Connection?

  init(_ engine: Engine, in agent: FleetAgent, _ settled: @escaping () -> Void) {
    driver = AppDriver(engine, in: agent.directory)
    self.agent = agent
    self.settled = settled
  }

  var engine: Engine { driver.engine }

  func perform(_ body: (Engine, Instant) -> Void) {
    driver.perform(for: self) { engine, now in
      body(engine, now)
      settled()
    }
  }

  func settle() {
    settled()
    driver.drain(for: self)
  }

  func receive() { driver.pump(isReadable: true, isDue: false, agent.now, for: self) }

  func flush() {
    driver.flush(agent.now)
    checkQueue()
  }

  private func checkQueue() {
    if let link = driver.engine.link { agent.fleet.checker.checkQueue(link, of: agent) }
  }

  func tick() {
    driver.pump(isReadable: false, isDue: true, agent.now, for: self)
    if let next = driver.engine.nextDeadline, next <= agent.now.uptime {
      agent.fleet.report(agent.name, "a deadline of the agent that has passed stays due: it would be busy for ever")
    }
  }

  /// Leaves the hub in order: the last messages go out.
  func close() {
    flush()
    driver.disconnect(agent.now)
  }

  /// The process is gone.
  func abandon() { driver.abandon() }

  /// Breaks the reference cycles when the fleet ends.
  func tearDown() { connection?.tearDown() }

  // MARK: AppDriverOwner

  var now: Instant { agent.now }
  func inputHandled() { settled() }
  func follow(_ loss: HubLoss) { agent.seek(loss.search, for: self) }

  func setTimer(_ uptime: Int64?) {
    checkQueue()
    agent.schedule(uptime)
  }

  // MARK: HubSeeker

  var hubGeneration: UInt64? { driver.generation }
  var offersFrontmostOnly: Bool { false }
  func prepare() throws(SegueError) {}

  func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory creates no other kind.
    let connection = unsafeDowncast(hub, to: ConnectionEnd.self).connection
    self.connection = connection
    agent.connected(self, connection)
    driver.connected(hub, generation: generation, agent.now)
    settle()
  }

  func disconnect() {
    driver.disconnect(agent.now)
    settle()
  }

  func superseded(by generation: UInt64) -> NextHubAttempt {
    let next = driver.superseded(by: generation, agent.now)
    settle()
    return next
  }

  func backlogFull(at generation: UInt64) -> NextHubAttempt { driver.backlogFull(at: generation, agent.now) }
  func couldNotConnect(_ error: SegueError) -> Int64 { driver.couldNotConnect(error) }
}
