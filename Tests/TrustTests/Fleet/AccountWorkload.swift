// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueFleet
@testable import SegueAgentCore

/// A random life of a user's machines: accounts made, joined, left, recovered; machines that sleep for months, die at
/// any write, move between networks, have wrong clocks, or come back from backups; and hostile hosts. Then a quiet
/// phase: all faults heal, and after a bounded time all that work must be linked and agree; who is out must get in
/// again.
final class AccountWorkload {
  private static let day: Int64 = 86_400_000
  private static let networks = 3
  private static let passphrase = "correct horse battery"
  /// Milliseconds after which machines that reach each other agree: certificates are compared with the date; then a
  /// beacon of each epoch that is answered, the longest pause of a dialler and its next try, and a link's silence.
  static let settlingTime: Int64 = Limits.dateCheck + 60_000 * Int64(Limits.epochs) + 180_000
  /// Milliseconds for a join, and what it is begun again for.
  private static let joiningTime: Int64 = 60_000

  let fleet: AccountFleet
  let household: Household
  private var machines: [Machine] { fleet.machines }
  private var backups: [[UInt8]?] = []
  private var recovery: (account: Identifier, file: [UInt8])?

  init(_ fleet: AccountFleet) {
    self.fleet = fleet
    household = Household(fleet)
  }

  static func run(seed: UInt64, machines: Int, events: Int) -> AccountFleet {
    let fleet = AccountFleet(seed: seed)
    let workload = AccountWorkload(fleet)
    workload.begin(machines)
    for _ in 0..<events where fleet.violation == nil { workload.act() }
    workload.heal()
    workload.settle()
    workload.readmit()
    fleet.tearDown()
    return fleet
  }

  // MARK: The beginning

  private func begin(_ count: Int) {
    for number in 0..<count {
      let machine = Machine("m\(number)", number, in: fleet)
      fleet.add(machine)
      backups.append(nil)
      machine.heardAccount = { [fleet, unowned machine] message in fleet.heard(message, at: machine) }
      machine.move(to: fleet.newPlace(in: 0))
      machine.start()
    }
    for network in 0..<Self.networks {
      let hostile = HostileHost("hostile \(network)", in: fleet)
      hostile.settle(in: network)
      fleet.add(hostile)
    }
    pass(100)
    household.create(machines[0])
    pass(100)
    for machine in machines.dropFirst() where fleet.random.chance(0.8) {
      household.invite(machine, by: machines[0])
      pass(20_000)
    }
  }

  private func pass(_ milliseconds: Int64) {
    for machine in machines { for other in machines where other !== machine { fleet.say(from: machine, to: other) } }
    fleet.advance(milliseconds)
    fleet.oracle.checkLinks()
  }

  // MARK: Events

  private func any() -> Machine { machines[fleet.random.below(machines.count)] }
  private func anyManager() -> Machine? {
    let managers = machines.filter { $0.isAwake && $0.snapshot?.isManager ?? false }
    return managers.isEmpty ? nil : managers[fleet.random.below(managers.count)]
  }

  private func act() {
    let machine = any()
    switch fleet.random.below(41) {
    case 0..<6: join(machine)
    case 6, 7: revoke()
    case 8: household.rename(machine)
    case 9, 10: if machine.isAwake { machine.fallAsleep() } else { machine.awake() }
    case 11, 12: sleepAll()
    case 13..<16: machine.crash(isPowerLost: fleet.random.chance(0.5))
    case 16..<18: failDisk(of: machine)
    case 18..<20: machine.start()
    case 20, 21: setClock(of: machine)
    case 22..<26: move(machine)
    case 26: nameAddresses(of: machine)
    case 27..<31: bother()
    case 31: fleet.beaconLoss = fleet.random.chance(0.5) ? 0 : fleet.random.chance(0.5) ? 0.5 : 1
    case 32: recover(machine)
    case 33: backUp(machine)
    case 34: if fleet.random.chance(0.5) { household.leave(machine, isAbandoning: fleet.random.chance(0.2)) }
    case 35 where fleet.random.chance(0.5): household.acceptTakeOvers(machine)
    case 35: machine.slowness = fleet.random.chance(0.7) ? 5 : 3_000
    case 36: try? fleet.network.setFaults(loss: fleet.random.chance(0.5) ? 0 : 0.2, duplication: 0, reordering: 0.1)
    case 37: setCommand(at: machine)
    case 38: machine.set("relay", .bool(fleet.random.chance(0.7)))
    case 39: reroute()
    case 40: avoid(at: machine)
    default: break
    }
    pass(fleet.random.chance(0.8) ? fleet.random.within(0, 12_000) : fleet.random.within(0, 90_000))
  }

