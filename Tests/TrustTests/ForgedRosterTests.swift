// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import Testing

@testable import SegueAgentCore

/// A roster that was made to harm a manager, or that is old, does nothing without end, and nothing after which the
/// manager can revoke no longer (A24).
@Suite struct ForgedRosterTests {
  private let passphrase = "correct horse battery"

  /// A manager, another device, a former manager that was revoked and has kept the recovery file, and a device that
  /// this one has admitted since.
  private struct Attack {
    let world: World
    let manager, tablet, revoked, stranger: Device
  }

  private func attack() throws -> Attack {
    let world = World()
    let devices = try world.account("desk", "laptop", "tablet")
    let (desk, laptop, tablet) = (devices[0], devices[1], devices[2])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    _ = try laptop.service.revoke(try desk.id, at: world.now)
    laptop.link(tablet)
    world.wait(days: 1)
    let stranger = try world.device("xray")
    try stranger.join(desk)
    return Attack(world: world, manager: laptop, tablet: tablet, revoked: desk, stranger: stranger)
  }

  /// A roster that a holder of the key of the account signs.
  private func signed(
    by device: Device, rootKey: Secret? = nil, _ change: (inout Roster) throws -> Void
  ) throws -> SignedRoster {
    let record = try device.member.record
    var roster = record.roster.roster
    try change(&roster)
    let rootKey = try rootKey ?? device.rootKey
    return try SignedRoster.sign(
      roster, at: 0, by: RosterSigner(root: record.root, rootKey: rootKey, key: record.key), device.cryptography)
  }

  private func deliver(_ roster: SignedRoster, to device: Device, from peer: Device) throws {
    device.events += device.service.receive(
      try roster.message(), from: try peer.certificate, at: device.world.now)
  }

  private func epoch(_ number: UInt64, _ byte: UInt8) -> Epoch {
    Epoch(number: number, secret: [UInt8](repeating: byte, count: 32))
  }

  @Test(arguments: [Limits.rosterNumber, Limits.rosterNumber - 1, Limits.rosterNumber - 20])
  func `no epoch of another manager's line ends the numbers of this one (A24)`(_ last: UInt64) throws {
    let attack = try attack()
    let (manager, stranger) = (attack.manager, attack.stranger)
    let own = try manager.member.roster
    let forged = try signed(by: attack.revoked) { roster in
      roster.term = own.term
      roster.epochs = try #require(Epochs([epoch(last, 1)]))
    }
    for _ in 0..<3 { try deliver(forged, to: manager, from: stranger) }
    #expect(manager.notices().contains { $0.contains("its numbers are higher than any manager's can be") })
    #expect(try manager.member.roster.epochs.current.secret == own.epochs.current.secret)
    _ = try manager.service.revoke(try attack.tablet.id, at: attack.world.now)
    #expect(try manager.member.roster.epochs.current.number <= own.epochs.current.number + 86_400)
  }

