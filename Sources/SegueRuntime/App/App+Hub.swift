import CLinux
import SegueDriver
import SegueEngine
import SegueModel
import SegueTransport

/// An app and its hub; mostly on the library thread.
extension App: HubSeeker {
  public var hubGeneration: UInt64? {
    monitor.lock()
    defer { monitor.unlock() }
    return driver?.generation
  }

  public var offersFrontmostOnly: Bool { settings.offersFrontmostOnly }

  /// Starts to watch the socket and the deadlines, unless it has started.
  public func prepare() throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard let gate, let device, watch == nil else { return }
    watch = try Watch(gate.fd, on: device.loop) { [unowned(unsafe) self] _, _ in
      // `end` closes the watch before this object is released.
      self.monitor.lock()
      self.pumpLocked()
      self.unlockAndLog()
    }
  }

  public func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory of this process creates no other kind.
    let socket = unsafeDowncast(hub, to: AppSocket.self)
    monitor.lock()
    defer { unlockAndLog() }
    guard let driver, let gate else { return socket.close() }
    driver.disconnect(now)
    do throws(SegueError) {
      try socket.enter(gate, isLent: dispatcher.isWaiting)
    } catch {
      socket.close()
      throw error
    }
    self.socket = socket
    driver.connected(socket, generation: generation, now)
    drainEngine()
    // A host that waits for the former socket gets the new one.
    wakeUp.notify(if: dispatcher.isWaiting)
  }

  public func disconnect() {
    monitor.lock()
    driver?.disconnect(now)
    wakeUp.notify(if: dispatcher.isWaiting)
    drainEngine()
    unlockAndLog()
  }

  public func backlogFull(at generation: UInt64) -> HubSearch {
    monitor.lock()
    defer { monitor.unlock() }
    return driver?.backlogFull(at: generation, now) ?? .retry(generation, after: 0)
  }

  public func couldNotConnect(_ error: SegueError) -> Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    return driver?.couldNotConnect(error) ?? 0
  }

  /// After this the app does nothing on the library thread.
  func end() {
    monitor.lock()
    driver?.flush(now)
    watch?.close()
    watch = nil
    driver?.disconnect(now)
    wakeUp.notify(if: dispatcher.isWaiting)
    unlockAndLog()
  }

  /// Sends the last messages of the app before it closes, if the hub reads. Not on the library thread, where a hub of
  /// this process reads. Called with the lock, which it releases while it waits.
  func flushBeforeClose() {
    let deadline = Clock.uptime + AppDriver.lastWordsTime
    while let obstacle = driver?.obstacle {
      let uptime = Clock.uptime
      guard uptime < deadline else { return }
      var descriptor = pollfd(fd: socket?.fd ?? -1, events: 0, revents: 0)
      var end = deadline
      switch obstacle {
      case .full: descriptor.events = Int16(POLLOUT)
      case .refused(let at): end = min(end, at)
      }
      unlockAndLog()
      // The descriptor may be closed meanwhile, and even be another file's: then this only returns too early or too
      // late.
      poll(&descriptor, 1, Int32(clamping: max(0, end - uptime)))
      monitor.lock()
      driver?.flush(now)
    }
  }

  /// The socket or the deadline is due. Called with the lock.
  func pumpLocked() {
    guard let engine else { return }
    let now = self.now
    gate?.clearDeadline(now.uptime)
    driver?.receive(now)
    takeStreams(engine)
    if let deadline = engine.nextDeadline, deadline <= now.uptime { engine.tick(now) }
    drainEngine()
  }

  /// Handles the results of a call of the engine: sends messages to the hub, and leaves an unusable one. Called with
  /// the lock.
  func drainDriver() {
    guard let departure = driver?.drain(now) else { return }
    if let problem = departure.problem { logs.append((.info, DiagnosticText(of: problem.message))) }
    wakeUp.notify(if: dispatcher.isWaiting)
    device?.onLoop { [self] device in device.election.follow(departure.search, for: self, Clock.uptime) }
  }
}