  /// A device joins, and half of the time something goes wrong meanwhile.
  private func join(_ guest: Machine) {
    guard let manager = anyManager(), manager !== guest else { return }
    guest.start()
    guest.awake()
    if fleet.random.chance(0.7), let place = manager.place { guest.move(to: fleet.newPlace(in: place.network)) }
    household.invite(guest, by: manager, isLeaked: fleet.random.chance(0.2))
    guard fleet.random.chance(0.5) else { return pass(10_000) }
    pass(fleet.random.within(0, 8_000))
    let victim = fleet.random.chance(0.5) ? guest : manager
    switch fleet.random.below(4) {
    case 0: victim.crash(isPowerLost: fleet.random.chance(0.5))
    case 1: failDisk(of: victim)
    case 2: move(victim)
    default: victim.fallAsleep()
    }
  }

  private func failDisk(of machine: Machine) {
    machine.disk.fault = [MemoryStorage.Fault.full, .diesBefore, .diesAfter][fleet.random.below(3)]
    machine.disk.faultIn = fleet.random.below(2)
  }

  private func revoke() {
    guard let manager = anyManager(), let devices = manager.snapshot?.devices else { return }
    let others = devices.filter { !$0.isThisDevice }
    guard !others.isEmpty else { return }
    household.revoke(others[fleet.random.below(others.count)].id, by: manager)
  }

  /// Nobody is at home for days.
  private func sleepAll() {
    let awake = machines.filter { $0.isAwake }
    for machine in awake { machine.fallAsleep() }
    let days = [1, 7, 30, 100, 183, 200, 367][fleet.random.below(7)]
    fleet.trace("all", "sleep for", "\(days) days")
    fleet.meet("asleep for \(days) days")
    fleet.advance(Int64(days) * Self.day)
    for machine in awake where fleet.random.chance(0.8) {
      machine.awake()
      fleet.advance(fleet.random.within(0, 10_000))
    }
  }

  private func setClock(of machine: Machine) {
    let day = 86_400.0
    let offsets = [0, 0, 30, -600, 0.9 * day, -2 * day, 3 * day, 400 * day, -400 * day]
    machine.clockOffset = offsets[fleet.random.below(offsets.count)]
  }

  private func move(_ machine: Machine) {
    let network = fleet.random.below(Self.networks + 1)
    machine.move(to: network == Self.networks ? nil : fleet.newPlace(in: network))
  }

  /// One network is reached from the others from now on, or none: then a machine there can relay.
  private func reroute() {
    let middle = fleet.random.below(Self.networks + 1)
    let others = (0..<Self.networks).filter { $0 != middle && middle < Self.networks }
    fleet.trace("all", "reach network", "\(middle)")
    fleet.routes = others.map { ($0, middle) }
  }

  private func nameAddresses(of machine: Machine) {
    var addresses = machines.filter { $0 !== machine && fleet.random.chance(0.5) }.compactMap { $0.listener }
    if fleet.random.chance(0.3), let place = fleet.hostiles[0].place {
      addresses.append(place.address(port: 1))
    }
    machine.name(addresses: addresses)
  }

  /// A command that leads to a device (R14.4), or elsewhere; or none any longer.
  private func setCommand(at machine: Machine) {
    let (meant, other) = (any(), any())
    guard meant !== machine, let device = meant.snapshot?.identity?.device else { return }
    let commands: [HostCommand?] = [
      .leads(to: meant), .leads(to: meant), .leads(to: other), .fails("Permission denied"),
      .says(Array("Welcome!".utf8)), .hangs, nil,
    ]
    fleet.meet("a command")
    machine.set(commands[fleet.random.below(commands.count)], for: device)
  }

  /// A kind of path to a device is not used any longer, or again.
  private func avoid(at machine: Machine) {
    let other = any()
    guard other !== machine, let device = other.snapshot?.identity?.device else { return }
    let cost = PathCost.all[fleet.random.below(PathCost.all.count)]
    fleet.meet("an avoided path")
    machine.avoid(cost, device, isAvoided: fleet.random.chance(0.6))
  }

