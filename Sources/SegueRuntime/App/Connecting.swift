import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// An app's connection to the hub. Guarded by the app's lock.
struct Connection {
  /// Negative: there is none.
  var socket: Int32 = -1
  /// Of the hub at its other end.
  var generation: UInt64?
  var search = HubSearch()
  /// Why there is none, as far as it is known; forgotten once the app is ready.
  var problem: SegueError?
  /// On the library thread, from when the device takes the app in until it lets it go.
  var watch: Watch?
  /// The socket is full: more goes out when it says so.
  var isWaitingToWrite = false
  /// The system has refused to send: uptime at which that is tried again.
  var writesAt: Int64?
}

/// An app and its hub; mostly on the library thread.
extension App {
  /// Milliseconds within which a hub that lives has served somebody: as long as it is given to answer.
  private static let signTime: Int64 = 500
  /// Milliseconds that the last words of an app may take to get into a socket that is full.
  private static let lastWordsTime: Int64 = 250
  /// Milliseconds in which nothing is sent because the system had nothing left for it.
  private static let writePause: Int64 = 50

  /// Begins to listen to the socket and the deadlines, unless it has begun.
  func start(on loop: Loop) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard let gate, connection.watch == nil else { return }
    connection.watch = try Watch(gate.fd, on: loop) { [unowned(unsafe) self] _, _ in
      // `end` closes the watch before this object goes.
      self.pump()
    }
  }

  /// Takes over a socket; if that fails, it is closed.
  func connected(_ socket: Int32, generation: UInt64) throws(SegueError) {
    monitor.lock()
    defer { unlockAndLog() }
    dropConnection()
    do throws(SegueError) {
      try gate?.setSocket(socket)
    } catch {
      Descriptors.close(socket)
      throw error
    }
    connection.socket = socket
    connection.generation = generation
    connection.search.connected(now)
    connection.isWaitingToWrite = false
    connection.writesAt = nil
    engine?.connected(now)
    settle()
    // A host that waits for the former socket takes the new one.
    wakeUp.kick(if: dispatcher.isWaiting)
  }

  /// Of the hub that it is connected to; nil: to none.
  var generation: UInt64? {
    monitor.lock()
    defer { monitor.unlock() }
    return connection.generation
  }

  /// Leaves the hub for another that the device has found.
  func disconnect() {
    monitor.lock()
    dropConnection()
    settle()
    unlockAndLog()
  }

  /// Nothing of it happens on the library thread after this.
  func end() {
    monitor.lock()
    flush()
    connection.watch?.close()
    connection.watch = nil
    dropConnection()
    unlockAndLog()
  }

  /// What the app has still to say goes out before it closes, if the hub reads. Not on the library thread, where a hub
  /// of this process reads. Called with the lock, which it gives up while it waits.
  func sayLastWords() {
    let deadline = Clock.uptime + Self.lastWordsTime
    while connection.socket >= 0, connection.isWaitingToWrite || connection.writesAt != nil {
      let left = min(deadline, connection.writesAt ?? deadline) - Clock.uptime
      guard Clock.uptime < deadline else { return }
      var descriptor = pollfd(
        fd: connection.socket, events: connection.isWaitingToWrite ? Int16(POLLOUT) : 0, revents: 0)
      unlockAndLog()
      // The number may be closed meanwhile, and even be another's: then it returns too early or too late, no more.
      poll(&descriptor, 1, Int32(clamping: max(0, left)))
      monitor.lock()
      flush()
    }
  }

  /// The socket or the deadline is due.
  private func pump() {
    monitor.lock()
    pumpLocked()
    unlockAndLog()
  }

  func pumpLocked() {
    guard let engine else { return }
    let now = self.now
    gate?.clearDeadline(now.uptime)
    if connection.socket >= 0, let link = engine.link {
      let result = Socket.read(connection.socket, atMost: link.readSize) { bytes, came in
        connection.search.heard()
        engine.receive(bytes, with: came.takeDescriptor(), now)
      }
      takeStreams(engine)
      if case .closed = result { lostConnection() }
    }
    if let deadline = engine.nextDeadline, deadline <= now.uptime { engine.tick(now) }
    settle()
  }

  /// What the engine has for the hub goes out, and what it wants is done.
  func settleSocket(_ engine: AppEngine) {
    flush()
    let deadline = engine.nextDeadline
    gate?.setDeadline(connection.writesAt.map { min($0, deadline ?? $0) } ?? deadline)
    if let complaint = engine.takeComplaint() { heed(complaint) }
    if !due.isEmpty { signalDue() }
  }

  private func flush() {
    guard connection.socket >= 0, let link = engine?.link else { return }
    if let at = connection.writesAt, at > Clock.uptime { return showSocket() }
    connection.writesAt = nil
    while link.takeOutput({ bytes in
      switch Socket.write(bytes, link.outgoingDescriptor, to: connection.socket) {
      case .bytes(let count): return count
      case .refused:
        connection.writesAt = Clock.uptime + Self.writePause
        return 0
      }
    }) {}
    connection.isWaitingToWrite = link.hasOutput && connection.writesAt == nil
    showSocket()
  }

  /// The library thread watches the socket unless a host thread waits for it.
  func showSocket() {
    gate?.show(reading: !dispatcher.isWaiting, writing: connection.isWaitingToWrite && !dispatcher.isWaiting)
  }

  private func dropConnection() {
    guard connection.socket >= 0 else { return }
    if engine?.isReady ?? false { connection.problem = nil }
    gate?.dropSocket()
    Descriptors.close(connection.socket)
    connection.socket = -1
    connection.generation = nil
    connection.isWaitingToWrite = false
    engine?.disconnected(now)
    wakeUp.kick(if: dispatcher.isWaiting)
  }

  // MARK: Another hub

  private func lostConnection() {
    let generation = connection.generation ?? 0
    let wasWelcome = engine?.hubGeneration != nil
    dropConnection()
    if !wasWelcome { connection.problem = Self.closedBeforeWelcome(generation) }
    follow(connection.search.lost(generation, wasWelcome: wasWelcome, now) { hubLives(generation) }, generation)
  }

  /// The hub has no room for a connection.
  func turnedAway(by generation: UInt64) {
    monitor.lock()
    connection.problem = SegueError(
      .connectionUnavailable, "the hub of generation \(generation) has no room for another connection")
    follow(connection.search.lost(generation, wasWelcome: false, now) { hubLives(generation) }, generation)
    monitor.unlock()
  }

  /// The system refuses what an app needs in order to find a hub.
  /// - Returns: milliseconds after which it is tried again.
  func couldNotConnect(_ error: SegueError) -> Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    connection.problem = error
    return connection.search.failed()
  }

  private static func closedBeforeWelcome(_ generation: UInt64) -> SegueError {
    SegueError(
      .connectionUnavailable, "the hub of generation \(generation) closed the connection before it said welcome")
  }

  /// The engine wants another hub.
  func heed(_ complaint: HubComplaint) {
    let generation = connection.generation ?? 0
    let wasWelcome = engine?.hubGeneration != nil
    let step = connection.search.heed(complaint, generation, wasWelcome: wasWelcome, now) { hubLives(generation) }
    if case .wait = step {
      engine?.waitForHub(now)
      gate?.setDeadline(engine?.nextDeadline)
      return
    }
    dropConnection()
    if let problem = Self.problem(complaint, generation) {
      connection.problem = problem
      logs.append((.info, DiagnosticText(of: problem.message)))
    }
    settle()
    follow(step, generation)
  }

  /// Nil: nothing is wrong with the hub but its age.
  private static func problem(_ complaint: HubComplaint, _ generation: UInt64) -> SegueError? {
    let hub = "the hub of generation \(generation)"
    switch complaint {
    case .silent: return SegueError(.connectionUnavailable, "\(hub) does not answer")
    case .nonsense: return SegueError(.malformed, "\(hub) talks nonsense")
    case .refused(let error): return SegueError(error.status, "\(hub) says goodbye: \(error.message)")
    case .older: return nil
    }
  }

  private func follow(_ step: HubSearch.Step, _ generation: UInt64) {
    switch step {
    case .wait: break
    case .seek(let minimum, let time):
      device?.onLoop { [self] device in device.seek(self, minimum: minimum, in: time) }
    case .seekLater(let time): device?.onLoop { [self] device in device.wait(self, instead: generation, in: time) }
    }
  }

  /// Whether a hub has served anybody in the time that it was given to answer.
  private func hubLives(_ generation: UInt64) -> Bool {
    guard let age = device?.folder.heartbeatAge(generation) else { return false }
    return age < Self.signTime
  }
}
