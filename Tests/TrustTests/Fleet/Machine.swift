// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import SegueWire

@testable import SegueFleet
@testable import SegueAgentCore

/// A machine of the user: its disk and clock stay, its agent comes and goes, and it sleeps.
final class Machine: Host {
  unowned let fleet: AccountFleet
  let port: UInt16
  let cryptography: StandInCryptography
  private(set) var disk = MemoryStorage()
  private var process: SimulatedProcess?
  /// The settings of its agents, on its disk.
  var settings = DeviceSettings()
  /// Looks a name up for its agent (R14.2); nil: no answer comes.
  var resolver: (DeviceHostName) -> NameLookup? = { .failed("\($0.text): the name is not found") }
  /// The names that its agents have looked up, and those that are being looked up now.
  var (lookUps, openLookUps): ([String], Int) = ([], 0)
  /// Seconds by which its clock is ahead.
  var clockOffset = 0.0 {
    didSet { fleet.trace(name, "has its clock ahead by", "\(Int(clockOffset)) s") }
  }
  /// The most milliseconds until what was written is on the disk.
  var slowness: Int64 = 5
  /// Milliseconds that it has slept; while it sleeps, until then.
  private(set) var slept: Int64 = 0
  private var asleepAt: Int64 = 0

  init(_ name: String, _ number: Int, in fleet: AccountFleet) {
    port = UInt16(40_000 + number)
    cryptography = StandInCryptography(fleet.signatures, seed: fleet.seed &* 64 &+ UInt64(number))
    self.fleet = fleet
    super.init(name, in: fleet)
  }

  var now: Instant {
    let now = fleet.clock.now
    return Instant(uptime: now.uptime, date: now.date + clockOffset)
  }

  var listener: NetworkAddress? { place.map { $0.address(port: port) } }

  // MARK: The agent

  /// The service of its agent; nil while none runs.
  var devices: DeviceService? { process?.devices }
  var snapshot: AccountSnapshot? { devices?.snapshot }
  /// Called when its agent dies.
  var died: (() -> Void)?

  func start() {
    guard process == nil else { return }
    disk = MemoryStorage(disk.file)
    fleet.trace(name, "starts")
    let process = SimulatedProcess(on: self)
    self.process = process
    do throws(SegueError) { try process.start() } catch { fleet.report(name, error.message) }
  }

  /// Does something later, if its agent lives then.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) { process?.later(milliseconds, body) }

  /// - Parameter isPowerLost: nobody is told; otherwise the system closes its connections.
  func crash(isPowerLost: Bool) {
    guard let process else { return }
    fleet.trace(name, isPowerLost ? "loses its power" : "has its agent killed")
    self.process = nil
    process.drop(isPowerLost: isPowerLost)
    let died = self.died
    self.died = nil
    died?()
  }

  /// The machine has again what it had once.
  func restore(_ file: [UInt8]?) {
    crash(isPowerLost: true)
    fleet.trace(name, "is restored from a backup")
    disk = MemoryStorage(file)
    fleet.oracle.restored(self)
    start()
  }

  /// Its user names addresses.
  func name(addresses: [NetworkAddress]) {
    if let texts = try? Value.array(addresses.map { .string($0.text) }) { set("addresses", texts) }
  }

  /// The user sets something about other devices.
  func set(_ key: String, _ value: Value) {
    guard isAwake, let devices, let ask = try? Value.dictionary([(key: .string(key), value: value)]) else { return }
    devices.set(ask) { _ in }
  }

  /// Its user has a kind of path to a device used no longer, or again.
  func avoid(_ cost: PathCost, _ device: Identifier, isAvoided: Bool) {
    fleet.trace(name, isAvoided ? "avoids" : "uses", String(describing: cost.word))
    try? devices?.changePath(String(describing: cost.word), to: device, isAvoided: isAvoided) { _ in }
  }

  /// Its user sets the command for a device, or takes it back.
  func set(_ command: HostCommand?, for device: Identifier) {
    setCommand(command, for: device)
    fleet.trace(name, command == nil ? "has no command to" : "has a command to", device.fingerprint)
    devices?.readCommands()
  }

  // MARK: What its hub hears and says about the account

  /// Called with each message of another device.
  var heardAccount: ((_ message: [UInt8]) -> Void)?
  /// Called with each frame of a relay that another device sends.
  var heardFrame: ((_ frame: RelayFrame) -> Void)?
  /// Its way to pass bytes on as a relay, if it was modified.
  var tampering: RelayTampering?
  var tamperer = RelayTamperer()

  /// Says something to a linked device that no agent would.
  func sendAccount(_ message: [UInt8], to device: Identifier) { process?.hub?.sendAccount(message, to: device) }

  // MARK: Sleep, networks

  override func fallAsleep() {
    guard isAwake else { return }
    fleet.trace(name, "falls asleep")
    asleepAt = fleet.clock.uptime
    super.fallAsleep()
  }

  override func awake() {
    guard !isAwake else { return }
    slept += fleet.clock.uptime - asleepAt
    fleet.trace(name, "wakes up")
    super.awake()
  }

  override func move(to place: Place?) {
    guard place != self.place else { return }
    fleet.trace(name, "is at", place.map { $0.address(port: 0).host } ?? "no network")
    super.move(to: place)
    later(0) { [weak self] in self?.process?.sockets.hasMoved() }
  }

  override func listens(at port: UInt16) -> Bool { process?.sockets.listens(at: port) ?? false }
  override func accept(_ wire: Wire, at port: UInt16) { process?.sockets.accept(wire, at: port) }
  override func heard(_ beacon: [UInt8], from place: Place) { process?.sockets.heard(beacon, from: place) }
}
