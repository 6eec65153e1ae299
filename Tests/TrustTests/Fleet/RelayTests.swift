// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Two agents without a route to each other, and others that reach both (R14.3).
@Suite struct RelayTests {
  private let house: RelayHouse

  init() { house = RelayHouse(relays: 2) }

  @Test func `R14.3 two devices are linked through a third if its user wants it, and only as long`() throws {
    let (laptop, phone, home) = (house.laptop, house.phone, house.relays[0])
    #expect(!house.areLinked)
    #expect(try house.reasons(at: laptop, of: phone).contains("home 0 does not pass bytes on"))
    home.set("relay", .bool(true))
    house.fleet.advance(2_000)
    #expect(house.areLinked)
    #expect(try house.used(at: laptop, of: phone) == "through home 0")
    #expect(try house.used(at: phone, of: laptop) == "through home 0")
    #expect(house.splices == 1)
    // An idle link lives, by its heartbeats.
    house.fleet.advance(120_000)
    #expect(house.areLinked && house.splices == 1)
    home.set("relay", .bool(false))
    house.fleet.advance(1_000)
    #expect(!house.areLinked && house.splices == 0)
    #expect(try house.reasons(at: laptop, of: phone).contains("home 0 does not pass bytes on"))
    house.end()
  }

  @Test func `R14.3 a better path is taken at once, and a relay when that is dead`() throws {
    house.relays[0].set("relay", .bool(true))
    house.fleet.advance(10_000)
    #expect(house.areLinked && house.splices == 1)
    let ends = house.ends
    house.fleet.routes.append((RelayHouse.laptopNetwork, RelayHouse.phoneNetwork))
    let address = try #require(house.phone.listener).text
    try #require(house.laptop.devices).changeAddress(address, of: house.device(house.phone), isAdded: true) { _ in }
    house.fleet.advance(8_000)
    #expect(house.areLinked && house.splices == 0)
    #expect(try house.used(at: house.laptop, of: house.phone) == address)
    // All that both hubs share has moved.
    #expect(house.ends == ends)
    house.fleet.routes.removeLast()
    house.fleet.advance(60_000)
    #expect(house.areLinked && house.splices == 1)
    house.end()
  }

  @Test func `R14.1 a relay is not used while its kind is avoided, at whichever end`() throws {
    house.relays[0].set("relay", .bool(true))
    house.fleet.advance(5_000)
    #expect(house.areLinked)
    for (one, other) in [(house.laptop, house.phone), (house.phone, house.laptop)] {
      try #require(one.devices).changePath("relay", to: house.device(other), isAvoided: true) { _ in }
      house.fleet.advance(1_000)
      #expect(!house.areLinked && house.splices == 0)
      house.fleet.advance(120_000)
      #expect(!house.areLinked && house.splices == 0)
      #expect(try house.reasons(at: other, of: one).contains("\(one.name) takes no connection through home 0 now"))
      try #require(one.devices).changePath("relay", to: house.device(other), isAvoided: false) { _ in }
      house.fleet.advance(120_000)
      #expect(house.areLinked && house.splices == 1)
    }
    house.end()
  }

  @Test func `R7.4 while a link moves to a better path and back, all is heard once and in order`() throws {
    house.relays[0].set("relay", .bool(true))
    house.fleet.advance(10_000)
    #expect(house.areLinked && house.splices == 1)
    let heard = house.heardTexts.count
    var said: [String] = []
    func talk(_ milliseconds: Int64) throws {
      for _ in 0..<(milliseconds / 50) {
        said.append("text \(said.count)")
        let message = DeviceMessage.pushed(0, .failure(SegueError(.declined, "\(said[said.count - 1])")))
        house.laptop.sendAccount(try message.encoding(), to: try house.device(house.phone))
        house.fleet.advance(50)
      }
    }
    let address = try #require(house.phone.listener).text
    try #require(house.laptop.devices).changeAddress(address, of: house.device(house.phone), isAdded: true) { _ in }
    for _ in 0..<4 {
      house.fleet.routes.append((RelayHouse.laptopNetwork, RelayHouse.phoneNetwork))
      // The phone has another address there, as when a cable is plugged in.
      house.laptop.move(to: house.fleet.newPlace(in: RelayHouse.laptopNetwork))
      try talk(10_000)
      #expect(house.areLinked && house.splices == 0)
      // One end notices that the way has gone.
      house.fleet.routes.removeLast()
      house.laptop.move(to: house.fleet.newPlace(in: RelayHouse.laptopNetwork))
      try talk(10_000)
      #expect(house.areLinked && house.splices == 1)
    }
    house.fleet.advance(5_000)
    #expect(Array(house.heardTexts.dropFirst(heard)) == said)
    house.end()
  }

  @Test func `R14.3 the other relay takes the place of one that goes`() throws {
    for relay in house.relays { relay.set("relay", .bool(true)) }
    house.fleet.advance(5_000)
    #expect(house.areLinked && house.splices == 1)
    let used = try #require(house.relays.first { house.splices(of: $0) == 1 })
    used.crash(isPowerLost: false)
    house.fleet.advance(5_000)
    #expect(house.areLinked && house.splices == 1)
    used.start()
    house.fleet.advance(10_000)
    #expect(house.areLinked && house.splices == 1)
    house.end()
  }

  @Test func `A22 a relay that is revoked loses the role within a second`() throws {
    house.relays[0].set("relay", .bool(true))
    house.fleet.advance(5_000)
    #expect(house.areLinked)
    house.household.revoke(try house.device(house.relays[0]), by: house.laptop)
    house.fleet.advance(1_000)
    #expect(!house.areLinked && house.splices == 0)
    house.fleet.advance(60_000)
    #expect(!house.areLinked && house.splices == 0)
    house.end()
  }

