// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Accounts that an earlier version has stored (the folder `Stored`): a manager, one that knows its last roster, one
/// that has slept through a revocation, and the revoked one.
@Suite struct StoredAccountTests {
  private let passphrase = "correct horse battery"

  private func read(_ name: String) throws -> [UInt8] {
    Array(
      try Data(
        contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Stored/\(name)")
      )
    )
  }

  /// - Returns: a world ten days after those accounts were made.
  private func world() -> World {
    let world = World(.openSSL)
    world.wait(days: 11)
    return world
  }

  private func device(_ name: String, _ world: World) throws -> Device {
    Device(name, try world.cryptography(), world, storage: MemoryStorage(try read(name)))
  }

  /// The message by which the earlier version sends its roster.
  private func oldMessage(_ device: Device) throws -> [UInt8] {
    let roster = try device.member.record.roster
    #expect(!roster.isSignedTwice)
    return try ValueWriter.array { (writer) throws(SegueError) in
      try writer.put(UInt64(2))
      try writer.put(data: roster.encoding)
      try writer.put(data: roster.signature)
    }
  }

  @Test func `the manager is updated first: it signs anew, and members take that when they are updated`() throws {
    let world = world()
    let (desk, phone, tablet) = (try device("desk", world), try device("phone", world), try device("tablet", world))
    let number = try desk.number
    #expect(try desk.service.isManager && !desk.member.record.roster.isSignedTwice)
    let events = desk.service.upgrade(at: world.now)
    #expect(events.contains { $0.label == "sendToAll" })
    #expect(try desk.member.record.roster.isSignedTwice && desk.number > number && desk.member.roster.term == 1)
    #expect(try desk.names() == ["desk", "phone", "tablet"])
    #expect(desk.service.upgrade(at: world.now).isEmpty)
    desk.restart()
    #expect(try desk.member.record.roster.isSignedTwice)
    for member in [phone, tablet] {
      _ = member.service.upgrade(at: world.now)
      #expect(try !member.member.record.roster.isSignedTwice && member.service.credentials(at: world.now).key.count > 0)
      member.link(desk)
      #expect(try member.number == desk.number && member.member.record.roster.isSignedTwice)
      member.restart()
      #expect(try member.names() == ["desk", "phone", "tablet"])
    }
    #expect(phone.notices().isEmpty && tablet.notices().isEmpty)
  }

  @Test func `the manager is updated last: members keep what they have, and refuse its old lists by its name`() throws {
    let world = world()
    let (desk, phone, tablet) = (try device("desk", world), try device("phone", world), try device("tablet", world))
    for member in [phone, tablet] { _ = member.service.upgrade(at: world.now) }
    // They link, and neither sends the other what no device takes.
    #expect(phone.link(tablet) == 2)
    #expect(try tablet.names() == ["desk", "phone", "tablet", "lost"])
    let old = try oldMessage(desk)
    for member in [phone, tablet] {
      let number = try member.number
      member.events += member.service.receive(old, from: try desk.certificate, at: world.now)
      #expect(try member.number == number)
      #expect(
        member.notices() == ["desk: runs an older Segue, whose list of devices does not count here; update Segue there"]
      )
      #expect(try member.service.accepted(try desk.certificate, at: world.now) == desk.member.identity)
    }
    _ = desk.service.upgrade(at: world.now)
    for member in [phone, tablet] {
      member.link(desk)
      #expect(try member.number == desk.number && member.names() == ["desk", "phone", "tablet"])
    }
  }

  @Test func `a member of an older version is named when a device is revoked`() throws {
    let world = world()
    let (desk, phone) = (try device("desk", world), try device("phone", world))
    _ = desk.service.upgrade(at: world.now)
    // The greeting of the earlier version says nothing of versions.
    let roster = try phone.member.record.roster
    let greeting = try ValueWriter.array { (writer) throws(SegueError) in
      try writer.put(UInt64(1))
      try writer.put(roster.roster.term)
      try writer.put(roster.roster.number)
      try writer.put(data: roster.digest)
      try writer.put(date: world.now.seconds)
    }
    _ = desk.service.receive(greeting, from: try phone.certificate, at: world.now)
    #expect(try desk.service.devices().filter { $0.isOutdated }.map { $0.name } == ["phone"])
    let tablet = try #require(try desk.member.roster.devices.first { $0.name == "tablet" }?.id)
    desk.events += try desk.service.revoke(tablet, at: world.now)
    #expect(desk.notices().last?.hasPrefix("phone: runs an older Segue, and does not hear that") == true)
    _ = phone.service.upgrade(at: world.now)
    phone.link(desk)
    #expect(try desk.service.devices().allSatisfy { !$0.isOutdated } && phone.names() == ["desk", "phone"])
  }

  @Test func `a revoked device with a stored account stays out, and another one takes over with the old file`() throws {
    let world = world()
    let (phone, tablet, lost) = (try device("phone", world), try device("tablet", world), try device("lost", world))
    let file = try read("recovery")
    for device in [phone, tablet, lost] { _ = device.service.upgrade(at: world.now) }
    _ = try lost.service.recover(file, passphrase: passphrase, at: world.now)
    lost.link(phone)
    #expect(try phone.member.managerName == "desk")
    _ = try phone.service.recover(file, passphrase: passphrase, at: world.now)
    phone.link(tablet)
    #expect(try tablet.member.managerName == "phone" && tablet.names() == ["desk", "phone", "tablet"])
    lost.link(tablet)
    #expect(try tablet.member.managerName == "phone" && phone.service.isManager)
  }

  @Test func `former epochs of a stored account are answered for a year from the migration`() throws {
    let world = world()
    world.wait(days: 100)
    let phone = try device("phone", world)
    _ = phone.service.upgrade(at: world.now)
    let member = try phone.member
    #expect(
      member.roster.epochs.all.count == 2 && member.record.epochDates.all.allSatisfy { $0.date == world.now.seconds })
    #expect(member.roster.epochs.answered(at: world.now.seconds + 365 * 86_400, member.record.epochDates).count == 2)
    #expect(member.roster.epochs.answered(at: world.now.seconds + 367 * 86_400, member.record.epochDates).count == 1)
  }

  @Test func `a disk that is full at the start has it signed anew later`() throws {
    let world = world()
    let desk = try device("desk", world)
    desk.storage.faultIn = 0
    desk.events += desk.service.upgrade(at: world.now)
    #expect(try desk.notices().count == 1 && !desk.member.record.roster.isSignedTwice)
    _ = desk.service.tick(at: world.now)
    #expect(try desk.member.record.roster.isSignedTwice)
  }
}
