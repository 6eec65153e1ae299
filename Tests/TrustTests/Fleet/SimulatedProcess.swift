import SegueDevices
import SegueDriver
import SegueEngine
import SegueModel
import SegueSystem

@testable import SegueFleet
@testable import SegueTrust

/// The process of an agent on a machine: what decides in it is what ships (`DeviceService`, and the hub), and this is
/// what they run in.
final class SimulatedProcess: AgentEnvironment {
  unowned let machine: Machine
  private(set) var isOver = false
  var watches: [SimulatedTransport.Watch] = []
  var listeners: [SimulatedTransport.Listener] = []
  var beacons: [SimulatedTransport.Beacons] = []
  private var sockets: [SimulatedSocket] = []
  private(set) var devices: DeviceService?
  private var hub: SimulatedHub?
  private var fleet: AccountFleet { machine.fleet }

  init(on machine: Machine) { self.machine = machine }

  func start() throws(SegueError) {
    let hub = SimulatedHub(in: self)
    self.hub = hub
    let devices = try DeviceService(
      in: self, over: SimulatedTransport(self),
      SimulatedSecurity(machine.cryptography) { [machine] in machine.now.seconds },
      hub, SimulatedStorage(in: self), NoInbox())
    self.devices = devices
    try devices.open()
  }

  /// The process is gone.
  func drop(isPowerLost: Bool) {
    isOver = true
    for socket in sockets { socket.drop(isPowerLost: isPowerLost) }
    (sockets, watches, listeners, beacons) = ([], [], [], [])
    // Objects that refer to each other without counting go together, once no call is under way.
    let kept = (devices, hub)
    fleet.later(0) { withExtendedLifetime(kept) {} }
    (devices, hub) = (nil, nil)
  }

  func keep(_ socket: SimulatedSocket) { sockets.append(socket) }
  func release(_ socket: SimulatedSocket) { sockets.removeAll { $0 === socket } }

  /// Does something if the process lives then; while the machine sleeps, nothing happens.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    fleet.later(milliseconds) { [self] in
      machine.whenAwake { if !self.isOver { body() } }
    }
  }

  // MARK: AgentEnvironment

  var now: Instant { machine.now }
  var slept: Int64 { machine.slept }
  var deviceName: String { machine.name }
  func drawIdentifier() -> Identifier { fleet.random.identifier() }
  func drawJitter() -> UInt32 { UInt32(truncatingIfNeeded: fleet.random.next()) }
  func post(_ body: @escaping () -> Void) { later(0, body) }
  func makeTimer(_ body: @escaping () -> Void) -> any AgentTimer { SimulatedTimer(in: self, body) }

  func log(_ severity: Severity, _ message: DiagnosticText) {
    if severity.rawValue <= Severity.info.rawValue { fleet.trace(machine.name, "says", message.string) }
  }
}

/// A timer of a simulated process.
final class SimulatedTimer: AgentTimer {
  private let process: SimulatedProcess
  private var body: (() -> Void)?
  private var dueAt: Int64?
  /// The uptime of the earliest event that is in the queue.
  private var queuedAt: Int64?

  init(in process: SimulatedProcess, _ body: @escaping () -> Void) { (self.process, self.body) = (process, body) }

  func set(_ uptime: Int64?) {
    dueAt = uptime
    guard let uptime, queuedAt.map({ uptime < $0 }) ?? true else { return }
    queuedAt = uptime
    process.later(uptime - process.uptime) { [self] in
      guard queuedAt == uptime else { return }
      queuedAt = nil
      guard let dueAt else { return }
      guard dueAt <= process.uptime else { return set(dueAt) }
      self.dueAt = nil
      body?()
    }
  }

  func close() { (dueAt, body) = (nil, nil) }
}

/// The disk of a machine, as the account's thread uses it: what was written is there before the loop hears of it.
final class SimulatedStorage: DeviceStorage {
  private let process: SimulatedProcess
  private let service: AccountService
  /// When the thread is free, and when the loop has what it has said.
  private var (freeAt, saidAt): (Int64, Int64) = (0, 0)
  private var machine: Machine { process.machine }
  private var fleet: AccountFleet { process.machine.fleet }

  init(in process: SimulatedProcess) {
    self.process = process
    service = AccountService(storage: process.machine.disk, cryptography: process.machine.cryptography)
  }

  func run(
    isFirst: Bool, size: Int, _ job: @escaping (AccountService, Instant) -> [AccountEvent],
    _ done: @escaping (AccountReport) -> Void
  ) {
    use { [self] in
      let now = machine.now
      let events = job(service, now)
      let report = AccountReport(events: events, account: service.snapshot(at: now))
      return { done(report) }
    }
  }

  /// Does something on the thread, and what that returns on the loop.
  private func use(_ body: @escaping () -> () -> Void) {
    freeAt = max(freeAt, fleet.clock.uptime) + fleet.random.within(0, machine.slowness)
    process.later(freeAt - fleet.clock.uptime) { [self] in
      let answer = body()
      fleet.oracle.look(at: machine)
      guard !machine.disk.isDead else { return machine.crash(isPowerLost: fleet.random.chance(0.5)) }
      saidAt = max(saidAt, fleet.clock.uptime) + fleet.random.within(0, 2)
      process.later(saidAt - fleet.clock.uptime, answer)
    }
  }

  func load(_ answer: @escaping (AccountSnapshot, StoredSettings) -> Void) {
    use { [self] in
      let (account, settings) = (service.snapshot(at: machine.now), StoredSettings(settings: machine.settings))
      return { answer(account, settings) }
    }
  }

  func change(
    _ change: @escaping (inout DeviceSettings) throws(SegueError) -> Void,
    _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void
  ) {
    use { [self] in
      var settings = machine.settings
      do throws(SegueError) {
        try change(&settings)
        machine.settings = settings
        return { [settings] in answer(.success(settings)) }
      } catch {
        let error = error
        return { answer(.failure(error)) }
      }
    }
  }

  func keepPort(_ port: UInt16, _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void) {
    change({ settings in settings.lastPort = port }, answer)
  }
}

/// Nothing is pushed here.
final class NoInbox: PushInbox {
  var offerEnded: ((Identifier) -> Void)?
  private var none: SegueError { SegueError(.notFound, "no such offer") }

  func look(for activity: Identifier, wanted: String?, _ done: @escaping (Result<AppChoice, SegueError>) -> Void) {}
  func choice(for activity: Identifier, wanted: String?) -> Result<AppChoice, SegueError> { .failure(none) }
  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp { throw none }

  func `continue`(
    _ activity: Identifier, app: String?, timeout: Int64?, environment: [LaunchVariable], for asker: ControlClient,
    began: ((_ continuation: Identifier, _ app: ChosenApp, _ isShared: Bool) -> Void)?,
    _ answer: @escaping (Result<ColdStartReport, SegueError>) -> Void
  ) { answer(.failure(none)) }
}
