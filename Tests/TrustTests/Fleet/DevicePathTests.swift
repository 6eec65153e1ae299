// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Two agents that reach each other by names and by what they have told, never by a beacon (R14.1, R14.2).
@Suite struct DevicePathTests {
  private let fleet = AccountFleet(seed: 1)
  private let household: Household
  private let home: Machine
  private let laptop: Machine

  init() {
    household = Household(fleet)
    household.isWilling = true
    (home, laptop) = (Machine("home", 0, in: fleet), Machine("laptop", 1, in: fleet))
    for machine in [home, laptop] {
      fleet.add(machine)
      machine.move(to: fleet.newPlace(in: 0))
      machine.start()
    }
    fleet.beaconLoss = 1
    fleet.advance(100)
    household.create(home)
    fleet.advance(100)
    household.invite(laptop, by: home)
    fleet.advance(20_000)
  }

  private func end() {
    if let violation = fleet.violation { Issue.record("\(violation)\n\(fleet.log.lines)") }
    fleet.tearDown()
  }

  private func device(_ machine: Machine) throws -> Identifier { try #require(machine.snapshot?.identity?.device) }

  private func isLinked(_ machine: Machine, with other: Machine) -> Bool {
    guard let device = other.snapshot?.identity?.device else { return false }
    return machine.devices?.links?.devices.contains(device) ?? false
  }

  private var areLinked: Bool { isLinked(home, with: laptop) && isLinked(laptop, with: home) }

  /// The laptop goes to a network that nobody knows, from which there is a way home; home has another address since.
  private func leaveHouse() {
    laptop.move(to: nil)
    fleet.advance(40_000)
    home.move(to: fleet.newPlace(in: 1))
    fleet.advance(1_000)
    fleet.isRouted = true
  }

  private func add(_ address: String, of machine: Machine, at other: Machine) throws -> SegueError? {
    var failure: SegueError?
    var isDone = false
    try #require(other.devices).changeAddress(address, of: device(machine), isAdded: true) { result in
      isDone = true
      if case .failure(let error) = result { failure = error }
    }
    fleet.advance(200)
    #expect(isDone)
    return failure
  }

  private func found(_ machines: Machine...) -> NameLookup {
    .addresses(machines.compactMap { $0.place?.address(port: 0) })
  }

  @Test func `R14.2 a device is linked by its name, without multicast`() throws {
    #expect(areLinked)
    leaveHouse()
    laptop.resolver = { [home, self] name in name.text == "home.example" ? found(home) : .failed("no") }
    laptop.move(to: fleet.newPlace(in: 2))
    fleet.advance(20_000)
    #expect(!areLinked && laptop.lookUps == [])
    // The port is the one that home has told.
    #expect(try add("home.example", of: home, at: laptop) == nil)
    fleet.advance(1_000)
    #expect(areLinked && laptop.lookUps == ["home.example"])
    // No look-up follows while it is linked.
    fleet.advance(600_000)
    #expect(areLinked && laptop.lookUps.count == 1)
    end()
  }

  /// Whether the laptop is linked with home by a command.
  private func usesCommand() throws -> Bool {
    guard areLinked, case .command = laptop.devices?.links?.path(to: try device(home)) else { return false }
    guard case .command = home.devices?.links?.path(to: try device(laptop)) else { return false }
    return true
  }

  private func reason() throws -> String {
    let reports = try #require(laptop.devices?.links).reports(of: device(home))
    for report in reports where report.cost == .command {
      if case .failed(let reason) = report.state { return reason }
    }
    return ""
  }

  @Test func `R14.4 a device is linked by a command, where no address leads, and by an address again`() throws {
    leaveHouse()
    fleet.isRouted = false
    laptop.move(to: fleet.newPlace(in: 2))
    laptop.set(.leads(to: home), for: try device(home))
    fleet.advance(10_000)
    #expect(try usesCommand())
    // Both ends find the same cost, so that the link moves once they are in one network.
    let place = try #require(laptop.place)
    home.move(to: fleet.newPlace(in: place.network))
    fleet.beaconLoss = 0
    fleet.advance(120_000)
    #expect(areLinked)
    #expect(try !usesCommand())
    end()
  }