  @Test func `A22 so does a device that uses one, and is revoked`() throws {
    house.relays[0].set("relay", .bool(true))
    house.fleet.advance(5_000)
    house.household.revoke(try house.device(house.phone), by: house.laptop)
    house.fleet.advance(1_000)
    #expect(!house.areLinked && house.splices == 0)
    house.end()
  }

  @Test func `A23 no path leads through two relays`() throws {
    // The first reaches the laptop alone, the second the phone alone: and both each other.
    house.fleet.routes = [
      (RelayHouse.laptopNetwork, RelayHouse.relayNetwork), (RelayHouse.phoneNetwork, RelayHouse.relayNetwork + 1),
      (RelayHouse.relayNetwork, RelayHouse.relayNetwork + 1),
    ]
    for relay in house.relays { relay.set("relay", .bool(true)) }
    house.fleet.advance(120_000)
    // Each relay is linked with the far end through the other one, and does not pass that on.
    #expect(!house.areLinked)
    #expect(try house.used(at: house.relays[0], of: house.phone) == "through home 1")
    #expect(try house.used(at: house.relays[1], of: house.laptop) == "through home 0")
    house.end()
  }

  @Test func `A23 a member that opens 10,000 channels is refused, and harms nobody`() throws {
    let (home, hostile) = (house.relays[0], house.relays[1])
    home.set("relay", .bool(true))
    house.fleet.advance(5_000)
    #expect(house.areLinked)
    let (target, relay) = (try house.device(house.phone), try house.device(home))
    var (ends, opened): ([RelayEnd], Int) = ([], 0)
    // Its agent, which has asked for none, ends them at once.
    hostile.heardAccount = { message in if case .fromRelay(_, .opened)? = try? RelayMessage(message) { opened += 1 } }
    hostile.heardFrame = { frame in
      if case .fromRelay(_, .closed(let end)) = RelayMessage(frame) { ends.append(end) }
    }
    for round in 0..<100 {
      for number in 0..<100 {
        let channel = UInt32(1_000_000_001 + 2 * (100 * round + number))
        guard case .message(let open) = try RelayMessage.toRelay(channel, .open(target)).form else { continue }
        hostile.sendAccount(open, to: relay)
      }
      house.fleet.advance(20)
    }
    house.fleet.advance(10_000)
    #expect(ends.count + opened == 10_000)
    #expect(ends.filter { $0 == .tooMany || $0 == .tooOften }.count > 9_900)
    #expect(house.areLinked && house.splices == 1)
    house.end()
  }

  /// The log of the one in the middle: the times and lengths of what it passes on.
  private func log(ofNames names: [String]) throws -> [String] {
    let house = RelayHouse(relays: 1, names: names)
    house.relays[0].set("relay", .bool(true))
    var seen: [String] = []
    house.relays[0].heardFrame = { [fleet = house.fleet] frame in
      if case .toRelay(_, .data(let offset, let bytes)) = RelayMessage(frame) {
        seen.append("\(fleet.clock.elapsed) \(offset) \(bytes.count)")
      }
    }
    house.fleet.advance(5_000)
    #expect(house.areLinked)
    for machine in [house.laptop, house.phone] {
      let other = machine === house.laptop ? house.phone : house.laptop
      // A message of a later version is heard, and ignored.
      let message = try Value.array([.unsigned(23), .string(names[2])]).encoding
      machine.sendAccount(message, to: try house.device(other))
      house.fleet.advance(1_000)
    }
    house.end()
    return seen
  }

  @Test func `A17 what a relay sees is the same for other names and texts of the same padded size`() throws {
    let seen = try log(ofNames: ["laptop", "phone", "a text"])
    #expect(seen.count > 10)
    #expect(try log(ofNames: ["tablet-of-a-friend", "watch", "quite another text"]) == seen)
    // The control: one that is longer than its padding.
    #expect(try log(ofNames: ["laptop", "phone", String(repeating: "x", count: 2_000)]) != seen)
  }

  @Test func `A17 a relay that says that another device is there gets no link`() throws {
    let home = house.relays[0]
    home.tampering = .misname
    home.set("relay", .bool(true))
    house.fleet.advance(60_000)
    #expect(!house.areLinked)
    home.tampering = nil
    house.fleet.advance(120_000)
    #expect(house.areLinked)
    house.end()
  }

  @Test(arguments: [RelayTampering.drop, .truncate, .repeated, .reorder, .flip, .stall])
  func `A17 a relay that tampers delays at worst, and nothing wrong is heard`(_ tampering: RelayTampering) throws {
    let home = house.relays[0]
    home.set("relay", .bool(true))
    house.fleet.advance(5_000)
    #expect(house.areLinked)
    let heard = house.heardTexts
    for number in 0..<20 {
      home.tampering = number % 4 == 3 ? tampering : nil
      house.laptop.sendAccount(
        try DeviceMessage.pushed(UInt64(number), .failure(SegueError(.declined, "text \(number + 10)"))).encoding(),
        to: try house.device(house.phone))
      house.fleet.advance(1_000)
      home.tampering = nil
      house.fleet.advance(9_000)
    }
    house.fleet.advance(120_000)
    #expect(house.areLinked)
    // In order, none twice, and none that was not said; what is said while there is no link is not sent.
    let texts = Array(house.heardTexts.dropFirst(heard.count))
    let said = (10..<30).map { "text \($0)" }
    #expect(texts.count >= 15 && texts == said.filter { texts.contains($0) }, "\(texts)")
    house.end()
  }
}
