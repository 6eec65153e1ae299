// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Connects an engine, of an app or of the agent, to its hub: reads and writes their connection, and leaves an unusable
/// hub. `HubElection` finds the next one. Guarded like the engine.
///
/// Its owner calls the engine by `perform`, or calls `drain` afterwards; and `pump` when the connection is readable or
/// the time of `AppDriverOwner.setTimer` has come.
public final class AppDriver<Engine: HubParticipant> {
  // A generic type can have no stored statics.
  /// The most milliseconds since the heartbeat of a live hub: as long as it has to answer.
  private static var heartbeatTime: Int64 { 500 }
  /// Milliseconds without writing after the system refused a write.
  private static var writePause: Int64 { 50 }
  /// Milliseconds to flush the last messages of an app into a full connection.
  public static var flushTime: Int64 { 250 }

  public let engine: Engine
  private let directory: any HubDirectory
  private var connection: (any ByteConnection)?
  /// The generation of its hub; nil if it is not connected.
  public private(set) var generation: UInt64?
  /// The last known cause for not being connected; cleared once the app is ready.
  public private(set) var problem: SegueError?
  private var policy: HubFailoverPolicy
  /// The hub has closed the connection.
  private var isClosed = false
  /// Whether the connection is full: writing continues when it becomes writable.
  private var isFull = false
  /// The uptime at which to retry a write that the system refused.
  private var writesAt: Int64?

  public init(_ engine: Engine, in directory: any HubDirectory) {
    self.engine = engine
    self.directory = directory
    policy = HubFailoverPolicy(seed: engine.identity.id.seed)
  }

  // MARK: Connecting

  /// Takes over a connection to a hub. Call `drain` afterwards.
  public func connected(_ connection: any ByteConnection, generation: UInt64, _ now: Instant) {
    disconnect(now)
    self.connection = connection
    self.generation = generation
    policy.connected(now)
    engine.connected(now)
  }

  /// Closes the connection, if there is one, and tells the engine.
  public func disconnect(_ now: Instant) {
    guard connection != nil else { return }
    if engine.isReady { problem = nil }
    abandon()
    engine.disconnected(now)
  }

  /// Closes the connection without a call of the engine, which is no longer used.
  public func abandon() {
    connection?.close()
    connection = nil
    generation = nil
    isClosed = false
    isFull = false
    writesAt = nil
  }

  // MARK: Turns

  /// Calls the engine, and handles the results.
  public func perform(for owner: any AppDriverOwner, _ body: (Engine, Instant) -> Void) {
    body(engine, owner.now)
    drain(for: owner)
  }

  /// Reads once, does what is due, and handles the results.
  /// - Parameters:
  ///   - isReadable: the connection may have bytes.
  ///   - isDue: the time of the timer may have come.
  public func pump(isReadable: Bool, isDue: Bool, _ now: Instant, for owner: any AppDriverOwner) {
    if isReadable { receive(now) }
    if isDue, let deadline = engine.nextDeadline, deadline <= now.uptime { engine.tick(now) }
    owner.inputHandled()
    drain(for: owner)
  }

  /// Handles the results of a call of the engine: writes its bytes for the hub, leaves an unusable hub, and sets the
  /// timer.
  public func drain(for owner: any AppDriverOwner) {
    if let loss = drain(owner.now) { owner.follow(loss) }
    owner.setTimer(nextDeadline)
  }

  // MARK: Bytes

  /// Reads once.
  public func receive(_ now: Instant) {
    guard let connection, let link = engine.link else { return }
    let result = connection.read(atMost: link.readSize) { bytes, descriptor in
      policy.heard()
      engine.receive(bytes, with: descriptor, now)
    }
    if case .closed = result { isClosed = true }
  }

  /// The uptime at which to tick the engine, or to call `drain`, or nil.
  public var nextDeadline: Int64? {
    let deadline = engine.nextDeadline
    return writesAt.map { min($0, deadline ?? $0) } ?? deadline
  }

  /// Writes the engine's bytes for the hub, and leaves an unusable hub: for an owner that looks for no other.
  /// - Returns: why the hub was left, or nil.
  public func drain(_ now: @autoclosure () -> Instant) -> HubLoss? {
    if isClosed { return lost(now()) }
    flush(now())
    guard let fault = engine.takeFault() else { return nil }
    return handle(fault, now())
  }

