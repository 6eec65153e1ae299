import SegueEngine
import SegueFleet
import SegueModel
import SegueTransport
import SegueWire
import Synchronization

/// An app on a device of a virtual fleet. Its device, clock and randomness are the fleet's. Its callbacks run when the
/// fleet advances, or in `dispatch` if the host has its descriptor. It shares the fleet's lock.
public final class FleetApp: App {
  public let home: LiveFleetDevice
  private var running: FleetProcess?
  private let isWoken = Atomic<Bool>(false)
  /// The number of callbacks that have run, for `dispatch`.
  private var delivered = 0
  /// Whether the host has its descriptor, and runs its callbacks in `dispatch`.
  private var isPolled = false
  /// Attachments that it fetches, and those that it sends.
  private var incoming: [FleetDownload] = []
  private var outgoing: [FleetUpload] = []

  public init(_ settings: AppSettings, on device: LiveFleetDevice) {
    home = device
    super.init(settings, device.fleet.monitor)
  }

  private var fleet: LiveFleet { home.fleet }

  // MARK: For the host

  /// Kills the app; nothing runs afterwards. Throws INVALID_STATE if it is not open.
  public func kill() throws(SegueError) { try withProcess { $0.kill() } }

  /// Stops the app, as SIGSTOP does, or continues it. Throws INVALID_STATE if it is not open.
  public func setStopped(_ isStopped: Bool) throws(SegueError) {
    try withProcess { isStopped ? $0.stall() : $0.resume() }
  }

  public func isOf(_ fleet: LiveFleet) -> Bool { fleet === self.fleet }

  private func withProcess(_ body: (FleetProcess) -> Void) throws(SegueError) {
    try fleet.perform { (_) throws(SegueError) in
      guard let running else { throw SegueError(.invalidState, "app: is not open") }
      body(running)
    }
  }

  /// Advances the whole fleet until a callback of this app has run, or that many milliseconds of its time have passed,
  /// or no event is left.
  public override func dispatch(timeout: Int32) throws(SegueError) -> Int {
    guard !isInCallback else { throw SegueError(.busy, "app: dispatch cannot run inside one of its callbacks") }
    let cancellation = Cancellation.disable()
    defer { Cancellation.restore(cancellation) }
    if fleet.read({ _ in isPolled }) { return try dispatchPolled(timeout: timeout) }
    let before = try fleet.perform { (_) throws(SegueError) in
      guard case .open = state else { throw notOpen }
      return delivered
    }
    try fleet.advance(timeout) { delivered != before || isWoken.load(ordering: .relaxed) }
    isWoken.store(false, ordering: .relaxed)
    return fleet.read { _ in delivered - before }
  }

  public override func wake() {
    isWoken.store(true, ordering: .relaxed)
    wakeUp.wake()
  }

  /// From now on its callbacks run inside `dispatch` only.
  public override func descriptor() throws(SegueError) -> Int32 {
    try fleet.perform { (_) throws(SegueError) in
      let descriptor = try wakeUpDescriptor { () throws(SegueError) in try wakeUp.open() }
      isPolled = true
      signalDue()
      return descriptor
    }
  }

  /// Runs the due callbacks. If there are none, advances the whole fleet until there are, or that many milliseconds of
  /// its time have passed.
  private func dispatchPolled(timeout: Int32) throws(SegueError) -> Int {
    let wasWoken = isWoken.exchange(false, ordering: .relaxed)
    let count = try dispatchDue()
    guard count == 0, timeout != 0, !wasWoken else { return count }
    try fleet.advance(timeout) { !due.isEmpty || isWoken.load(ordering: .relaxed) }
    isWoken.store(false, ordering: .relaxed)
    return try dispatchDue()
  }

  private func dispatchDue() throws(SegueError) -> Int {
    try fleet.perform { (_) throws(SegueError) in
      guard case .open = state else { throw notOpen }
      guard !dispatcher.isBusy else { throw SegueError(.busy, "app: another thread is in dispatch") }
      _ = wakeUp.clear()
      return runCallbacksHere()
    }
  }

  // MARK: Its device

  override var now: Moment { home.device.now }
  override var fleetClock: FleetClock? { fleet.clock }
  override var process: FleetProcess? { running }
  public override var asFleetApp: FleetApp? { self }
  override func drawIdentifier() -> Identifier { fleet.fleet.drawIdentifier() }

  /// A socket of the fleet, with the descriptor at its other end.
  override func passing(_ descriptor: OwnedDescriptor) -> PassedDescriptor {
    guard let running else { return FleetDescriptor() }
    let (near, far) = running.makeSockets()
    fleet.add(near, descriptor.take())
    return FleetDescriptor(far)
  }

  override func join(_ engine: AppEngine) throws(SegueError) {
    let process = try home.device.start(shortName, offersFrontmostOnly: settings.offersFrontmostOnly)
    running = process
    fleet.opened(self)
    process.begin(self, engine)
  }

