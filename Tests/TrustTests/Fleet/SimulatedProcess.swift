// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

@testable import SegueFleet
@testable import SegueAgentCore

/// The process of an agent on a machine: what decides in it is what ships (`DeviceService`, and the hub), and this is
/// what they run in.
final class SimulatedProcess: AgentEnvironment {
  unowned let machine: Machine
  private(set) var isOver = false
  private(set) lazy var sockets = HostSockets(of: machine, port: machine.port, in: self)
  private(set) var devices: DeviceService?
  private(set) var hub: SimulatedHub?
  private var fleet: AccountFleet { machine.fleet }

  init(on machine: Machine) { self.machine = machine }

  func start() throws(SegueError) {
    let hub = SimulatedHub(in: self)
    self.hub = hub
    let devices = try DeviceService(
      in: self, over: SimulatedTransport(sockets),
      SimulatedSecurity(machine.cryptography) { [machine] in machine.now.seconds },
      hub, SimulatedStorage(AccountService(storage: machine.disk, cryptography: machine.cryptography), on: self),
      NoInbox(), resolving: self)
    self.devices = devices
    try devices.open()
  }

  /// The process is gone.
  func drop(isPowerLost: Bool) {
    isOver = true
    sockets.drop(isPowerLost: isPowerLost)
    // Objects that refer to each other without counting go together, once no call is under way.
    let kept = (devices, hub)
    fleet.later(0) { withExtendedLifetime(kept) {} }
    (devices, hub) = (nil, nil)
  }

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
  func makeTimer(for owner: any AgentTimerOwner) -> any AgentTimer {
    SimulatedTimer(of: owner, in: self) { [unowned self] time, body in later(time, body) }
  }

  func log(_ severity: Severity, _ message: DiagnosticText) {
    if severity.rawValue <= Severity.info.rawValue { fleet.trace(machine.name, "says", message.string) }
  }
}

extension SimulatedProcess: SocketProcess {}

extension SimulatedProcess: AccountMachine {
  var settings: DeviceSettings {
    get { machine.settings }
    set { machine.settings = newValue }
  }
  func drawDiskTime() -> Int64 { fleet.random.within(0, machine.slowness) }
  func drawAnswerTime() -> Int64 { fleet.random.within(0, 2) }

  func hasUsedDisk() -> Bool {
    fleet.oracle.look(at: machine)
    guard machine.disk.isDead else { return true }
    machine.crash(isPowerLost: fleet.random.chance(0.5))
    return false
  }
}

/// Nothing is pushed here.
final class NoInbox: RetainingInbox {
  weak var observer: (any InboxObserver)?
  var ownOffers: [Offer] { [] }
  var retainedOffers: [KeptRecord] { [] }
  func retentionProblem(of device: Identifier) -> SegueError? { nil }
  func retain(_ wanted: [RetainedOrigin], for device: Identifier) {}
  func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?) {}
  var retentionProblem: SegueError? { nil }
  func keepPush(_ push: RetainedOrigin, _ done: @escaping (SegueError?) -> Void) {}
  func dropPushes(_ ids: [Identifier], of device: Identifier) {}
  var duePushes: [RetainedOrigin] { [] }
  func toldPush(_ activity: Identifier) {}
  func answeredPush(_ activity: Identifier, _ error: SegueError?) {}
  func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void) {}
  func noteTaken(_ push: PushMark) {}
  private var none: SegueError { SegueError(.notFound, "no such offer") }

  func look(for activity: Identifier, wanted: String?, _ done: @escaping (Result<AppChoice, SegueError>) -> Void) {}
  func choice(for activity: Identifier, wanted: String?) -> Result<AppChoice, SegueError> { .failure(none) }
  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp { throw none }

  func `continue`(
    _ activity: Identifier, app: String?, timeout: Int64?, environment: [LaunchVariable], for requester: ControlClient,
    retained: PushMark?, began: ((_ continuation: Identifier, _ app: ChosenApp, _ isShared: Bool) -> Void)?,
    _ answer: @escaping (Result<AgentContinuationReport, SegueError>) -> Void
  ) { answer(.failure(none)) }
}

extension SimulatedProcess: NameResolver {
  /// One that gets no answer is killed, as the process is that looks names up.
  func resolve(_ name: DeviceHostName, _ done: @escaping (NameLookup) -> Void) {
    machine.lookUps.append(name.text)
    machine.openLookUps += 1
    let found = machine.resolver(name)
    later(found == nil ? NameLookup.time : 20) { [machine] in
      machine.openLookUps -= 1
      done(found ?? NameLookupOutput.decode([], of: name))
    }
  }
}
