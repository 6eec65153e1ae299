// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

@testable import SegueFleet
@testable import SegueAgentCore

/// Machines of one user with agents, the networks that they are in, and hostile hosts there; in simulated time that
/// advances only by calls. All that decides is the product's, from the socket up: connections, the knock, links, joins,
/// the account, the hub. What stands for TLS and its primitives is as strict (`SimulatedSession`,
/// `StandInCryptography`). All randomness comes from the seed.
final class AccountFleet {
  /// The connections that were dialled.
  private(set) var dials = 0
  /// Steps at one time after which something does not end.
  private static let stepLimit = 20_000

  let seed: UInt64
  let clock = FleetClock()
  let signatures = StandInCryptography.Signatures()
  var random: SeededRandom
  var network = Network()
  private(set) var machines: [Machine] = []
  private(set) var hostiles: [HostileHost] = []
  private(set) lazy var oracle = AccountOracle(self)
  /// Whether beacons are lost, from 0 to 1.
  var beaconLoss = 0.0
  /// Whether all networks reach each other.
  var isRouted = false
  /// Networks that reach each other.
  var routes: [(Int, Int)] = []
  private(set) var log = Trace()
  /// The first broken promise.
  private(set) var violation: String?
  /// The number of the last text that was said over a link (`say`), and the last ones that were heard of each machine.
  private var lastText: UInt64 = 0
  private var heardTexts: [(from: String, at: String, number: UInt64)] = []
  /// The events of this run, for tests that check which cases it has tried.
  private(set) var met: Set<String> = []
  private var queue = EventQueue<() -> Void>()
  private var lastHost = 1

  init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  /// The date by a clock that is right.
  var date: Double { clock.now.date }

  func add(_ machine: Machine) { machines.append(machine) }
  func add(_ hostile: HostileHost) { hostiles.append(hostile) }

  /// A place in a network that nobody has had.
  func newPlace(in network: Int) -> Place {
    lastHost += 1
    return Place(network: network, number: lastHost)
  }

  // MARK: Time

  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    queue.push(body, at: clock.uptime + max(0, milliseconds))
  }

  func advance(_ milliseconds: Int64) {
    let end = clock.uptime + milliseconds
    var steps = 0
    while violation == nil, let next = queue.nextTime, next <= end, let (at, body) = queue.pop() {
      steps = at > clock.uptime ? 0 : steps + 1
      clock.uptime = max(clock.uptime, at)
      body()
      oracle.checkListed()
      checkRelays()
      guard steps < Self.stepLimit else { return report("fleet", "what happens at one time does not end") }
    }
    clock.uptime = max(clock.uptime, end)
  }

  /// R14.3: nobody relays but who may, for devices of the account alone, within its quotas, and over one hop. R14.1: no
  /// link uses a path that its user has forbidden. R7.4: what is said over links is heard once, and in order.
  private func checkRelays() {
    for machine in machines {
      guard let devices = machine.devices else { continue }
      let relays = devices.relays
      if let broken = relays.broken ?? devices.links?.broken { report(machine.name, "\(broken)") }
      if relays.splices > 0 {
        meet("a link through a relay")
        if !devices.settings.isRelaying { report(machine.name, "relays, and its user has not switched that on") }
      }
    }
  }

  // MARK: Texts

  /// Numbers texts from one machine to another: while a link moves from one path to another, none comes twice, or after
  /// a later one.
  func say(from machine: Machine, to other: Machine) {
    guard machine.isAwake, let device = other.snapshot?.identity?.device else { return }
    lastText += 1
    let text = SegueError(.declined, "\(machine.name)/\(lastText)")
    guard let message = try? DeviceMessage.pushed(0, .failure(text)).encoding() else { return }
    machine.sendAccount(message, to: device)
  }

  /// A machine has heard a message.
  func heard(_ message: [UInt8], at machine: Machine) {
    guard case .pushed(0, .failure(let error))? = try? DeviceMessage.known(message) else { return }
    let parts = error.message.split(separator: "/")
    guard parts.count == 2, let number = UInt64(parts[1]) else { return }
    let from = String(parts[0])
    if let index = heardTexts.firstIndex(where: { $0.from == from && $0.at == machine.name }) {
      if number <= heardTexts[index].number {
        report(machine.name, "hears \(error.message) again, or after a later one")
      }
      heardTexts[index].number = number
    } else {
      heardTexts.append((from, machine.name, number))
    }
    meet("a text is heard")
  }

  // MARK: Reports

  func trace(_ who: String, _ what: StaticString, _ detail: String? = nil) { log.add(clock.elapsed, who, what, detail) }

  func meet(_ what: String) { met.insert(what) }

  /// Records a broken promise.
  func report(_ who: String, _ what: String) {
    trace(who, "BROKEN", what)
    if violation == nil { violation = "\(who), \(clock.elapsed) ms: \(what) (seed \(seed))" }
  }

  /// Machines, agents and connections retain each other.
  func tearDown() {
    for machine in machines { machine.crash(isPowerLost: true) }
    while queue.pop() != nil {}
  }
}

extension AccountFleet: NetworkSimulation {
  var uptime: Int64 { clock.uptime }
  func drawDelay() -> Int64 { network.delay(&random) }
  private var hosts: [Host] { machines as [Host] + hostiles as [Host] }
  func host(at place: Place) -> Host? {
    dials += 1
    return hosts.first { $0.place == place }
  }
  func isRouted(_ network: Int, to other: Int) -> Bool {
    isRouted || network == other || routes.contains { $0 == (network, other) || $0 == (other, network) }
  }
  func isCut(_ one: Host, _ other: Host) -> Bool { false }

  func listeners(to host: Host) -> [Host] {
    hosts.filter { $0 !== host && $0.place?.network == host.place?.network && !random.chance(beaconLoss) }
  }
}
