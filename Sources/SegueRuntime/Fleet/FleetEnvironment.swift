import SegueDriver
import SegueEngine
import SegueFleet
import SegueModel
import SegueTransport
import SegueWire

/// The device of an app of a virtual fleet, whose clock, randomness and lock it shares. The app's callbacks run when
/// the fleet advances, or in `dispatch` if the host has its descriptor.
final class FleetEnvironment: AppEnvironment {
  let monitor: ConditionLock
  private let home: LiveFleetDevice
  private let fleet: LiveFleet
  /// Both are nil if it is not open.
  private(set) var app: App?
  private(set) var process: FleetProcess?
  /// The number of callbacks that have run, for `dispatch`.
  private var delivered = 0
  /// Attachments that the app fetches, and those that it sends.
  private var incoming: [FleetDownload] = []
  private var outgoing: [FleetUpload] = []

  init(on device: LiveFleetDevice) {
    home = device
    fleet = device.fleet
    monitor = fleet.monitor
  }

  var now: Instant { home.device.now }
  var problem: SegueError? { process?.driver?.problem }
  var runtimeFolder: String? { nil }
  func drawIdentifier() -> Identifier { fleet.fleet.drawIdentifier() }

  func takeLink(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> OwnedDescriptor {
    throw SegueError(.invalidState, "app: the devices of a virtual fleet are linked by segue_fleet_device_set_linked")
  }

  /// A socket of the fleet, with the descriptor at its other end.
  func wrap(_ descriptor: OwnedDescriptor) -> PassedDescriptor {
    guard let process else { return FleetDescriptor() }
    let (near, far) = process.makeSockets()
    fleet.add(near, descriptor.take())
    return FleetDescriptor(far)
  }

  /// The bytes travel when the fleet advances. A host that blocks may be the one that advances it: it gets an error.
  func makeStream() throws(SegueError) -> (near: StreamSocket, far: Int32) {
    let ends = try StreamSocket.pair()
    do throws(SegueError) {
      try ends.near.limitBlocking(seconds: FleetStream.blockingTime)
    } catch {
      Descriptors.close(ends.near.fd)
      Descriptors.close(ends.far)
      throw error
    }
    return ends
  }

  // MARK: Opening and closing

  func open(_ app: App, _ engine: AppEngine) throws(SegueError) {
    let process = try home.device.start(
      Self.shortName(app.settings.bundleIdentifier), offersFrontmostOnly: app.settings.offersFrontmostOnly)
    self.process = process
    self.app = app
    app.observer = process
    fleet.opened(self)
    process.begin(self, engine)
  }

  /// The part after the last dot of an identifier.
  private static func shortName(_ identifier: String) -> String {
    let bytes = Text.bytes(identifier)
    let start = bytes.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0
    return start == bytes.count ? identifier : Text.decoded(Array(bytes[start...]))
  }

  func endDelivery() {}
  func endUploads() {}

  func close() {
    monitor.lock()
    process?.checkObligations()
    process?.leave()
    leave()
    fleet.attendStreams()
    monitor.unlock()
  }

  private func leave() {
    process = nil
    app?.observer = nil
    app = nil
    fleet.closed(self)
  }

  /// The process receives each message when it arrives.
  func receive() {}
  func drain() {
    process?.drain()
    notifyHost()
  }

  func signalDue() {
    process?.schedule()
    notifyHost()
  }

  private func notifyHost() {
    guard let app, let process else { return }
    process.awaitsDispatch = app.wakeUp.isGiven && !app.due.isEmpty
    if process.awaitsDispatch { app.wakeUp.signal(isAwaited: false) }
    fleet.ring()
  }

  // MARK: Dispatching

  /// Whether this thread runs a callback of the app.
  var isInCallback: Bool { app?.isInCallback ?? false }

  /// Advances the whole fleet until a callback of this app has run, or that many milliseconds of its time have passed;
  /// without a limit, as long as something can happen.
  func dispatch(_ app: App, timeout: Int32) throws(SegueError) -> Int {
    if fleet.read({ _ in app.wakeUp.isGiven }) { return try dispatchPolled(app, timeout: timeout) }
    let before = try fleet.perform { (_) throws(SegueError) in
      try app.checkIsOpen()
      return delivered
    }
    try fleet.advance(timeout) { delivered != before || app.wakeUp.isRequested }
    return fleet.read { _ in
      _ = app.wakeUp.clear()
      return delivered - before
    }
  }

  /// Runs the due callbacks. If there are none, advances the whole fleet until there are, or that many milliseconds of
  /// its time have passed.
  private func dispatchPolled(_ app: App, timeout: Int32) throws(SegueError) -> Int {
    let (count, wasWoken) = try dispatchDue(app)
    guard count == 0, timeout != 0, !wasWoken else { return count }
    try fleet.advance(timeout) { !app.due.isEmpty || app.wakeUp.isRequested }
    return try dispatchDue(app).count
  }

  private func dispatchDue(_ app: App) throws(SegueError) -> (count: Int, wasWoken: Bool) {
    try fleet.perform { (_) throws(SegueError) in
      try app.checkMayDispatch()
      let wasWoken = app.wakeUp.clear()
      return (runCallbacks(of: app), wasWoken)
    }
  }

  private func runCallbacks(of app: App) -> Int {
    app.dispatcher.enter()
    let count = app.runDue(all: false)
    app.dispatcher.leave()
    fleet.attendStreams()
    monitor.notifyAll()
    signalDue()
    guard app.dispatcher.shallClose else { return count }
    app.dispatcher.shallClose = false
    fleet.later { try? app.close() }
    return count
  }
}

/// The calls of the fleet, with the lock.
extension FleetEnvironment: FleetProgram {
  var activitySource: (any ActivitySource)? { app }

