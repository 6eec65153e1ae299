import SegueEngine
import SegueFleet
import SegueModel
import SegueTransport
import SegueWire
import Synchronization

/// An app on a device of a virtual fleet: the same as any other, but that its device, its clock and its chance are the
/// fleet's, and that its callbacks run when the fleet moves. It shares the fleet's lock.
public final class FleetApp: App {
  public let home: LiveFleetDevice
  private var running: FleetProcess?
  private let isWoken = Atomic<Bool>(false)
  /// Callbacks that have run, for `dispatch`.
  private var delivered = 0

  public init(_ settings: AppSettings, on device: LiveFleetDevice) {
    home = device
    super.init(settings, device.fleet.monitor)
  }

  private var fleet: LiveFleet { home.fleet }

  // MARK: For the host

  /// It dies without a word; nothing runs any more. Throws INVALID_STATE if it is not open.
  public func kill() throws(SegueError) { try withProcess { $0.kill() } }

  /// It is stopped, as by SIGSTOP, or goes on. Throws INVALID_STATE if it is not open.
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

  /// Moves the whole fleet until a callback of this app has run, or so many milliseconds of its time have passed.
  public override func dispatch(timeout: Int32) throws(SegueError) -> Int {
    guard !isInCallback else { throw SegueError(.busy, "app: dispatch cannot run inside one of its callbacks") }
    let before = try fleet.perform { (_) throws(SegueError) in
      guard case .open = state else { throw notOpen }
      return delivered
    }
    let time = timeout < 0 ? Int64(LiveFleet.advanceLimit) : Int64(timeout)
    try fleet.advance(time) { delivered != before || isWoken.load(ordering: .relaxed) }
    isWoken.store(false, ordering: .relaxed)
    return fleet.read { _ in delivered - before }
  }

  public override func wake() { isWoken.store(true, ordering: .relaxed) }

  public override func descriptor() throws(SegueError) -> Int32 {
    throw SegueError(.invalidState, "app: of a virtual fleet, which has no descriptor: step the fleet, or dispatch")
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
    process.begin(self, engine)
  }

  override func leave() {
    monitor.lock()
    running?.checkIsTold()
    running?.leave()
    running = nil
    fleet.attendStreams()
    monitor.unlock()
  }

  override func settleConnection(_ engine: AppEngine) { running?.settle(hasCallbacks: !due.isEmpty) }
  override func signalDue() { running?.settle(hasCallbacks: !due.isEmpty) }

  /// What follows the last dot of its identifier.
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
    settle()
    let lines = logs
    logs = []
    if !lines.isEmpty { fleet.later { for line in lines { Log.write(line.severity, line.message) } } }
  }

  public func runCallbacks() {
    // Whoever closes it runs them.
    guard case .open = state, !dispatcher.isBusy else { return }
    dispatcher.enter()
    delivered += runDue(all: false)
    dispatcher.leave()
    fleet.attendStreams()
    monitor.notifyAll()
    signalDue()
    guard dispatcher.shallClose else { return }
    dispatcher.shallClose = false
    fleet.later { [self] in try? close() }
  }

  public func died() {
    running = nil
    fleet.attendStreams()
    fleet.later(forgetAll())
  }

  // MARK: Streams

  public func keep(_ socket: FleetSocket, of request: StreamRequest) {
    if let engine { forgetDoneStreams(engine) }
    // Too many descriptors: whoever asked finds it given up. Attachments are not in fleets.
    guard request.attachment == nil, let (near, far) = try? StreamSocket.pair() else { return socket.close() }
    streams[request.id] = Stream(request.id, near, app: self)
    fleet.add(socket, far)
  }

  public func attend(to socket: FleetSocket) { fleet.carry(socket) }
}
