// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport

/// A participant of the agent on the socket of the device's hub, which usually runs in the same process: the agent
/// itself, or an offer that it keeps. For the loop's thread.
public final class AgentParticipant<Engine: HubParticipant> {
  private let device: Device
  private let driver: AppDriver<Engine>
  private let handled: () -> Void
  private let timer: LoopTimer
  private var isOpen = true

  /// Starts to look for a hub, until `close`.
  /// - Parameter handled: called when the engine has handled what has come, and before it is told what to send.
  /// Throws SYSTEM.
  public convenience init(
    _ engine: Engine, on device: Device, _ handled: @escaping () -> Void = {}
  ) throws(SegueError) {
    self.init(engine, device, try LoopTimer(), handled)
    try timer.start(on: device.loop, for: self)
    device.add(self)
  }

  private init(_ engine: Engine, _ device: Device, _ timer: LoopTimer, _ handled: @escaping () -> Void) {
    self.device = device
    self.handled = handled
    self.timer = timer
    driver = device.driver(of: engine)
  }

  /// Calls the engine, and handles the results.
  public func perform(_ body: (Engine, Instant) -> Void) {
    if isOpen { driver.perform(for: self, body) }
  }

  /// Leaves the hub.
  public func close() {
    guard isOpen else { return }
    isOpen = false
    device.remove(self)
    driver.flush(Clock.now)
    driver.disconnect(Clock.now)
    timer.close()
  }
}

extension AgentParticipant: TimerOwner, UnixConnectionOwner {
  public func timerIsDue(_ timer: LoopTimer) { driver.pump(isReadable: false, isDue: true, Clock.now, for: self) }
  public func readable(_ number: UInt64) { driver.pump(isReadable: true, isDue: false, Clock.now, for: self) }
  public func writable(_ number: UInt64) { driver.pump(isReadable: false, isDue: false, Clock.now, for: self) }
}

extension AgentParticipant: AppDriverOwner {
  public var now: Instant { Clock.now }
  public func inputHandled() { handled() }

  public func follow(_ loss: HubLoss) {
    if let problem = loss.problem { Log.write(.info, DiagnosticText(of: problem.message)) }
    // The hub may be in the middle of a call.
    device.onLoop { [self] device in
      if isOpen { device.election.follow(loss.search, for: self, Clock.uptime) }
    }
  }

  public func setTimer(_ uptime: Int64?) { timer.set(uptime) }
}

extension AgentParticipant: HubSeeker {
  public var hubGeneration: UInt64? { driver.generation }
  public var offersFrontmostOnly: Bool { false }
  public func prepare() throws(SegueError) {}

  public func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory of this process creates no other kind.
    let fd = unsafeDowncast(hub, to: AppSocket.self).take()
    driver.disconnect(Clock.now)
    do throws(SegueError) {
      let connection = try UnixConnection(fd, as: 0, on: device.loop, for: self)
      driver.connected(connection, generation: generation, Clock.now)
      driver.drain(for: self)
    } catch {
      Descriptors.closeConnection(fd)
      throw error
    }
  }

  public func disconnect() {
    driver.disconnect(Clock.now)
    driver.drain(for: self)
  }

  public func superseded(by generation: UInt64) -> NextHubAttempt {
    let next = driver.superseded(by: generation, Clock.now)
    driver.drain(for: self)
    return next
  }

  public func backlogFull(at generation: UInt64) -> NextHubAttempt { driver.backlogFull(at: generation, Clock.now) }
  public func couldNotConnect(_ error: SegueError) -> Int64 { driver.couldNotConnect(error) }
}
