import SegueEngine
import SegueModel
import SegueWire

/// Joins an `AppEngine` to its hub: reads and writes their connection, and leaves a hub that is of no use. Finding the
/// next one is for `HubElection`. Guarded by whatever guards the engine.
public final class AppDriver {
  /// Milliseconds within which a hub that lives has served somebody: as long as it is given to answer.
  private static let heartbeatTime: Int64 = 500
  /// Milliseconds in which nothing is written because the system had nothing left for it.
  private static let writePause: Int64 = 50
  /// Milliseconds that the last words of an app may take to get into a connection that is full.
  public static let lastWordsTime: Int64 = 250

  public let engine: AppEngine
  private let directory: any HubDirectory
  private var connection: (any ByteConnection)?
  /// Generation of the hub that it is connected to; nil: it is not connected.
  public private(set) var generation: UInt64?
  /// Why there is no connection, as far as it is known; forgotten once the app is ready.
  public private(set) var problem: SegueError?
  private var policy = HubFailoverPolicy()
  /// The hub has closed the connection.
  private var isClosed = false
  /// The connection has no room: more is written when it tells that it has.
  private var isFull = false
  /// The system has refused to write: uptime at which that is tried again.
  private var writesAt: Int64?

  public init(_ engine: AppEngine, in directory: any HubDirectory) {
    self.engine = engine
    self.directory = directory
  }

  // MARK: Connecting

  /// Takes over a connection to a hub. `drain` is to be called afterwards.
  public func connected(_ connection: any ByteConnection, generation: UInt64, _ now: Moment) {
    disconnect(now)
    self.connection = connection
    self.generation = generation
    policy.connected(now)
    engine.connected(now)
  }

  /// Closes the connection, if there is one, and tells the engine.
  public func disconnect(_ now: Moment) {
    guard connection != nil else { return }
    if engine.isReady { problem = nil }
    abandon()
    engine.disconnected(now)
  }

  /// Closes the connection without a word to the engine, which is not used any more.
  public func abandon() {
    connection?.close()
    connection = nil
    generation = nil
    isClosed = false
    isFull = false
    writesAt = nil
  }

  // MARK: Bytes

  /// Reads once.
  public func receive(_ now: Moment) {
    guard let connection, let link = engine.link else { return }
    let result = connection.read(atMost: link.readSize) { bytes, descriptor in
      policy.heard()
      engine.receive(bytes, with: descriptor, now)
    }
    if case .closed = result { isClosed = true }
  }

  /// Uptime at which the engine is to be ticked, or `drain` to be called; nil: not by itself.
  public var nextDeadline: Int64? {
    let deadline = engine.nextDeadline
    return writesAt.map { min($0, deadline ?? $0) } ?? deadline
  }

  /// Does what follows from a call of the engine: writes what it has for the hub, and leaves a hub that is of no use.
  /// - Returns: why the hub was left; nil: it was not.
  public func drain(_ now: @autoclosure () -> Moment) -> HubDeparture? {
    if isClosed { return lost(now()) }
    flush(now())
    guard let fault = engine.takeComplaint() else { return nil }
    return handle(fault, now())
  }

  /// Writes what the engine has for the hub, as far as there is room.
  public func flush(_ now: @autoclosure () -> Moment) {
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

  /// What keeps the rest of the last words from being written.
  public enum Obstacle {
    /// The connection has no room.
    case full
    /// The system refuses until this uptime.
    case refused(Int64)
  }

  /// Nil: all was written.
  public var obstacle: Obstacle? { writesAt.map { .refused($0) } ?? (isFull ? .full : nil) }

  // MARK: Leaving a hub

  private func lost(_ now: Moment) -> HubDeparture {
    let (generation, wasWelcome) = (generation ?? 0, engine.hubGeneration != nil)
    disconnect(now)
    if !wasWelcome {
      problem = SegueError(
        .connectionUnavailable, "the hub of generation \(generation) closed the connection before it said welcome")
    }
    return HubDeparture(search: lost(generation, wasWelcome: wasWelcome, now))
  }

  private func lost(_ generation: UInt64, wasWelcome: Bool, _ now: Moment) -> HubSearch {
    policy.lost(generation, wasWelcome: wasWelcome, now) { hubLives(generation) }
  }

  private func handle(_ fault: HubComplaint, _ now: Moment) -> HubDeparture? {
    let (generation, wasWelcome) = (generation ?? 0, engine.hubGeneration != nil)
    let step = policy.handle(fault, generation, wasWelcome: wasWelcome, now) { hubLives(generation) }
    guard case .leave(let search) = step else {
      engine.waitForHub(now)
      return nil
    }
    disconnect(now)
    let problem = Self.problem(fault, generation)
    if let problem { self.problem = problem }
    return HubDeparture(search: search, problem: problem)
  }

  /// Nil: nothing is wrong with the hub but its age.
  private static func problem(_ fault: HubComplaint, _ generation: UInt64) -> SegueError? {
    let hub = "the hub of generation \(generation)"
    switch fault {
    case .silent: return SegueError(.connectionUnavailable, "\(hub) does not answer")
    case .nonsense: return SegueError(.malformed, "\(hub) talks nonsense")
    case .refused(let error): return SegueError(error.status, "\(hub) says goodbye: \(error.message)")
    case .older: return nil
    }
  }

  /// The hub has no room for a connection.
  public func backlogFull(at generation: UInt64, _ now: Moment) -> HubSearch {
    problem = SegueError(
      .connectionUnavailable, "the hub of generation \(generation) has no room for another connection")
    return lost(generation, wasWelcome: false, now)
  }

  /// The system refuses what is needed to find a hub.
  /// - Returns: milliseconds after which it is to be tried again.
  public func couldNotConnect(_ error: SegueError) -> Int64 {
    problem = error
    return policy.failed()
  }

  /// Whether a hub has served anybody in the time that it was given to answer.
  private func hubLives(_ generation: UInt64) -> Bool {
    guard let age = directory.heartbeatAge(generation) else { return false }
    return age < Self.heartbeatTime
  }
}

/// A hub was left.
public struct HubDeparture {
  /// How the app finds the next one.
  public let search: HubSearch
  /// What was wrong, if it is to be logged.
  public var problem: SegueError?
}
