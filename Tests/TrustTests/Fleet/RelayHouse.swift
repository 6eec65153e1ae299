// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import SegueWire
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// A laptop, which is the manager, and a phone, in networks without a route to each other, and machines at home that
/// both reach. No beacon is heard: they have met before.
final class RelayHouse {
  static let (laptopNetwork, phoneNetwork, relayNetwork) = (1, 2, 3)

  let fleet = AccountFleet(seed: 1)
  let household: Household
  let (laptop, phone): (Machine, Machine)
  let relays: [Machine]
  /// The texts that the phone has heard over links.
  private(set) var heardTexts: [String] = []

  init(relays count: Int, names: [String] = ["laptop", "phone"]) {
    household = Household(fleet)
    household.isWilling = true
    (laptop, phone) = (Machine(names[0], 0, in: fleet), Machine(names[1], 1, in: fleet))
    relays = (0..<count).map { [fleet] in Machine("home \($0)", 2 + $0, in: fleet) }
    phone.heardAccount = { [unowned self] message in
      if case .pushed(_, .failure(let error))? = try? DeviceMessage.known(message) { heardTexts.append(error.message) }
    }
    meet()
    for (number, machine) in ([laptop, phone] + relays).enumerated() {
      machine.move(to: fleet.newPlace(in: 1 + number))
      // They tell each other where they are now.
      fleet.advance(15_000)
    }
    fleet.isRouted = false
    for number in relays.indices {
      for end in [Self.laptopNetwork, Self.phoneNetwork] { fleet.routes.append((end, Self.relayNetwork + number)) }
      for other in 0..<number { fleet.routes.append((Self.relayNetwork + other, Self.relayNetwork + number)) }
    }
    fleet.advance(90_000)
  }

  /// All join in one network.
  private func meet() {
    fleet.isRouted = true
    for machine in [laptop, phone] + relays {
      fleet.add(machine)
      machine.move(to: fleet.newPlace(in: 0))
      machine.start()
    }
    fleet.advance(100)
    household.create(laptop)
    fleet.advance(100)
    for machine in [phone] + relays {
      household.invite(machine, by: laptop)
      fleet.advance(20_000)
    }
    fleet.beaconLoss = 1
  }

  func end() {
    if let violation = fleet.violation { Issue.record("\(violation)\n\(fleet.log.lines)") }
    fleet.tearDown()
  }

  func device(_ machine: Machine) throws -> Identifier { try #require(machine.snapshot?.identity?.device) }

  private func isLinked(_ machine: Machine, with other: Machine) -> Bool {
    guard let device = other.snapshot?.identity?.device else { return false }
    return machine.devices?.links?.devices.contains(device) ?? false
  }

  var areLinked: Bool { isLinked(laptop, with: phone) && isLinked(phone, with: laptop) }

  /// The connections that pass through a machine at home, or all of them.
  func splices(of relay: Machine) -> Int { relay.devices?.relays.splices ?? 0 }
  var splices: Int { relays.reduce(0) { $0 + splices(of: $1) } }

  /// The links that have ended so far, but for those that have moved.
  var ends: Int { fleet.log.lines.split(separator: "\n").count { $0.contains("has ended") } }

  func used(at machine: Machine, of other: Machine) throws -> String? {
    let reports = try #require(machine.devices?.links?.reports(of: device(other)))
    for report in reports { if case .used = report.state { return report.address } }
    return nil
  }

  func reasons(at machine: Machine, of other: Machine) throws -> [String] {
    try #require(machine.devices?.links?.reports(of: device(other))).compactMap { report in
      if case .failed(let reason) = report.state { reason } else { nil }
    }
  }
}

/// The ways of a relay that was modified to pass bytes on.
enum RelayTampering: CaseIterable {
  case drop
  case truncate
  case repeated
  case reorder
  case flip
  case stall
  /// It says that another device asks for a connection.
  case misname
}

/// Tampers with what an agent sends as a relay.
struct RelayTamperer {
  /// Frames that it has not passed on yet.
  private var held: [RelayFrame] = []

  /// The message that goes out in the place of one.
  func pass(_ message: [UInt8], _ tampering: RelayTampering?) -> [UInt8] {
    guard case .misname? = tampering, RelayMessage.isOne(message),
      case .fromRelay(let channel, .open)? = try? RelayMessage(message),
      case .message(let made)? = try? RelayMessage.fromRelay(channel, .open(Identifier(high: 7, low: 7))).form
    else { return message }
    return made
  }

  /// The frames that go out in the place of one.
  mutating func pass(_ frame: RelayFrame, _ tampering: RelayTampering?) -> [RelayFrame] {
    guard case .bytes(let channel, let offset, let bytes) = frame, case .fromRelay = RelayMessage(frame) else {
      return [frame]
    }
    func with(_ bytes: ArraySlice<UInt8>) -> [RelayFrame] {
      bytes.isEmpty ? [] : [.bytes(channel: channel, offset: offset, bytes)]
    }
    switch tampering {
    case .drop: return []
    case .truncate: return with(bytes.dropLast())
    case .repeated: return [frame, frame]
    case .flip: return with(bytes.dropLast() + [bytes[bytes.endIndex - 1] ^ 1])
    case .stall:
      held.append(frame)
      return []
    case .reorder where held.isEmpty:
      held.append(frame)
      return []
    case .reorder, .misname, nil:
      let others = held
      held = []
      if case .reorder? = tampering { return [frame] + others }
      return others + [frame]
    }
  }
}