  var hasCallbacks: Bool { app.map { !$0.due.isEmpty && !$0.wakeUp.isGiven } ?? false }

  func engineCalled() {
    guard let app else { return }
    app.engineCalled()
    notifyHost()
    let lines = app.logs
    app.logs = []
    if !lines.isEmpty { fleet.later { for line in lines { Log.write(line.severity, line.message) } } }
  }

  func runCallbacks() {
    guard let app else { return }
    // Another thread runs them in its own time: the one that closes the app, or dispatches.
    guard app.isOpen, !app.dispatcher.isBusy, !app.wakeUp.isGiven else {
      process?.awaitsDispatch = !app.due.isEmpty
      return
    }
    delivered += runCallbacks(of: app)
  }

  func died() {
    guard let app else { return }
    leave()
    let lost = incoming
    (incoming, outgoing) = ([], [])
    for fetch in lost { fetch.abandon() }
    fleet.later { for fetch in lost { fetch.download.forget() } }
    fleet.attendStreams()
    fleet.later(app.tearDown())
  }

  // MARK: Streams

  func keep(_ socket: FleetSocket, of request: StreamRequest) {
    guard let app, let engine = app.engine else { return socket.close() }
    if let part = request.attachment {
      guard let file = app.source(of: part, request) else { return socket.close() }
      outgoing.append(FleetUpload(file, from: part.offset, to: socket, of: request.account))
      return attend(to: socket)
    }
    app.forgetDoneStreams(engine)
    // Too many descriptors: the receiver finds the stream aborted.
    guard let (near, far) = try? makeStream() else { return socket.close() }
    app.streams[request.id] = LiveStream(request.id, near, app: app)
    fleet.add(socket, far)
  }

  func attend(to socket: FleetSocket) {
    if let index = outgoing.firstIndex(where: { $0.socket === socket }) {
      outgoing[index].carry()
      if outgoing[index].isOver { outgoing.remove(at: index) }
      return
    }
    if let fetch = incoming.first(where: { $0.socket === socket }) { return fetch.carry() }
    fleet.carry(socket)
  }

  // MARK: Attachments

  func objection(to request: StreamRequest) -> SegueError? {
    guard let part = request.attachment, let app else { return nil }
    outgoing.removeAll { $0.isOver }
    return app.objection(to: part, request, outgoing.map { $0.account })
  }

  func woken() {
    for fetch in incoming { fetch.wake() }
  }

  func start(_ download: AttachmentDownload, of app: App) {
    let fetch = FleetDownload(download, in: self)
    download.start(fetch)
    incoming.append(fetch)
    ask(fetch)
  }

  /// The download was cancelled, or the app closes. Called without the lock.
  func stop(_ fetch: FleetDownload, _ error: SegueError) { fleet.read { _ in fetch.end(error) } }

  func remove(_ fetch: FleetDownload) { incoming.remove(fetch) }

  /// Asks for the stream of an attachment.
  func ask(_ fetch: FleetDownload) {
    let download = fetch.download
    guard let process, let app, let engine = app.engine, let from = download.activity.continuedFrom else { return }
    let (near, far) = process.makeSockets()
    fetch.take(near)
    let id = drawIdentifier()
    app.pending.add(id, .stream(StreamRequestCallback(download)))
    process.began(.attachment(id), deadline: now.uptime + AttachmentDownload.answerTime)
    engine.askStream(
      id, from, attachment: download.rest, otherEnd: FleetDescriptor(far), timeout: AttachmentDownload.answerTime, now)
    app.drainEngine()
  }

  func wake(in milliseconds: Int64) { process?.wake(in: milliseconds) }
  /// Milliseconds for which a stopped attachment is retried.
  var transferResume: Int64 { app?.engine?.limits.transferResume ?? 0 }
}
