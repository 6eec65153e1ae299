// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport

/// The connection of an app with the hub of its device: a Unix socket, which the library thread reads, or a thread that
/// waits in dispatch (docs/decisions/who-reads-the-socket.md). Guarded by the app's lock, except where stated.
final class LiveConnection {
  /// The objects that the connection has while the app is open. It is a class because a copy of a structure would
  /// retain each of them.
  private final class Opened {
    let app: App
    let device: Device
    let driver: AppDriver<AppEngine>
    let poller: AppPoller

    init(_ app: App, _ device: Device, _ driver: AppDriver<AppEngine>, _ poller: AppPoller) {
      (self.app, self.device, self.driver, self.poller) = (app, device, driver, poller)
    }
  }

  private let monitor: any AppMonitor
  private let wakeUp: WakeUp
  private let streams: RequestedStreams
  private var opened: Opened?
  private(set) var offersFrontmostOnly = false
  private var socket: AppSocket?
  /// Used on the library thread, while the device has the app.
  private var watch: Watch?

  /// - Parameters:
  ///   - monitor: the app's lock.
  ///   - streams: takes those that other apps ask for.
  init(_ monitor: any AppMonitor, _ wakeUp: WakeUp, _ streams: RequestedStreams) {
    (self.monitor, self.wakeUp, self.streams) = (monitor, wakeUp, streams)
  }

  var now: Instant { Clock.now }
  /// Nil if it is not open.
  var app: App? { opened?.app }
  /// The last known cause for not being connected.
  var problem: SegueError? { opened?.driver.problem }
  /// The path of the runtime folder; nil if it is not open.
  var runtimeFolder: String? { opened?.device.folder.path }

  // MARK: Opening and closing

  /// Starts to look for a hub, and keeps the app until `close`. Throws SYSTEM, UNSAFE_FOLDER.
  func open(_ app: App, _ engine: AppEngine, _ poller: AppPoller) throws(SegueError) {
    offersFrontmostOnly = app.settings.offersFrontmostOnly
    let device = try Library.open(self, in: app.settings.runtimeFolder)
    opened = Opened(app, device, device.driver(of: engine), poller)
  }

  /// Sends the last messages. When this returns, the device no longer uses this object. Without the lock.
  func close() {
    monitor.lock()
    flushBeforeClose()
    let device = opened?.device
    unlock()
    if let device { Library.close(self, of: device) }
    monitor.lock()
    socket = nil
    opened = nil
    monitor.unlock()
  }

  /// Milliseconds for the agent to take a snapshot that is larger than what a channel carries without credit (R2.5).
  private static let leavingTime: Int64 = 2_000

  /// Sends the last messages of the app, if the hub reads, and what it leaves with the agent. Not on the library
  /// thread, where a hub of this process reads. Called with the lock, which it releases while it waits.
  private func flushBeforeClose() {
    let begin = Clock.uptime
    while let app, let driver = opened?.driver, driver.obstacle != nil || driver.engine.isLeaving {
      let uptime = Clock.uptime
      let deadline = begin + (driver.engine.isLeaving ? Self.leavingTime : AppDriver<AppEngine>.flushTime)
      guard uptime < deadline else { return }
      // This thread reads the credit.
      let isLeaving = driver.engine.isLeaving
      if isLeaving { socket?.isLent = true }
      var descriptor = pollfd(fd: socket?.fd ?? -1, events: isLeaving ? Int16(POLLIN) : 0, revents: 0)
      var end = deadline
      switch driver.obstacle {
      case .full?: descriptor.events |= Int16(POLLOUT)
      case .refused(let at)?: end = min(end, at)
      case nil: break
      }
      app.unlockAndLog()
      // The descriptor may be closed meanwhile, and even be another file's: then this only returns too early or too
      // late.
      poll(&descriptor, 1, Int32(clamping: max(0, end - uptime)))
      monitor.lock()
      guard isLeaving else {
        driver.flush(now)
        continue
      }
      driver.receive(now)
      // A hub that has gone takes nothing: no other is looked for.
      if driver.drain(now) != nil { return }
    }
  }

  /// After this the app does nothing on the library thread, which calls it without the lock.
  func end() {
    monitor.lock()
    let driver = opened?.driver
    driver?.flush(now)
    watch?.close()
    watch = nil
    driver?.disconnect(now)
    notifyWaiting()
    unlock()
  }

  // MARK: Events