  @Test func `R14.4 a command that is taken back ends its link, and an agent that starts again reads the rest`() throws
  {
    leaveHouse()
    fleet.isRouted = false
    laptop.move(to: fleet.newPlace(in: 2))
    laptop.set(.leads(to: home), for: try device(home))
    fleet.advance(10_000)
    #expect(try usesCommand())
    laptop.crash(isPowerLost: false)
    laptop.start()
    fleet.advance(40_000)
    #expect(try usesCommand())
    laptop.set(nil, for: try device(home))
    fleet.advance(600_000)
    #expect(!areLinked)
    end()
  }

  @Test func `R14.4 a command that is set again with other words ends the link of the former ones at once`() throws {
    leaveHouse()
    fleet.isRouted = false
    laptop.move(to: fleet.newPlace(in: 2))
    laptop.set(.leads(to: home), for: try device(home))
    fleet.advance(10_000)
    #expect(try usesCommand())
    // Read again as it is, nothing happens.
    laptop.devices?.readCommands()
    fleet.advance(1_000)
    #expect(try usesCommand())
    laptop.set(.fails("Permission denied"), for: try device(home))
    fleet.advance(1_000)
    #expect(!areLinked)
    fleet.advance(10_000)
    #expect(try reason().hasPrefix("Permission denied"))
    laptop.set(.leads(to: home), for: try device(home))
    fleet.advance(10_000)
    #expect(try usesCommand())
    end()
  }