  private func bother() {
    let hostile = fleet.hostiles[fleet.random.below(fleet.hostiles.count)]
    let machine = any()
    switch fleet.random.below(4) {
    case 0: hostile.replay()
    case 1: hostile.forge()
    case 2: if let address = machine.listener { hostile.bother(address) }
    default:
      // It takes what it has heard along.
      hostile.leave()
      hostile.settle(in: fleet.random.below(Self.networks))
    }
  }

  private func backUp(_ machine: Machine) {
    let index = machines.firstIndex { $0 === machine } ?? 0
    guard fleet.random.chance(0.4), let backup = backups[index] else { return backups[index] = machine.disk.file }
    fleet.meet("restored from a backup")
    machine.restore(backup)
  }

  private func recover(_ machine: Machine) {
    if recovery == nil || fleet.random.chance(0.3) {
      guard let manager = anyManager(), let account = manager.snapshot?.identity?.account else { return }
      manager.devices?.account.use({ account, _ throws(SegueError) in
        ([], try account.recoveryFile(passphrase: Self.passphrase))
      }) { [self] result in if case .success(let file) = result { recovery = (account, file) } }
    } else if let recovery {
      take(recovery.file, machine)
    }
  }

  private func take(_ file: [UInt8], _ machine: Machine) {
    machine.devices?.account.use({ account, now throws(SegueError) in
      (try account.recover(file, passphrase: Self.passphrase, at: now), ())
    }) { [fleet] (result: Result<Void, SegueError>) in
      if case .success = result { fleet.trace(machine.name, "has become the manager") }
    }
  }

  // MARK: The quiet phase

  private func heal() {
    fleet.trace("all", "is well again")
    fleet.network = Network()
    fleet.routes = []
    fleet.beaconLoss = 0
    for hostile in fleet.hostiles { hostile.leave() }
    household.isWilling = true
    for machine in machines {
      machine.slowness = 5
      machine.disk.faultIn = nil
      machine.clockOffset = fleet.random.chance(0.5) ? 0 : 60
      machine.awake()
      if machine.place?.network != 0 { machine.move(to: fleet.newPlace(in: 0)) }
      machine.start()
    }
    // Once what it has set is read.
    fleet.advance(10_000)
    useAll()
  }

  private func useAll() {
    for machine in machines {
      for record in machine.settings.records.all {
        for cost in record.avoided { machine.avoid(cost, record.device, isAvoided: false) }
      }
    }
  }

  private func settle() {
    guard fleet.violation == nil else { return }
    let end = fleet.clock.uptime + Self.settlingTime
    // After this pass the remains of the faults, such as a join, are over.
    repeat {
      pass(35_000)
      for machine in machines { household.acceptTakeOvers(machine) }
      useAll()
    } while fleet.violation == nil && fleet.clock.uptime < end && fleet.oracle.disagreement() != nil
    if let disagreement = fleet.oracle.disagreement() { fleet.report("fleet", disagreement) }
  }

  /// Each device that is out leaves its account, and joins again: none is out for ever.
  private func readmit() {
    // A join that has stuck holds others up until its time is over.
    if machines.contains(where: { $0.died != nil }) { pass(Limits.joinApproval + 2 * Limits.joinStep) }
    guard fleet.violation == nil else { return }
    let isGoodManager = { [fleet] (machine: Machine) in
      fleet.oracle.isGood(machine) && fleet.oracle.leads(machine)
    }
    if !machines.contains(where: isGoodManager), let recovery {
      let heir = machines.first { machine in
        fleet.oracle.isGood(machine) && machine.snapshot?.identity?.account == recovery.account
      }
      if let heir {
        fleet.meet("an heir")
        take(recovery.file, heir)
        pass(10_000)
      }
    }
    guard let manager = machines.first(where: isGoodManager) else { return }
    let account = manager.snapshot?.identity?.account
    for machine in machines {
      if fleet.oracle.isGood(machine), machine.snapshot?.identity?.account == account { continue }
      let problem = fleet.oracle.problem(of: machine) ?? "another account"
      fleet.meet("out: \(problem)")
      household.leave(machine, isAbandoning: true)
      pass(2_000)
      household.invite(machine, by: manager)
      pass(Self.joiningTime)
      guard fleet.oracle.isGood(machine), machine.snapshot?.identity?.account == account else {
        let rest = fleet.oracle.problem(of: machine) ?? "in another account"
        return fleet.report(machine.name, "cannot join again: \(rest); it was out: \(problem)")
      }
      fleet.meet("readmitted")
    }
    settle()
  }
}