  override func leave() {
    monitor.lock()
    running?.checkIsTold()
    running?.leave()
    running = nil
    fleet.closed(self)
    fleet.attendStreams()
    monitor.unlock()
  }

  override func drain() { running?.drain() }
  override func setDeadline() { signalDue() }

  override func signalDue() {
    running?.awaitsDispatch = isPolled && !due.isEmpty
    running?.settle(hasCallbacks: !isPolled && !due.isEmpty)
    if isPolled, !due.isEmpty { wakeUp.signal(isAwaited: false) }
    fleet.ring()
  }

  /// The part after the last dot of its identifier.
  private var shortName: String {
    let bytes = Array(settings.bundleIdentifier.utf8)
    let start = bytes.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0
    return start == bytes.count ? settings.bundleIdentifier : String(decoding: bytes[start...], as: UTF8.self)
  }
}

/// Called by the fleet, with the lock.
extension FleetApp: FleetProgram {
  public func tell(_ call: (AppEngine, Moment) -> Void) {
    guard let engine else { return }
    call(engine, now)
    drainEngine()
    let lines = logs
    logs = []
    if !lines.isEmpty { fleet.later { for line in lines { Log.write(line.severity, line.message) } } }
  }

  public func runCallbacks() {
    // The closing thread runs them.
    guard case .open = state, !dispatcher.isBusy, !isPolled else { return }
    delivered += runCallbacksHere()
  }

  private func runCallbacksHere() -> Int {
    dispatcher.enter()
    let count = runDue(all: false)
    dispatcher.leave()
    fleet.attendStreams()
    monitor.notifyAll()
    signalDue()
    guard dispatcher.shallClose else { return count }
    dispatcher.shallClose = false
    fleet.later { [self] in try? close() }
    return count
  }

  public func died() {
    running = nil
    fleet.closed(self)
    let lost = incoming
    (downloads, incoming, outgoing) = ([], [], [])
    for fetch in lost { fetch.abandon() }
    fleet.later { for fetch in lost { fetch.download.forget() } }
    fleet.attendStreams()
    fleet.later(forgetAll())
  }

  // MARK: Streams

  public func keep(_ socket: FleetSocket, of request: StreamRequest) {
    if let part = request.attachment {
      guard let file = source(of: part, request) else { return socket.close() }
      outgoing.append(FleetUpload(file, from: part.offset, to: socket, of: request.app))
      return attend(to: socket)
    }
    if let engine { forgetDoneStreams(engine) }
    // Too many descriptors: the receiver finds the stream aborted.
    guard let (near, far) = try? StreamSocket.pair() else { return socket.close() }
    streams[request.id] = LiveStream(request.id, near, app: self)
    fleet.add(socket, far)
  }

  public func attend(to socket: FleetSocket) {
    if let index = outgoing.firstIndex(where: { $0.socket === socket }) {
      outgoing[index].carry()
      if outgoing[index].isOver { outgoing.remove(at: index) }
      return
    }
    if let fetch = incoming.first(where: { $0.socket === socket }) { return fetch.carry() }
    fleet.carry(socket)
  }

  // MARK: Attachments

  public func objection(to request: StreamRequest) -> SegueError? {
    guard let part = request.attachment else { return nil }
    outgoing.removeAll { $0.isOver }
    if source(of: part, request) == nil { return Self.notAttached }
    return maySend(to: request.app, outgoing.map { $0.receiver }) ? nil : Self.sendsTooMany
  }

  public func woken() {
    for fetch in incoming { fetch.wake() }
  }

  func forget(_ fetch: FleetDownload) { incoming.removeAll { $0 === fetch } }

  func fetchHere(_ download: AttachmentDownload) throws(SegueError) {
    try fleet.perform { (_) throws(SegueError) in
      guard case .open = state else { throw notOpen }
      guard downloads.count < Limits.transfers else { throw Self.fetchesTooMany }
      downloads.append(download)
      let fetch = FleetDownload(download, of: self)
      download.start(fetch)
      incoming.append(fetch)
      ask(fetch)
    }
  }

  /// The download was cancelled, or the app closes. Called without the lock.
  func stop(_ fetch: FleetDownload, _ error: SegueError) { fleet.read { _ in fetch.end(error) } }

  func ask(_ fetch: FleetDownload) {
    guard let running, let engine, let from = fetch.download.activity.continuedFrom else { return }
    let (near, far) = running.makeSockets()
    fetch.take(near)
    let id = drawIdentifier()
    pending.add(id, .stream(StreamRequestCallback(fetch.download)))
    running.waits(forStream: id, "asks for an attachment", deadline: now.uptime + FleetDownload.answerTime)
    engine.askStream(
      id, from, attachment: fetch.download.rest, otherEnd: FleetDescriptor(far), timeout: FleetDownload.answerTime, now)
    drainEngine()
  }

  func wake(in milliseconds: Int64) { running?.wake(in: milliseconds) }
  /// Milliseconds for which a stopped attachment is retried.
  var transferResumeHere: Int64 { engine?.limits.transferResume ?? 0 }
}
