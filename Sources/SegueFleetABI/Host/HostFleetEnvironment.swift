// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueFleet
import SegueModel
import SegueRuntime
import SegueTransport
import SegueWire

/// The device of a host's app in a virtual fleet, whose lock it shares: the host has real descriptors and files. The
/// app's callbacks run when the fleet advances, or in `dispatch` if the host has its descriptor.
final class HostFleetEnvironment: FleetEnvironment {
  private let home: LiveFleetDevice
  private let fleet: LiveFleet
  private let wakeUp = WakeUp()
  /// The number of callbacks that have run, for `dispatch`.
  private var delivered = 0
  /// Attachments that the app fetches, and those that it sends.
  private var incoming: [FleetDownload] = []
  private var outgoing: [FleetUpload] = []

  init(on home: LiveFleetDevice) {
    self.home = home
    fleet = home.fleet
    super.init(on: home.device, home.fleet.monitor)
  }

  override var limits: Limits { ProcessLimits.current }
  override func realURL(of url: String) -> String? { ContainerFolder.realURL(of: url) }
  override func realFolder(_ path: [UInt8]) -> [UInt8]? { ContainerFolder.found(path) }
  override func logs(_ severity: Severity) -> Bool { Log.isOn(severity) }
  override func log(_ severity: Severity, _ message: DiagnosticText) { Log.write(severity, message) }
  override func later(_ chore: @escaping () -> Void) { fleet.later(chore) }

  // MARK: Opening and closing

  override func open(_ app: App, _ engine: AppEngine) throws(SegueError) {
    try super.open(app, engine)
    fleet.opened(self)
  }

  override func left() {
    fleet.closed(self)
    fleet.attendStreams()
  }

  override func notifyHost() {
    guard let app, let process else { return }
    process.awaitsDispatch = wakeUp.isGiven && app.hasDueCallbacks
    if process.awaitsDispatch { wakeUp.signal(isAwaited: false) }
    fleet.wake()
  }

  // MARK: The agent

  override func askAgent(_ request: Value, timeout: Int64) throws(SegueError) -> Value {
    try fleet.askAgent(of: home.device, request, timeout: timeout) { self.process }
  }

  // MARK: Dispatching

  /// Whether this thread runs a callback of the app.
  var isInCallback: Bool { app?.isInCallback ?? false }

  override func wake() { wakeUp.wake() }

  override func giveDescriptor() throws(SegueError) -> Int32 {
    try wakeUp.open()
    return wakeUp.give()
  }

  /// Advances the whole fleet until a callback of this app has run, or that many milliseconds of its time have passed;
  /// without a limit, as long as something can happen.
  override func dispatch(_ app: App, timeout: Int32) throws(SegueError) -> Int {
    if fleet.read({ _ in wakeUp.isGiven }) { return try dispatchPolled(app, timeout: timeout) }
    let before = try fleet.perform { (_) throws(SegueError) in
      try app.checkIsOpen()
      return delivered
    }
    try fleet.advance(timeout) { delivered != before || wakeUp.isRequested }
    return fleet.read { _ in
      _ = wakeUp.clear()
      return delivered - before
    }
  }

  /// Runs the due callbacks. If there are none, advances the whole fleet until there are, or that many milliseconds of
  /// its time have passed.
  private func dispatchPolled(_ app: App, timeout: Int32) throws(SegueError) -> Int {
    let (count, wasWoken) = try dispatchDue(app)
    guard count == 0, timeout != 0, !wasWoken else { return count }
    try fleet.advance(timeout) { app.hasDueCallbacks || wakeUp.isRequested }
    return try dispatchDue(app).count
  }

  private func dispatchDue(_ app: App) throws(SegueError) -> (count: Int, wasWoken: Bool) {
    try fleet.perform { (_) throws(SegueError) in
      try app.checkMayDispatch()
      let wasWoken = wakeUp.clear()
      return (runCallbacks(of: app), wasWoken)
    }
  }

  private func runCallbacks(of app: App) -> Int {
    let count = runDue(of: app)
    fleet.attendStreams()
    return count
  }

  // MARK: The fleet's calls

  override var hasCallbacks: Bool { !wakeUp.isGiven && super.hasCallbacks }

  override func runCallbacks() {
    guard let app else { return }
    // Another thread runs them in its own time: the one that closes the app, or dispatches.
    guard app.isOpen, !app.dispatcher.isBusy, !wakeUp.isGiven else {
      process?.awaitsDispatch = app.hasDueCallbacks
      return
    }
    delivered += runCallbacks(of: app)
  }

  override func died() {
    let lost = incoming
    (incoming, outgoing) = ([], [])
    for fetch in lost { fetch.abandon() }
    fleet.later { for fetch in lost { fetch.download.forget() } }
    super.died()
  }

  // MARK: Streams

  /// The bytes travel when the fleet advances. A host that blocks may be the one that advances it: it gets an error.
  private static func makePair() throws(SegueError) -> (near: StreamSocket, far: Int32) {
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

  /// A socket of the fleet, with the descriptor at its other end.
  override func makeStream() throws(SegueError) -> (near: any LocalStreamEnd, far: PassedDescriptor) {
    let ends = try Self.makePair()
    guard let process else {
      Descriptors.close(ends.far)
      return (HostStreamEnd(ends.near), FleetDescriptor())
    }
    let (near, far) = process.makeSockets()
    fleet.add(near, ends.far)
    return (HostStreamEnd(ends.near), FleetDescriptor(far))
  }

  override func keep(_ socket: FleetSocket, of request: StreamRequest) {
    guard let app, let engine = app.engine else { return socket.close() }
    if let part = request.attachment {
      guard let source = app.source(of: part, request) else { return socket.close() }
      // There are no other sources.
      let file = unsafeDowncast(source, to: SourceFile.self)
      guard let upload = try? FleetUpload(file, from: part.offset, to: socket, of: request.principal) else {
        return socket.close()
      }
      outgoing.append(upload)
      return attend(to: socket)
    }
    app.forgetDoneStreams(engine)
    // Too many descriptors: the receiver finds the stream aborted.
    guard let (near, far) = try? Self.makePair() else { return socket.close() }
    app.add(LiveStream(request.id, HostStreamEnd(near), app: app))
    fleet.add(socket, far)
  }

  override func attend(to socket: FleetSocket) {
    if let index = outgoing.firstIndex(where: { $0.socket === socket }) {
      outgoing[index].carry()
      if outgoing[index].isOver { outgoing.remove(at: index) }
      return
    }
    if let fetch = incoming.first(where: { $0.socket === socket }) { return fetch.carry() }
    fleet.carry(socket)
  }

  // MARK: Attachments

  override func rejection(to request: StreamRequest) -> SegueError? {
    guard let part = request.attachment, let app else { return nil }
    outgoing.removeAll { $0.isOver }
    return app.rejection(to: part, request, outgoing.map { $0.principal })
  }

  override func woken() {
    for fetch in incoming { fetch.wake() }
  }

  override func start(_ download: any AppDownload, of app: App) throws(SegueError) {
    // A host has no others.
    let download = unsafeDowncast(download, to: AttachmentDownload.self)
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
    guard let process, let app else { return }
    let (near, far) = process.makeSockets()
    fetch.take(near)
    // A fleet draws its identifiers itself.
    try? app.askLocked(
      for: download, download.rest, otherEnd: FleetDescriptor(far), timeout: fetch.timeout)
  }

  func wake(in milliseconds: Int64) { process?.wake(in: milliseconds) }
  /// Milliseconds for which a stopped attachment is retried.
  var transferResume: Int64 { app?.engine?.limits.transferResume ?? 0 }
}
