// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueEngine
import SegueManifests
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// The real device of an app: runs its callbacks in the threads that its host gives them, and has its files, its
/// streams and the agent. `LiveConnection` connects its engine.
final class LiveEnvironment: AppEnvironment {
  let monitor: any AppMonitor
  private let wakeUp = WakeUp()
  private let streams = RequestedStreams()
  private let connection: LiveConnection
  /// Runs the callbacks (SEGUE_DELIVER_THREAD).
  private var deliveryThread: Thread?
  private var identifiers = IdentifierPool()

  /// Connections on which calls wait for the agent.
  private var agentCalls: [Int32] = []

  init() {
    let monitor = ConditionLock()
    self.monitor = monitor
    connection = LiveConnection(monitor, wakeUp, streams)
  }

  var now: Instant { Clock.now }
  var limits: Limits { ProcessLimits.current }
  var problem: SegueError? { connection.problem }
  var runtimeFolder: String? { connection.runtimeFolder }

  func drawIdentifier() throws(SegueError) -> Identifier { try identifiers.next() }
  func realURL(of url: String) -> String? { ContainerFolder.realURL(of: url) }
  func realFolder(_ path: [UInt8]) -> [UInt8]? { ContainerFolder.found(path) }

  func userFolders() -> UserFolders {
    do throws(SegueError) {
      guard let text = try UserFoldersFile.read() else { return .none }
      let folders = UserFolders(UserFolders(text).text(ContainerFolder.found))
      return folders
    } catch {
      Log.error("\(error.message)")
      return .none
    }
  }

  func logs(_ severity: Severity) -> Bool { Log.isOn(severity) }
  func log(_ severity: Severity, _ message: DiagnosticText) { Log.write(severity, message) }

  func makeStream() throws(SegueError) -> (near: any LocalStreamEnd, far: PassedDescriptor) {
    let (near, far) = try StreamSocket.pair()
    return (HostStreamEnd(near), OwnedDescriptor(far))
  }

  func takeLink(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> PassedDescriptor {
    OwnedDescriptor(try Socket.take(fd, isOfAnyUser: isOfAnyUser))
  }

  func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)? {
    // There are no other sources.
    let file = unsafeDowncast(source, to: SourceFile.self)
    return file.openedToHandOver().map { (OwnedDescriptor($0), file.stamp.changed) }
  }

  /// The download's thread waits for the lock.
  func start(_ download: any AppDownload, of app: App) throws(SegueError) {
    // A host has no others.
    try unsafeDowncast(download, to: AttachmentDownload.self).start()
  }

  func wake() { wakeUp.wake() }

  func giveDescriptor() throws(SegueError) -> Int32 {
    try wakeUp.open()
    return wakeUp.give()
  }

  // MARK: The agent

  func askAgent(_ request: Value, timeout: Int64) throws(SegueError) -> Value {
    let deadline = Clock.uptime + timeout
    monitor.lock()
    let folder = runtimeFolder
    monitor.unlock()
    guard let folder else { throw SegueError(.cancelled, "agent: the app was closed before it was asked") }
    let socket = try AgentSocket.connect(beside: folder)
    monitor.lock()
    agentCalls.append(socket)
    // The app may have been closed since.
    if !(connection.app?.isOpen ?? false) { endAgentCalls() }
    monitor.unlock()
    defer {
      monitor.lock()
      agentCalls.removeAll { $0 == socket }
      monitor.unlock()
      Descriptors.closeConnection(socket)
    }
    return try AgentClient.ask(request, over: socket, until: deadline)
  }

  /// Called with the lock, like `open`.
  func endAgentCalls() { for socket in agentCalls { linux_shutdown(socket, 1, 1) } }

  // MARK: Opening and closing

  func open(_ app: App, _ engine: AppEngine) throws(SegueError) {
    let poller = try AppPoller()
    try wakeUp.open()
    if case .thread = app.settings.delivery {
      // The thread waits for the lock, and then looks at the app's state. It keeps both objects until it ends.
      deliveryThread = try Thread { [self, app] in deliver(for: app) }
    }
    do throws(SegueError) {
      try connection.open(app, engine, poller)
    } catch {
      monitor.unlock()
      endDelivery()
      monitor.lock()
      throw error
    }
  }

