// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Links of two agents in cases whose outcome is known, and that random lives meet too seldom.
@Suite struct AccountLinkTests {
  /// Milliseconds for a join whose users answer at once.
  private static let joiningTime: Int64 = 20_000
  /// Milliseconds until a machine that has woken up has noticed that, and dialled.
  private static let wakingTime: Int64 = 12_000

  private let fleet = AccountFleet(seed: 1)
  private let household: Household
  private let manager: Machine
  private let guest: Machine

  init() {
    household = Household(fleet)
    household.isWilling = true
    (manager, guest) = (Machine("manager", 0, in: fleet), Machine("guest", 1, in: fleet))
    for machine in [manager, guest] {
      fleet.add(machine)
      machine.move(to: fleet.newPlace(in: 0))
      machine.start()
    }
    fleet.advance(100)
    household.create(manager)
    fleet.advance(100)
  }

  private func join() {
    household.invite(guest, by: manager)
    fleet.advance(Self.joiningTime)
  }

  private func end() {
    if let violation = fleet.violation { Issue.record("\(violation)\n\(fleet.log.lines)") }
    fleet.tearDown()
  }

  private func isLinked(_ machine: Machine, with other: Machine) -> Bool {
    guard let device = other.snapshot?.identity?.device else { return false }
    return machine.devices?.links?.devices.contains(device) ?? false
  }

  private var areLinked: Bool { isLinked(manager, with: guest) && isLinked(guest, with: manager) }

  @Test func `a device that has joined dials the one that has admitted it, without any beacon (R10.4)`() {
    fleet.beaconLoss = 1
    join()
    #expect(areLinked)
    end()
  }

  @Test func `a link ends with the revocation, though the hub does not end it (A15)`() throws {
    join()
    let (devices, device) = (try #require(manager.devices), try #require(guest.snapshot?.identity?.device))
    // Nobody is told what follows from it.
    devices.account.use({ account, now throws(SegueError) in
      _ = try account.revoke(device, at: now)
      return ([], ())
    }) { (_: Result<Void, SegueError>) in
      #expect(devices.links?.devices == [device])
      #expect(throws: Never.self) {
        try devices.links?.renew(try #require(devices.snapshot.credentials), devices.snapshot.epochs)
      }
      #expect(devices.links?.devices == [])
    }
    fleet.advance(1_000)
    #expect(devices.links?.devices == [])
    end()
  }

  @Test func `a device that is not listed is linked once a roster lists it, by the same connection (A24, R10.5)`() {
    let file = manager.disk.file
    join()
    #expect(areLinked)
    // The manager does not know it then: the device has the later roster.
    manager.restore(file)
    guest.crash(isPowerLost: true)
    // One of the two dials: neither knows an address of the other from before.
    for machine in [manager, guest] { machine.settings = DeviceSettings() }
    guest.start()
    let former = fleet.log.lines.count
    fleet.advance(60_000)
    #expect(areLinked)
    let lines = fleet.log.lines.dropFirst(former)
    #expect(lines.contains("is not in the list of devices") && !lines.contains("no link with"), "\(lines)")
    end()
  }

  @Test func `a machine that has slept finds out which links are dead, and dials again (R2.8)`() throws {
    fleet.beaconLoss = 1
    join()
    manager.name(addresses: [try #require(guest.listener)])
    fleet.advance(2_000)
    manager.fallAsleep()
    guest.crash(isPowerLost: true)
    fleet.advance(2_000)
    // It knows no address of the manager, and no connection with it.
    guest.settings = DeviceSettings()
    guest.start()
    fleet.advance(1_000)
    #expect(guest.devices?.links?.devices == [])
    manager.awake()
    fleet.advance(Self.wakingTime)
    #expect(areLinked)
    end()
  }

  @Test func `a machine that has slept dials again, however long its pauses were before (R2.8)`() throws {
    fleet.beaconLoss = 1
    join()
    manager.name(addresses: [try #require(guest.listener)])
    fleet.advance(2_000)
    guest.crash(isPowerLost: true)
    // A pause is a minute then, and the last one has just begun.
    fleet.advance(600_000)
    let former = fleet.dials
    while fleet.dials == former { fleet.advance(1_000) }
    manager.fallAsleep()
    fleet.advance(3_000)
    // It knows no address of the manager.
    guest.settings = DeviceSettings()
    guest.start()
    manager.awake()
    fleet.advance(Self.wakingTime)
    #expect(areLinked)
    end()
  }
}