  /// Writes the engine's bytes for the hub, as far as the connection accepts them.
  public func flush(_ now: @autoclosure () -> Instant) {
    guard let connection, let link = engine.link else { return }
    if let writesAt {
      guard writesAt <= now().uptime else { return }
      self.writesAt = nil
    }
    while link.takeOutput({ bytes in
      switch connection.write(bytes, link.outgoingDescriptor) {
      case .bytes(let count): return count
      case .refused:
        writesAt = now().uptime + Self.writePause
        return 0
      }
    }) {}
    let isFull = link.hasOutput && writesAt == nil
    guard isFull != self.isFull else { return }
    self.isFull = isFull
    connection.watch(reading: true, writing: isFull)
  }

  /// Nil if everything was written.
  public var obstacle: WriteObstacle? { writesAt.map { .refused($0) } ?? (isFull ? .full : nil) }

  // MARK: Leaving a hub

  private func lost(_ now: Instant) -> HubLoss {
    let (generation, wasWelcome, isAgent) = (generation ?? 0, engine.hubGeneration != nil, engine.hubAgent != nil)
    disconnect(now)
    if !wasWelcome {
      problem = SegueError(
        .connectionUnavailable, "the hub of generation \(generation) closed the connection before it said welcome")
    }
    return HubLoss(search: lost(generation, wasWelcome: wasWelcome, isAgent: isAgent, now))
  }

  private func lost(_ generation: UInt64, wasWelcome: Bool, isAgent: Bool, _ now: Instant) -> NextHubAttempt {
    policy.lost(generation, wasWelcome: wasWelcome, isAgent: isAgent, now) { hubLives(generation) }
  }

  private func handle(_ fault: HubFault, _ now: Instant) -> HubLoss? {
    let (generation, wasWelcome, isAgent) = (generation ?? 0, engine.hubGeneration != nil, engine.hubAgent != nil)
    let step = policy.handle(fault, generation, wasWelcome: wasWelcome, isAgent: isAgent, now) { hubLives(generation) }
    guard case .leave(let search) = step else {
      engine.waitForHub(now)
      return nil
    }
    disconnect(now)
    let problem = Self.problem(fault, generation)
    if let problem { self.problem = problem }
    return HubLoss(search: search, problem: problem)
  }

  /// Nil if the hub is only too old.
  private static func problem(_ fault: HubFault, _ generation: UInt64) -> SegueError? {
    let hub: DiagnosticText = "the hub of generation \(generation)"
    switch fault {
    case .silent: return SegueError(.connectionUnavailable, "\(hub) does not answer")
    case .unready:
      return SegueError(.connectionUnavailable, "\(hub) does not say which activities are offered")
    case .nonsense: return SegueError(.malformed, "\(hub) violates the protocol")
    case .refused(let error): return SegueError(error.status, "\(hub) closes the connection: \(error.message)")
    case .older: return nil
    }
  }

  /// A hub of a higher generation has come: leaves the present one.
  public func superseded(by generation: UInt64, _ now: Instant) -> NextHubAttempt {
    disconnect(now)
    return policy.superseded(by: generation, now)
  }

  /// The hub accepts no further connection.
  public func backlogFull(at generation: UInt64, _ now: Instant) -> NextHubAttempt {
    problem = SegueError(
      .connectionUnavailable, "the hub of generation \(generation) has no room for another connection")
    return lost(generation, wasWelcome: false, isAgent: false, now)
  }

  /// The system refuses something that is needed to find a hub.
  /// - Returns: milliseconds until the next attempt.
  public func couldNotConnect(_ error: SegueError) -> Int64 {
    problem = error
    return policy.failed()
  }

  /// Whether the heartbeat of a hub is recent.
  private func hubLives(_ generation: UInt64) -> Bool {
    guard let age = directory.heartbeatAge(generation) else { return false }
    return age < Self.heartbeatTime
  }
}

/// The owner of an `AppDriver`: an app's device, or the agent, in the product or in the fleet. The driver calls it with
/// the lock that guards both.
public protocol AppDriverOwner: AnyObject {
  var now: Instant { get }
  /// The engine has handled what came or was due. Its bytes are not written yet.
  func inputHandled()
  /// A hub was left: finds the next one.
  func follow(_ loss: HubLoss)
  /// Sets the uptime at which to call `AppDriver.pump`; nil for none.
  func setTimer(_ uptime: Int64?)
}

/// A hub was left.
public struct HubLoss {
  /// The next step of the app to find a hub.
  public let search: NextHubAttempt
  /// The error to log, if any.
  public var problem: SegueError?
}

/// The obstacle to writing the rest of the last messages of an app.
public enum WriteObstacle {
  /// The connection is full.
  case full
  /// The system refuses until this uptime.
  case refused(Int64)
}
