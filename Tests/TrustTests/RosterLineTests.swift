// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The rules for an account that has two lines of rosters: after a manager was restored from a backup, or a device has
/// become the manager without knowing what the former one has signed.
@Suite struct RosterLineTests {
  private let passphrase = "correct horse battery"

  /// Whether a device takes another one's certificate.
  private func accepts(_ device: Device, _ certificate: [UInt8]) -> Bool {
    (try? device.service.accepted(certificate, at: device.world.now)) != nil
  }

  /// Checks that a device is out: with every certificate, at every device, for good.
  private func expectOut(_ lost: Device, of devices: [Device], _ line: Int = #line) throws {
    let certificate = try lost.certificate
    let known = try lost.member.roster.epochs.current.number
    for device in devices {
      device.link(lost)
      #expect(!accepts(device, certificate), "\(device.name), line \(line)")
      #expect(try !device.names().contains(lost.name), "\(device.name), line \(line)")
      #expect(
        try device.member.roster.epochs.current.number != lost.member.roster.epochs.current.number
          || lost.member.isRevoked, "\(device.name), line \(line)")
    }
    #expect(try lost.member.roster.epochs.current.number == known || lost.member.isRevoked)
  }

  @Test(arguments: Primitives.allCases)
  func `a manager that was restored from a backup revokes also what it has renewed since (R10.6)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let devices = try world.account("desk", "phone", "lost")
    let (desk, phone, lost) = (devices[0], devices[1], devices[2])
    world.wait(days: 10)
    desk.link(phone)
    desk.link(lost)
    let backup = desk.storage.file
    world.wait(days: 190)
    desk.link(lost)
    desk.link(phone)
    world.wait(days: 1)
    desk.storage.file = backup
    desk.restart()
    // Positive control: who was renewed since gets in.
    #expect(try accepts(desk, phone.certificate) && accepts(desk, lost.certificate))
    _ = try desk.service.revoke(try lost.id, at: world.now)
    desk.link(phone)
    try expectOut(lost, of: [desk, phone])
    // The manager hears of the certificate that it has forgotten, and lists it.
    let serial = try phone.member.certificate.serial
    #expect(try desk.member.roster[phone.id]?.certificates.contains { $0.serial == serial } == true)
  }

  @Test(arguments: Primitives.allCases)
  func `a manager by the recovery file revokes also what the former one has renewed (R10.6)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let devices = try world.account("desk", "laptop", "lost", "tablet")
    let (desk, laptop, lost, tablet) = (devices[0], devices[1], devices[2], devices[3])
    world.wait(days: 5)
    for device in devices.dropFirst() { desk.link(device) }
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 190)
    desk.link(lost)
    desk.link(tablet)
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    _ = try laptop.service.revoke(try lost.id, at: world.now)
    laptop.link(tablet)
    try expectOut(lost, of: [laptop, tablet])
  }

  @Test(arguments: Primitives.allCases)
  func `a device that one line revokes and another one renews is out when they merge (R10.6)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let devices = try world.account("desk", "laptop", "lost")
    let (desk, laptop, lost) = (devices[0], devices[1], devices[2])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 190)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    _ = try laptop.service.revoke(try lost.id, at: world.now)
    world.wait(days: 1)
    desk.link(lost)
    world.wait(days: 1)
    desk.link(laptop)
    #expect(!desk.service.isManager && laptop.service.isManager)
    #expect(try desk.number == laptop.number)
    try expectOut(lost, of: [desk, laptop])
    #expect(try laptop.member.roster.removed.has(lost.id))
  }

  @Test func `who was removed in one of two lines does not know the epoch after they merge (R10.6)`() throws {
    let world = World()
    let devices = try world.account("desk", "laptop", "lost", "old", "older")
    let (desk, laptop, lost) = (devices[0], devices[1], devices[2])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    _ = try laptop.service.revoke(try lost.id, at: world.now)
    for device in devices[3...] {
      world.wait(days: 1)
      _ = try desk.service.revoke(try device.id, at: world.now)
    }
    desk.link(lost)
    let known = try lost.member.roster.epochs.current.number
    #expect(try known == desk.member.roster.epochs.current.number)
    laptop.link(desk)
    #expect(try laptop.member.roster.epochs.current.number > known)
    try expectOut(lost, of: [desk, laptop])
  }

  @Test func `the list of revocations has each certificate of a device that is revoked (R10.6)`() throws {
    let world = World()
    let devices = try world.account("desk", "lost")
    let (desk, lost) = (devices[0], devices[1])
    let first = try lost.member.certificate.serial
    world.wait(days: 190)
    desk.link(lost)
    let second = try lost.member.certificate.serial
    _ = try desk.service.revoke(try lost.id, at: world.now)
    let serials = try desk.member.roster.removed.serials
    #expect(first != second && serials.contains(first) && serials.contains(second))
  }

  @Test func `a device that was admitted while another one slept brings the list that lists it (R10.6)`() throws {
    let world = World()
    let devices = try world.account("desk", "phone")
    let (desk, phone) = (devices[0], devices[1])
    world.wait(days: 1)
    let tablet = try world.device("tablet")
    try tablet.join(desk)
    #expect(try !accepts(phone, tablet.certificate), "its certificate alone does not count")
    phone.link(tablet)
    #expect(try phone.names() == ["desk", "phone", "tablet"] && accepts(phone, tablet.certificate))
    // A removed device is out, whatever a list says besides.
    let members = AccountMembers(listed: [try phone.id, try desk.id], removed: [try desk.id])
    #expect(try members.standing(of: phone.id) == .listed && members.standing(of: tablet.id) == .unlisted)
    #expect(try members.standing(of: desk.id) == .removed)
  }

  @Test func `a takeover counts whatever the former manager signs later, and that one says so`() throws {
    let world = World()
    let devices = try world.account("desk", "laptop", "tablet")
    let (desk, laptop, tablet) = (devices[0], devices[1], devices[2])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 190)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    world.wait(seconds: 60)
    // It renews its own certificate, so its number is higher.
    _ = desk.service.tick(at: world.now)
    desk.link(tablet)
    #expect(try desk.number > laptop.number)
    laptop.link(tablet)
    #expect(laptop.service.isManager)
    #expect(try tablet.member.managerName == "laptop")
    desk.link(laptop)
    #expect(laptop.service.isManager && !desk.service.isManager)
    #expect(try !desk.member.record.isManager && desk.number == laptop.number)
    #expect(desk.notices().contains { $0.contains("laptop") && $0.contains("recovery file") })
    #expect(laptop.notices().isEmpty)
  }

  @Test func `a roster of a manager that is dead, and whose clock was ahead once, does not undo a takeover`() throws {
    let world = World()
    let devices = try world.account("desk", "laptop", "tablet")
    let (desk, laptop, tablet) = (devices[0], devices[1], devices[2])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    let ahead = Instant(uptime: world.now.uptime, date: world.now.date + 100 * 86_400)
    _ = try desk.service.rename(nil, "desk 2", at: ahead)
    desk.link(tablet)
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    tablet.link(laptop)
    #expect(laptop.service.isManager)
    #expect(try tablet.member.managerName == "laptop" && tablet.number == laptop.number)
  }

  @Test func `of two managers in one term the user says which one counts, and then both ends agree`() throws {
    for seed in 1...4 {
      let world = World(seed: UInt64(seed))
      let devices = try world.account("desk", "laptop", "tablet")
      let (laptop, tablet) = (devices[1], devices[2])
      let file = try devices[0].service.recoveryFile(passphrase: passphrase)
      world.wait(days: 1)
      for device in [laptop, tablet] {
        _ = try device.service.recover(file, passphrase: passphrase, at: world.now)
      }
      #expect(try laptop.number == tablet.number && laptop.service.isManager && tablet.service.isManager)
      laptop.link(tablet)
      #expect(laptop.service.isManager && tablet.service.isManager)
      let waiting = try #require(laptop.service.takeOvers.first)
      #expect(try waiting.device == tablet.id && waiting.name == "tablet")
      _ = try laptop.service.accept(waiting.digest, of: waiting.device, at: world.now)
      laptop.link(tablet)
      #expect(!laptop.service.isManager && tablet.service.isManager && laptop.service.takeOvers.isEmpty)
      #expect(try laptop.member.roster.manager == tablet.member.roster.manager)
      #expect(try laptop.member.record.roster.digest == tablet.member.record.roster.digest)
    }
  }

  @Test func `of two lines with too many devices, those without room are removed, not forgotten`() throws {
    let world = World()
    let desk = try world.account("desk", "laptop")[0]
    let twin = try desk.copy("twin")
    world.wait(days: 1)
    for (manager, count) in [(desk, 41), (twin, 41)] {
      var member = try manager.member
      for number in 0..<count {
        let key = try manager.cryptography.publicKey(of: try manager.cryptography.makeKey())
        let (record, _) = try member.admitting(
          publicKey: key, name: "\(manager.name) \(number)", platform: "", at: world.now.seconds, manager.cryptography)
        member = try manager.membership(record)
      }
      try manager.service.keep(member.record, at: world.now)
    }
    // Both lines are of one manager: one was restored from a backup.
    let epoch = try desk.member.roster.epochs.current.number
    let message = try twin.member.record.roster.message()
    _ = desk.service.receive(message, from: try twin.certificate, at: world.now)
    let roster = try desk.member.roster
    #expect(roster.devices.count == Limits.devices && roster.removed.all.count == 2 + 82 - Limits.devices)
    #expect(try desk.number > twin.number)
    #expect(roster.epochs.current.number > epoch, "those without room know the former one")
  }

  @Test func `a manager that was restored from a backup notes a certificate that a device shows (R10.6)`() throws {
    let world = World()
    let devices = try world.account("desk", "phone")
    let (desk, phone) = (devices[0], devices[1])
    let backup = desk.storage.file
    world.wait(days: 200)
    desk.link(phone)
    desk.storage.file = backup
    desk.restart()
    let (id, shown) = (try phone.id, try phone.member.certificate)
    func certificates(_ member: Membership?) -> [IssuedCertificate] { member?.roster[id]?.certificates ?? [] }
    #expect(try !certificates(desk.member).contains { $0.serial == shown.serial }, "it has forgotten it")
    let noted = try desk.member.confirming(id, shown, at: world.now.seconds, desk.cryptography)
    let member = try noted.map { try desk.membership($0) }
    #expect(certificates(member).contains { $0.serial == shown.serial })
  }

  @Test func `any number of devices can be revoked, and no date has one forgotten (A25)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    var member = try manager.member
    for number in 0..<Limits.removedDevices + 8 {
      let key = try manager.cryptography.publicKey(of: try manager.cryptography.makeKey())
      let (record, _) = try member.admitting(
        publicKey: key, name: "\(number)", platform: "", at: world.now.seconds, manager.cryptography)
      member = try manager.membership(record)
      let device = try #require(member.roster.devices.last?.id)
      member = try manager.membership(try member.revoking(device, at: world.now.seconds, manager.cryptography))
    }
    #expect(member.roster.devices.count == 1 && member.roster.removed.all.count == Limits.removedDevices)
    try manager.service.keep(member.record, at: world.now)
    let phone = try world.device("phone")
    try phone.join(manager)
    _ = try manager.service.revoke(try phone.id, at: world.now)
    #expect(try manager.member.roster.removed.has(phone.id))
    world.wait(days: 367)
    _ = try manager.service.rename(nil, "later", at: world.now)
    #expect(try manager.member.roster.removed.all.count == Limits.removedDevices)
    #expect(try manager.member.roster.removed.has(phone.id))
  }
}