  @Test func `no epoch of another manager's line is taken, nor pushes an own one out (A24)`() throws {
    let attack = try attack()
    let manager = attack.manager
    let own = try manager.member.roster
    for isAhead in [false, true] {
      let first = isAhead ? own.epochs.current.number + 1 : 1
      let forged = try signed(by: attack.revoked) { roster in
        roster.term = own.term
        roster.epochs = try #require(
          Epochs((0..<Limits.epochs).map { epoch(first + UInt64($0), UInt8($0) + 1) }))
      }
      try deliver(forged, to: manager, from: attack.stranger)
      let epochs = try manager.member.roster.epochs
      #expect(epochs.all.map { $0.number } == own.epochs.all.map { $0.number }, "ahead: \(isAhead)")
      #expect(epochs.all.map { $0.secret } == own.epochs.all.map { $0.secret }, "ahead: \(isAhead)")
    }
  }

  @Test func `removals that a revoked manager makes up begin no epoch, and end when there is no room (A24)`() throws {
    let attack = try attack()
    let manager = attack.manager
    let own = try manager.member.roster
    var numbers: Set<UInt64> = []
    for round in 0..<20 {
      let forged = try signed(by: attack.revoked) { roster in
        roster.term = own.term
        for each in 0..<Limits.removedDevices {
          _ = roster.remove(
            RemovedDevice(Identifier(high: UInt64(round) + 1, low: UInt64(each)), serials: [[1], [2], [3], [4]]))
        }
      }
      try deliver(forged, to: manager, from: attack.stranger)
      numbers.insert(try manager.number)
      attack.world.wait(seconds: 2)
    }
    #expect(try manager.member.roster.epochs.current.secret == own.epochs.current.secret)
    #expect(numbers.count <= 2, "\(numbers.count) lists were signed")
    #expect(try manager.names() == ["laptop", "tablet"])
    // Positive control: who is listed is removed still, in a new epoch, although there is no room.
    _ = try manager.service.revoke(try attack.tablet.id, at: attack.world.now)
    #expect(try manager.member.roster.removed.has(attack.tablet.id))
    #expect(try manager.member.roster.epochs.current.secret != own.epochs.current.secret)
  }

  @Test func `who was admitted and removed in a line that shares the epoch does not know the next one (A15)`() throws {
    let world = World()
    let devices = try world.account("desk", "laptop", "tablet")
    let (desk, laptop, tablet) = (devices[0], devices[1], devices[2])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 1)
    // The laptop does not hear of it.
    let guest = try world.device("guest")
    try guest.join(desk)
    _ = try desk.service.revoke(try guest.id, at: world.now)
    desk.link(tablet)
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    let shared = try laptop.member.roster.epochs.current.secret
    #expect(try guest.member.roster.epochs.current.secret == shared)
    laptop.link(tablet)
    laptop.link(tablet)
    #expect(try laptop.member.roster.removed.has(guest.id))
    for device in [laptop, tablet] {
      #expect(try device.member.managerName == "laptop" && device.member.roster.epochs.current.secret != shared)
    }
  }

  @Test func `a device takes the list of a new manager though its former one has counted epochs further`() throws {
    let world = World()
    let devices = try world.account("desk", "laptop", "tablet", "lost")
    let (desk, laptop, tablet, lost) = (devices[0], devices[1], devices[2], devices[3])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    _ = try laptop.service.revoke(try lost.id, at: world.now)
    // By a clock that is ten years ahead.
    _ = try desk.service.revoke(
      try lost.id, at: Instant(uptime: world.now.uptime, date: world.now.date + 3_650 * 86_400))
    desk.link(tablet)
    #expect(try tablet.member.roster.epochs.current.number > laptop.member.roster.epochs.current.number)
    tablet.link(laptop)
    #expect(try tablet.member.managerName == "laptop" && tablet.number == laptop.number)
  }

  @Test func `a list whose numbers leave none for later ones counts nowhere (A24)`() throws {
    let world = World()
    let devices = try world.account("desk", "phone", "tablet")
    let (desk, phone, tablet) = (devices[0], devices[1], devices[2])
    let rootKey = try desk.rootKey
    let changes: [(String, (inout Roster) throws -> Void)] = [
      ("term", { $0.term = Limits.rosterNumber }), ("number", { $0.number = Limits.rosterNumber - 1 }),
      ("epoch", { $0.epochs = try #require(Epochs([self.epoch(Limits.rosterNumber, 1)])) }),
    ]
    for (what, change) in changes {
      let forged = try signed(by: phone, rootKey: rootKey) { roster in
        roster.term += 1
        try change(&roster)
      }
      try deliver(forged, to: tablet, from: phone)
      #expect(try tablet.member.managerName == "desk" && tablet.service.takeOvers.isEmpty, "\(what)")
    }
    // Positive control: a takeover by a clock of the year 9000.
    let taken = try signed(by: phone, rootKey: rootKey) { roster in
      roster.term += 1
      roster.number = 220_000_000_000
      roster.epochs = try #require(Epochs([self.epoch(220_000_000_000, 1)]))
    }
    try deliver(taken, to: tablet, from: phone)
    #expect(try tablet.member.managerName == "phone")
  }

  @Test func `lists that differ in serials and removals for which there is no room change nothing twice (A24)`() throws
  {
    let world = World()
    let devices = try world.account("desk", "phone", "lost")
    let (desk, phone, lost) = (devices[0], devices[1], devices[2])
    func certificates(_ byte: UInt8) -> [IssuedCertificate] {
      (UInt8(0)..<4).map { IssuedCertificate(serial: [byte, $0], until: 2_000_000_000 + Int64($0)) }
    }
    // Earlier lists of this manager, with other certificates of the device that was removed since.
    let old = try (UInt8(1)...3).map { byte in
      try signed(by: desk) { roster in
        let index = try #require(roster.devices.firstIndex { $0.name == "lost" })
        for certificate in certificates(byte) { roster.devices[index].add(certificate) }
      }
    }
    // And one with as many removals as there may be.
    let full = try signed(by: desk) { roster in
      for each in 0..<Limits.removedDevices {
        _ = roster.remove(RemovedDevice(Identifier(high: 7, low: UInt64(each)), serials: [[1, UInt8(each % 256)]]))
      }
    }
    _ = try desk.service.revoke(try lost.id, at: world.now)
    var member = try desk.member
    var roster = member.roster
    for each in 0..<Limits.removedDevices - 1 {
      _ = roster.remove(RemovedDevice(Identifier(high: 8, low: UInt64(each)), serials: [[2, UInt8(each % 256)]]))
    }
    member = try desk.membership(
      try member.signed(roster, at: world.now.seconds, to: "test", desk.cryptography))
    try desk.service.keep(member.record, at: world.now)
    for list in old + [full] { try deliver(list, to: desk, from: phone) }
    let (number, epoch) = (try desk.number, try desk.member.roster.epochs.current.number)
    let changes = desk.storage.changes
    for list in old + [full] + old { try deliver(list, to: desk, from: phone) }
    #expect(try desk.number == number && desk.member.roster.epochs.current.number == epoch)
    #expect(desk.storage.changes == changes)
    #expect(try desk.member.roster.removed.has(lost.id))
  }

  @Test func `a listed device has a manager sign and store as often as it is answered (A8)`() throws {
    let world = World()
    let devices = try world.account("desk", "phone", "tablet")
    let (desk, phone, tablet) = (devices[0], devices[1], devices[2])
    let rootKey = try desk.rootKey
    world.wait(seconds: 60)
    let (before, beforeThere) = (desk.storage.changes, tablet.storage.changes)
    for each in 0..<UInt64(100) {
      let forged = try signed(by: phone, rootKey: rootKey) { roster in
        roster.number += each
        _ = roster.remove(RemovedDevice(Identifier(high: 9, low: each), serials: []))
      }
      try deliver(forged, to: desk, from: phone)
      try deliver(forged, to: tablet, from: phone)
    }
    #expect(desk.storage.changes - before == Limits.answers)
    #expect(tablet.storage.changes - beforeThere == Limits.answers, "they are put aside")
    // Rosters of the manager are not rationed.
    world.wait(seconds: 60)
    for each in 0..<60 {
      _ = try desk.service.rename(nil, "desk \(each)", at: world.now)
      try deliver(try desk.member.record.roster, to: tablet, from: desk)
    }
    #expect(try tablet.number == desk.number)
  }

  @Test func `the largest list that there may be can be signed, sent and changed (R10.6)`() throws {
    let world = World(.openSSL)
    let letter = "𝒜"
    let desk = try world.device("desk")
    let name = String(repeating: letter, count: Limits.deviceName)
    // A name that a user gives is shorter than one that another device may send.
    _ = try desk.service.create(
      name: String(name.unicodeScalars.prefix(63).map { Character($0) }), deviceName: "desk", platform: "linux",
      at: world.now)
    var member = try desk.member
    var roster = member.roster
    func serial(_ kind: UInt8, _ one: Int, _ other: Int) -> [UInt8] {
      [0x7f, kind, UInt8(one / 256), UInt8(one % 256), UInt8(other)] + [UInt8](repeating: 0xff, count: 15)
    }
    for each in 0..<Limits.removedDevices + 8 {
      let serials = (0..<Limits.certificatesPerDevice).map { serial(1, each, $0) }
      _ = roster.remove(RemovedDevice(Identifier(high: 1, low: UInt64(each)), serials: serials))
    }
    while roster.devices.count < Limits.devices {
      let each = roster.devices.count
      let certificates = (0..<Limits.certificatesPerDevice).map {
        IssuedCertificate(serial: serial(2, each, $0), until: Instant.lastSecond)
      }
      roster.devices.append(
        RosterDevice(
          id: Identifier(high: 2, low: UInt64(each)), name: name, platform: String(repeating: "x", count: 64),
          joined: Instant.lastSecond, certificates: certificates))
    }
    let first = Limits.rosterNumber - 64
    roster.number = first
    roster.epochs = try #require(Epochs((0..<UInt64(Limits.epochs)).map { epoch(first + $0, 1) }))
    #expect(roster.removed.all.count == Limits.removedDevices && roster.removed.serials.count == Limits.revocations)
    #expect(roster.devices.last?.name.utf8.count == 4 * Limits.deviceName)
    var largest = 0
    for step in 0..<8 {
      let record = try member.signed(roster, at: world.now.seconds, to: "test", desk.cryptography)
      largest = max(largest, record.roster.encoding.count)
      member = try desk.membership(record)
      #expect(try record.roster.message().count <= Limits.joinBytes)
      let revoked = try member.revoking(
        Identifier(high: 2, low: UInt64(step + 1)), at: world.now.seconds, desk.cryptography)
      member = try desk.membership(revoked)
      #expect(member.roster.removed.serials.count == Limits.revocations)
      #expect(member.roster.removed.serials.last == serial(2, step + 1, 3), "the newest stay")
    }
    #expect(largest > 50 * 1024 && largest <= Limits.rosterBytes, "\(largest) bytes")
    // A copy is read from the disk as it was signed.
    #expect(
      try AccountRecord(try member.record.encoding(try desk.rootKey, desk.cryptography), desk.cryptography)
        .roster.digest == member.record.roster.digest)
  }
}
