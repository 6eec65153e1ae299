// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueEngine
import SegueManifests
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// The real device of an app: connects its engine to a Unix socket, which the library thread reads, or a thread that
/// waits in dispatch (docs/decisions/who-reads-the-socket.md).
final class LiveEnvironment: AppEnvironment {
  let monitor: any AppMonitor = ConditionLock()
  let wakeUp = WakeUp()
  /// Nil if it is not open.
  private var app: App?
  private(set) var offersFrontmostOnly = false
  private var device: Device?
  private var driver: AppDriver<AppEngine>?
  private var poller: AppPoller?
  private var socket: AppSocket?
  /// Used on the library thread, while the device has the app.
  private var watch: Watch?
  /// Runs the callbacks (SEGUE_DELIVER_THREAD).
  private var deliveryThread: Thread?
  private var uploads: [AttachmentUpload] = []
  private var identifiers = IdentifierPool()

  /// Connections on which calls wait for the agent.
  private var agentCalls: [Int32] = []

  var now: Instant { Clock.now }
  var limits: Limits { ProcessLimits.current }
  var problem: SegueError? { driver?.problem }
  var runtimeFolder: String? { device?.folder.path }

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
    if !(app?.isOpen ?? false) { endAgentCalls() }
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
    offersFrontmostOnly = app.settings.offersFrontmostOnly
    do throws(SegueError) {
      let device = try Library.open(self, in: app.settings.runtimeFolder)
      driver = device.driver(of: engine)
      self.device = device
    } catch {
      monitor.unlock()
      endDelivery()
      monitor.lock()
      throw error
    }
    self.poller = poller
    self.app = app
  }

  func endDelivery() {
    monitor.lock()
    let thread = deliveryThread.take()
    monitor.unlock()
    thread?.join()
  }

  func endUploads() {
    monitor.lock()
    let uploads = self.uploads
    self.uploads = []
    monitor.unlock()
    for upload in uploads { upload.stop() }
    let deadline = Clock.uptime + AttachmentUpload.joinTime
    for upload in uploads { upload.join(until: deadline) }
  }

  func close() {
    monitor.lock()
    flushBeforeClose()
    let device = self.device
    unlock()
    if let device { Library.close(self, of: device) }
    monitor.lock()
    driver = nil
    socket = nil
    poller = nil
    self.device = nil
    self.app = nil
    monitor.unlock()
  }

  /// Milliseconds for the agent to take a snapshot that is larger than what a channel carries without credit (R2.5).
  private static let leavingTime: Int64 = 2_000

  /// Sends the last messages of the app, if the hub reads, and what it leaves with the agent. Not on the library
  /// thread, where a hub of this process reads. Called with the lock, which it releases while it waits.
  private func flushBeforeClose() {
    let begin = Clock.uptime
    while let app, let driver, driver.obstacle != nil || driver.engine.isLeaving {
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
        self.driver?.flush(now)
        continue
      }
      self.driver?.receive(now)
      // A hub that has gone takes nothing: no other is looked for.
      if self.driver?.drain(now) != nil { return }
    }
  }

  // MARK: The hub

  /// The socket or the deadline is due. Called with the lock.
  private func pump() {
    guard let app, app.engine != nil else { return }
    let now = self.now
    poller?.clearDeadline(now.uptime)
    if app.dispatcher.endLoan(now.uptime) { socket?.isLent = false }
    driver?.pump(isReadable: true, isDue: true, now, for: self)
    app.engineCalled()
  }

  func receive() {
    driver?.receive(now)
    inputHandled()
  }

  func drain() { driver?.drain(for: self) }

  /// After this the app does nothing on the library thread, which calls it without the lock.
  func end() {
    monitor.lock()
    driver?.flush(now)
    watch?.close()
    watch = nil
    driver?.disconnect(now)
    notifyWaiting()
    unlock()
  }

  /// Releases the lock, and then logs.
  private func unlock() { if let app { app.unlockAndLog() } else { monitor.unlock() } }

  /// A host that waits for the former socket gets the new one. Called with the lock.
  private func notifyWaiting() { if let app { wakeUp.notify(if: app.dispatcher.isWaiting) } }

  // MARK: Streams and attachments

  /// Other apps ask for streams. Called with the lock.
  func inputHandled() {
    guard let app, let engine = app.engine else { return }
    takeStreams(app, engine)
  }

  private func takeStreams(_ app: App, _ engine: AppEngine) {
    for request in engine.takeStreamRequests() {
      let fd = request.descriptor.owned.take()
      // The hub has only passed it on.
      Descriptors.charge(fd, to: request.principal)
      guard let socket = StreamSocket(fd) else {
        Descriptors.closeUntrusted(fd)
        engine.refuse(request, SegueError(.malformed, "the descriptor that came with the stream is none"))
        continue
      }
      if let part = request.attachment {
        send(part, request, over: fd, app, engine)
        continue
      }
      app.forgetDoneStreams(engine)
      if engine.take(request) {
        app.add(LiveStream(request.id, HostStreamEnd(socket), app: app))
      } else {
        Descriptors.closeUntrusted(fd)
      }
    }
  }

  /// Another app fetches an attachment. Called with the lock; owns the descriptor.
  private func send(
    _ part: Message.AttachmentPart, _ request: StreamRequest, over fd: Int32, _ app: App, _ engine: AppEngine
  ) {
    // Waits for the threads of former uploads, which end at once.
    while let index = uploads.firstIndex(where: { $0.hasEnded }) { uploads.remove(at: index).join() }
    if let error = app.rejection(to: part, request, uploads.map { $0.principal }) {
      Descriptors.closeUntrusted(fd)
      return engine.refuse(request, engine.rejection(to: request) ?? error)
    }
    guard let source = app.source(of: part, request), engine.take(request) else {
      return Descriptors.closeUntrusted(fd)
    }
    let upload = AttachmentUpload(
      unsafeDowncast(source, to: SourceFile.self), from: part.offset, to: fd, of: request.principal,
      crossesLink: request.crossesLink,
      patience: engine.limits.transferResume)
    do throws(SegueError) {
      try upload.start()
      uploads.append(upload)
    } catch {
      // The other side sees a broken stream, and retries.
      app.logs.append((.error, "\(error.message)"))
    }
  }

  // MARK: Dispatching

  func signalDue() {
    guard let app, !app.dispatcher.isRunningHere else { return }
    wakeUp.signal(isAwaited: app.dispatcher.isWaiting)
  }

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
    if milliseconds != 0 { socket?.isLent = true }
    var descriptors = [
      pollfd(fd: wakeUp.fd, events: Int16(POLLIN), revents: 0),
      pollfd(
        fd: socket?.fd ?? -1, events: Int16(POLLIN) | (socket?.isFull ?? false ? Int16(POLLOUT) : 0), revents: 0),
    ]
    app.unlockAndLog()
    let number = poll(&descriptors, 2, milliseconds) < 0 ? linux_errno() : 0
    monitor.lock()
    let comesBack = app.dispatcher.wakeUp(at: Clock.uptime) && milliseconds != 0 && !wakeUp.isGiven
    // Only after the read; otherwise the library thread would wake up for the same bytes.
    defer { if comesBack { keepSocket(app) } else { socket?.isLent = false } }
    if number != 0, number != EINTR { throw .system("waiting for something to do", number) }
    if descriptors[0].revents != 0 { wakeUp.foundReadable() }
    if descriptors[1].revents != 0 { pump() }
  }

  /// A thread that comes back soon keeps the socket: to give it back and take it again costs a system call each. The
  /// library thread takes it back if the thread does not come.
  private func keepSocket(_ app: App) {
    app.dispatcher.beginLoan()
    poller?.setDeadline(app.dispatcher.loanEndsAt)
  }
}