  /// The socket or the deadline is due.
  func pump() {
    guard let opened, opened.app.engine != nil else { return }
    let now = self.now
    opened.poller.clearDeadline(now.uptime)
    if opened.app.dispatcher.endLoan(now.uptime) { socket?.isLent = false }
    opened.driver.pump(isReadable: true, isDue: true, now, for: self)
    opened.app.engineCalled()
  }

  /// Reads what the hub has sent.
  func receive() {
    opened?.driver.receive(now)
    inputHandled()
  }

  /// Handles the results of a call of the engine.
  func drain() { opened?.driver.drain(for: self) }

  /// Lends the socket to a thread that waits in dispatch, or gives it back to the library thread.
  func lendSocket(_ isLent: Bool) { socket?.isLent = isLent }

  /// The events of the socket for which a thread waits in dispatch.
  var awaited: pollfd {
    guard let socket else { return pollfd(fd: -1, events: 0, revents: 0) }
    return pollfd(fd: socket.fd, events: Int16(socket.isFull ? POLLIN | POLLOUT : POLLIN), revents: 0)
  }

  /// A thread that comes back soon keeps the socket: to give it back and take it again costs a system call each. The
  /// library thread takes it back if the thread does not come.
  func keepSocket(_ app: App) {
    app.dispatcher.beginLoan()
    opened?.poller.setDeadline(app.dispatcher.loanEndsAt)
  }

  /// Releases the lock, and then logs.
  private func unlock() { if let app { app.unlockAndLog() } else { monitor.unlock() } }

  /// A host that waits for the former socket gets the new one.
  private func notifyWaiting() { if let app { wakeUp.notify(if: app.dispatcher.isWaiting) } }
}

/// The calls of the driver, with the lock.
extension LiveConnection: AppDriverOwner {
  /// Other apps ask for streams.
  func inputHandled() {
    guard let app, let engine = app.engine else { return }
    streams.take(for: app, engine)
  }

  func follow(_ loss: HubLoss) {
    guard let opened else { return }
    if let problem = loss.problem { opened.app.logs.append((.info, DiagnosticText(of: problem.message))) }
    notifyWaiting()
    opened.device.onLoop { [self] device in device.election.follow(loss.search, for: self, Clock.uptime) }
  }

  func setTimer(_ uptime: Int64?) {
    guard let opened else { return }
    opened.poller.setDeadline(uptime)
    if let end = opened.app.dispatcher.loanEndsAt { opened.poller.setDeadline(end) }
    if opened.app.hasDueCallbacks { wakeUp.signalDue(in: opened.app) }
  }
}

extension LiveConnection: WatchOwner {
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    monitor.lock()
    pump()
    unlock()
  }
}

/// The calls of the election of the hub, on the library thread.
extension LiveConnection: HubSeeker {
  var hubGeneration: UInt64? {
    monitor.lock()
    defer { monitor.unlock() }
    return opened?.driver.generation
  }

  /// Starts to watch the socket and the deadlines, unless it has started.
  func prepare() throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard let opened, watch == nil else { return }
    watch = try Watch(opened.poller.fd, on: opened.device.loop, for: self)
  }

  func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory of this process creates no other kind.
    let socket = unsafeDowncast(hub, to: AppSocket.self)
    monitor.lock()
    guard let opened else {
      monitor.unlock()
      return socket.close()
    }
    let (app, driver) = (opened.app, opened.driver)
    defer { app.unlockAndLog() }
    driver.disconnect(now)
    do throws(SegueError) {
      try socket.enter(opened.poller, isLent: app.dispatcher.isWaiting)
    } catch {
      socket.close()
      throw error
    }
    self.socket = socket
    driver.connected(socket, generation: generation, now)
    app.drainEngine()
    notifyWaiting()
  }

  func disconnect() {
    monitor.lock()
    opened?.driver.disconnect(now)
    notifyWaiting()
    app?.drainEngine()
    unlock()
  }

  func superseded(by generation: UInt64) -> NextHubAttempt {
    monitor.lock()
    let next = opened?.driver.superseded(by: generation, now) ?? .retry(generation, after: 0)
    notifyWaiting()
    app?.drainEngine()
    unlock()
    return next
  }

  func backlogFull(at generation: UInt64) -> NextHubAttempt {
    monitor.lock()
    defer { monitor.unlock() }
    return opened?.driver.backlogFull(at: generation, now) ?? .retry(generation, after: 0)
  }

  func couldNotConnect(_ error: SegueError) -> Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    return opened?.driver.couldNotConnect(error) ?? 0
  }
}