  func endDelivery() {
    monitor.lock()
    let thread = deliveryThread.take()
    monitor.unlock()
    thread?.join()
  }

  func endUploads() { streams.endUploads(monitor) }
  func close() { connection.close() }
  func receive() { connection.receive() }
  func drain() { connection.drain() }

  // MARK: Dispatching

  func signalDue() { if let app = connection.app { wakeUp.signalDue(in: app) } }

  func dispatch(_ app: App, timeout: Int32) throws(SegueError) -> Int {
    monitor.lock()
    do throws(SegueError) {
      try app.checkMayDispatch()
    } catch {
      monitor.unlock()
      throw error
    }
    app.dispatcher.enter()
    let result = Result { () throws(SegueError) in try dispatchLocked(app, timeout: timeout) }
    app.dispatcher.leave()
    if app.hasDueCallbacks { signalDue() } else { wakeUp.clearSignal() }
    monitor.notifyAll()
    let shallClose = app.dispatcher.shallClose
    app.unlockAndLog()
    // BUSY: another thread closes it already.
    if shallClose { try? app.close() }
    return try result.get()
  }

  /// The app's own thread (SEGUE_DELIVER_THREAD).
  private func deliver(for app: App) {
    monitor.lock()
    while app.isOpen, !app.dispatcher.shallClose {
      app.dispatcher.enter()
      let result = Result { () throws(SegueError) in try dispatchLocked(app, timeout: -1) }
      app.dispatcher.leave()
      monitor.notifyAll()
      app.unlockAndLog()
      if case .failure(let error) = result {
        // It cannot wait properly: callbacks are then late.
        Log.write(.error, DiagnosticText(of: error.message))
        usleep(Self.pause)
      }
      monitor.lock()
    }
    // The thread cannot wait for itself, so no other thread may be closing.
    guard app.isOpen else { return monitor.unlock() }
    deliveryThread.take()?.detach()
    app.closeHere()
  }

  /// Microseconds between two checks if the system refuses `poll`.
  private static let pause: useconds_t = 100_000

  private func dispatchLocked(_ app: App, timeout: Int32) throws(SegueError) -> Int {
    let deadline = timeout < 0 ? nil : Clock.uptime + Int64(timeout)
    while app.isOpen {
      let count = app.runDue(all: false)
      if count > 0 { return count }
      // The due deliveries had no callback, and more are due now.
      if app.hasDueCallbacks { continue }
      if wakeUp.clear() { return 0 }
      let left = deadline.map { $0 - Clock.uptime }
      if let left, left <= 0, timeout != 0 { return 0 }
      // A deadline that has just passed must not become a negative timeout, which means no limit.
      try waitForSomething(app, milliseconds: Int32(clamping: left.map { max(0, $0) } ?? -1))
      if timeout == 0 {
        // Handles what the socket had, without a second check.
        return app.runDue(all: false)
      }
    }
    return 0
  }

  /// Sleeps until the socket, the host or another thread has work, or the time is up. Releases the lock meanwhile.
  ///
  /// Meanwhile the library thread may close the socket, and its number may become another file's before `poll` uses it.
  /// The reuse is harmless: the closing thread then writes to `wakeUp`, which only this thread reads, so `poll` returns
  /// whatever the number refers to; and the read afterwards uses the current socket, without waiting.
  private func waitForSomething(_ app: App, milliseconds: Int32) throws(SegueError) {
    app.dispatcher.sleep()
    // A thread that only looks takes over nothing.
    if milliseconds != 0 { connection.lendSocket(true) }
    var descriptors = [
      pollfd(fd: wakeUp.fd, events: Int16(POLLIN), revents: 0),
      connection.awaited,
    ]
    app.unlockAndLog()
    let number = poll(&descriptors, 2, milliseconds) < 0 ? linux_errno() : 0
    monitor.lock()
    let comesBack = app.dispatcher.wakeUp(at: Clock.uptime) && milliseconds != 0 && !wakeUp.isGiven
    // Only after the read; otherwise the library thread would wake up for the same bytes.
    defer { if comesBack { connection.keepSocket(app) } else { connection.lendSocket(false) } }
    if number != 0, number != EINTR { throw .system("waiting for something to do", number) }
    if descriptors[0].revents != 0 { wakeUp.foundReadable() }
    if descriptors[1].revents != 0 { connection.pump() }
  }
}