/// The calls of the driver, with the lock.
extension LiveEnvironment: AppDriverOwner {
  func follow(_ loss: HubLoss) {
    guard let app else { return }
    if let problem = loss.problem { app.logs.append((.info, DiagnosticText(of: problem.message))) }
    notifyWaiting()
    device?.onLoop { [self] device in device.election.follow(loss.search, for: self, Clock.uptime) }
  }

  func setTimer(_ uptime: Int64?) {
    poller?.setDeadline(uptime)
    guard let app else { return }
    if let end = app.dispatcher.loanEndsAt { poller?.setDeadline(end) }
    if app.hasDueCallbacks { signalDue() }
  }
}

extension LiveEnvironment: WatchOwner {
  func isReady(_ watch: Watch, reading: Bool, writing: Bool) {
    monitor.lock()
    pump()
    unlock()
  }
}

/// The calls of the election of the hub, on the library thread.
extension LiveEnvironment: HubSeeker {
  var hubGeneration: UInt64? {
    monitor.lock()
    defer { monitor.unlock() }
    return driver?.generation
  }

  /// Starts to watch the socket and the deadlines, unless it has started.
  func prepare() throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard let poller, let device, watch == nil else { return }
    watch = try Watch(poller.fd, on: device.loop, for: self)
  }

  func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
    // The directory of this process creates no other kind.
    let socket = unsafeDowncast(hub, to: AppSocket.self)
    monitor.lock()
    guard let app, let driver, let poller else {
      monitor.unlock()
      return socket.close()
    }
    defer { app.unlockAndLog() }
    driver.disconnect(now)
    do throws(SegueError) {
      try socket.enter(poller, isLent: app.dispatcher.isWaiting)
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
    driver?.disconnect(now)
    notifyWaiting()
    app?.drainEngine()
    unlock()
  }

  func superseded(by generation: UInt64) -> NextHubAttempt {
    monitor.lock()
    let next = driver?.superseded(by: generation, now) ?? .retry(generation, after: 0)
    notifyWaiting()
    app?.drainEngine()
    unlock()
    return next
  }

  func backlogFull(at generation: UInt64) -> NextHubAttempt {
    monitor.lock()
    defer { monitor.unlock() }
    return driver?.backlogFull(at: generation, now) ?? .retry(generation, after: 0)
  }

  func couldNotConnect(_ error: SegueError) -> Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    return driver?.couldNotConnect(error) ?? 0
  }
}