  private func avoid(_ word: String, _ other: Machine, at machine: Machine, isAvoided: Bool = true) throws {
    var isDone = false
    try #require(machine.devices).changePath(word, to: device(other), isAvoided: isAvoided) { result in
      if case .success = result { isDone = true }
    }
    fleet.advance(200)
    #expect(isDone)
  }

  private func state(of cost: PathCost) throws -> [PathReport.State] {
    try #require(laptop.devices?.links).reports(of: device(home)).filter { $0.cost == cost }.map { $0.state }
  }

  @Test(arguments: [true, false])
  func `R14.1 a path that its user forbids ends, and is neither dialled nor taken, until it is allowed`(
    isDialling: Bool
  ) throws {
    #expect(areLinked)
    let (one, other) = isDialling ? (laptop, home) : (home, laptop)
    try avoid("same network", other, at: one)
    #expect(!areLinked)
    // Both dial, and beacons are heard.
    fleet.beaconLoss = 0
    fleet.advance(120_000)
    #expect(!areLinked)
    #expect(one.settings.records[try device(other)]?.avoided == [.neighbour])
    one.crash(isPowerLost: false)
    one.start()
    fleet.advance(60_000)
    #expect(!areLinked)
    // A path of another kind is used.
    laptop.set(.leads(to: home), for: try device(home))
    fleet.advance(30_000)
    #expect(try usesCommand())
    fleet.advance(120_000)
    #expect(try usesCommand())
    if isDialling {
      #expect(try state(of: .neighbour).contains { if case .avoided = $0 { true } else { false } })
    }
    try avoid("same network", other, at: one, isAvoided: false)
    fleet.advance(120_000)
    #expect(areLinked)
    #expect(try !usesCommand())
    end()
  }

  @Test func `R14.1 a command is not started while its kind is avoided`() throws {
    leaveHouse()
    fleet.isRouted = false
    laptop.move(to: fleet.newPlace(in: 2))
    try avoid("command", home, at: laptop)
    laptop.set(.leads(to: home), for: try device(home))
    fleet.advance(600_000)
    #expect(!areLinked)
    #expect(try state(of: .command).contains { if case .avoided = $0 { true } else { false } })
    try avoid("command", home, at: laptop, isAvoided: false)
    fleet.advance(10_000)
    #expect(try usesCommand())
    end()
  }

  @Test func `R14.1 only kinds of paths to other devices of the account can be avoided`() throws {
    let devices = try #require(laptop.devices)
    let own = try device(laptop)
    let other = try device(home)
    for (word, device) in [("relay", own), ("relay", Identifier(high: 7, low: 7)), ("", other), ("near", other)] {
      #expect(throws: SegueError.self) { try devices.changePath(word, to: device, isAvoided: true) { _ in } }
    }
    end()
  }

  @Test func `R14.4 commands that fail say why, and the device is linked once one leads there`() throws {
    leaveHouse()
    fleet.isRouted = false
    laptop.move(to: fleet.newPlace(in: 2))
    laptop.set(.fails("Host key verification failed."), for: try device(home))
    fleet.advance(10_000)
    #expect(try reason() == "Host key verification failed. (the command ended with status 255)")
    laptop.set(.leads(to: laptop), for: try device(home))
    fleet.advance(400_000)
    #expect(try reason() == "the connection leads back to this device")
    laptop.set(.hangs, for: try device(home))
    fleet.advance(800_000)
    #expect(try reason().contains("no link within 30000 ms"))
    #expect(!areLinked)
    laptop.set(.leads(to: home), for: try device(home))
    fleet.advance(400_000)
    #expect(try usesCommand())
    end()
  }

  @Test func `R14.4 a command that leads to another device of the account is no link with that one`() throws {
    let tablet = Machine("tablet", 2, in: fleet)
    fleet.add(tablet)
    tablet.move(to: fleet.newPlace(in: 0))
    tablet.start()
    fleet.advance(100)
    household.invite(tablet, by: home)
    fleet.advance(60_000)
    #expect(isLinked(tablet, with: home))
    leaveHouse()
    fleet.isRouted = false
    tablet.move(to: fleet.newPlace(in: 3))
    laptop.move(to: fleet.newPlace(in: 2))
    laptop.set(.leads(to: tablet), for: try device(home))
    fleet.advance(60_000)
    #expect(!isLinked(laptop, with: tablet) && !isLinked(tablet, with: laptop) && !areLinked)
    laptop.set(.leads(to: tablet), for: try device(tablet))
    fleet.advance(60_000)
    #expect(isLinked(laptop, with: tablet) && isLinked(tablet, with: laptop) && !areLinked)
    end()
  }

  @Test func `R14.4 the command of a device that is put out of the account is not started again`() throws {
    home.move(to: nil)
    fleet.advance(60_000)
    home.set(.fails("Permission denied"), for: try device(laptop))
    fleet.advance(1_000)
    let links = try #require(home.devices?.links)
    let gone = try device(laptop)
    #expect(links.reports(of: gone).contains { $0.cost == .command })
    household.revoke(gone, by: home)
    fleet.advance(5_000)
    #expect(!links.reports(of: gone).contains { $0.cost == .command })
    end()
  }

  @Test func `R14.2 a name that leads elsewhere at each look-up is looked up until it leads there`() throws {
    leaveHouse()
    var others = (0..<3).map { fleet.newPlace(in: 7 + $0) }
    laptop.resolver = { [home, self] _ in
      others.isEmpty ? found(home) : .addresses([others.removeFirst().address(port: 0)])
    }
    laptop.move(to: fleet.newPlace(in: 2))
    #expect(try add("home.example:40000", of: home, at: laptop) == nil)
    fleet.advance(90_000)
    #expect(areLinked && laptop.lookUps.count == 4)
    end()
  }

  @Test func `R14.2 a resolver that never answers holds up no other path`() throws {
    leaveHouse()
    laptop.resolver = { _ in nil }
    laptop.move(to: fleet.newPlace(in: 2))
    for number in 0..<6 { #expect(try add("home\(number).example", of: home, at: laptop) == nil) }
    fleet.advance(1_000)
    #expect(!areLinked && laptop.openLookUps <= NameLookup.limit)
    let address = try #require(home.listener)
    #expect(try add(address.text, of: home, at: laptop) == nil)
    fleet.advance(2_000)
    #expect(areLinked)
    end()
  }

  @Test func `R14.2 names that lead nowhere, or to this device, are told with their reasons`() throws {
    leaveHouse()
    laptop.resolver = { [laptop, self] name in
      switch name.text {
      case "self.example": found(laptop)
      case "loop.example": .addresses([try! NetworkAddress.read("127.0.0.1:1").with(port: 0)])
      default: .failed("\(name.text): the name is not found")
      }
    }
    laptop.move(to: fleet.newPlace(in: 2))
    for name in ["self.example:40001", "loop.example", "none.example"] {
      #expect(try add(name, of: home, at: laptop) == nil)
    }
    fleet.advance(30_000)
    #expect(!areLinked)
    let reports = try #require(laptop.devices?.links?.reports(of: device(home)))
    let told = reports.map { report in
      if case .failed(let reason) = report.state { "\(report.address): \(reason)" } else { report.address }
    }
    #expect(told.contains { $0.contains("none.example: the name is not found") }, "\(told)")
    end()
  }

  @Test func `R14.1 a device that has told its addresses is found again without multicast, after a restart too`() throws
  {
    #expect(areLinked)
    // Both have told it, and it is stored.
    fleet.advance(70_000)
    for machine in [home, laptop] { machine.crash(isPowerLost: true) }
    fleet.advance(1_000)
    for machine in [home, laptop] { machine.start() }
    fleet.advance(10_000)
    #expect(areLinked)
    end()
  }

  @Test func `R14.1 another address is told over the link, so that the next link needs no beacon`() throws {
    fleet.isRouted = true
    home.move(to: fleet.newPlace(in: 1))
    // The laptop has told where it is: home dials it from its new network.
    fleet.advance(15_000)
    #expect(areLinked)
    // Home has told its new place, by which the laptop finds it although it has moved itself.
    laptop.move(to: fleet.newPlace(in: 2))
    fleet.advance(15_000)
    #expect(areLinked)
    let record = try #require(laptop.devices?.settings.records[device(home)])
    #expect(record.told.map { Place($0) } == [home.place] && record.port == 40_000)
    end()
  }

  @Test func `R14.2 addresses of a device that leaves the account are forgotten`() throws {
    #expect(try add("home.example", of: home, at: laptop) == nil)
    household.leave(laptop, isAbandoning: false)
    fleet.advance(5_000)
    #expect(laptop.settings.records.all.isEmpty && home.settings.records.all.isEmpty)
    end()
  }

  @Test func `R14.2 an address is for another device of the account, and a port has to be known`() throws {
    #expect(throws: SegueError.self) {
      try laptop.devices?.changeAddress("a.example", of: Identifier(high: 7, low: 7), isAdded: true) { _ in }
    }
    #expect(throws: SegueError.self) {
      try laptop.devices?.changeAddress("a.example", of: device(laptop), isAdded: true) { _ in }
    }
    #expect(try add("a.example", of: home, at: laptop) == nil)
    end()
  }

  @Test func `R14.1 without discovery a device tells its port alone, and dials what its user has set`() throws {
    for machine in [home, laptop] { machine.set("discovery", .bool(false)) }
    fleet.advance(70_000)
    for machine in [home, laptop] { #expect(machine.settings.records.all.map { $0.port }.allSatisfy { $0 > 0 }) }
    #expect(laptop.settings.records.all.allSatisfy { $0.told.isEmpty })
    for machine in [home, laptop] { machine.crash(isPowerLost: true) }
    fleet.advance(1_000)
    for machine in [home, laptop] { machine.start() }
    fleet.advance(60_000)
    #expect(!areLinked)
    let address = try #require(home.place?.address(port: 0)).host
    #expect(try add(address, of: home, at: laptop) == nil)
    fleet.advance(2_000)
    #expect(areLinked)
    end()
  }
}
