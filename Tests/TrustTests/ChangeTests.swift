// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Renaming, leaving, recovery, and what linked devices tell each other.
@Suite struct ChangeTests {
  private let passphrase = "correct horse battery"

  @Test func `a device renames itself through the manager, and the manager renames any`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone) = (devices[0], devices[1])
    let events = try phone.service.rename(nil, "Ada's\u{202e} phone", at: world.now)
    guard case .send(let to, let message) = try #require(events.first) else { return }
    #expect(try to == manager.id)
    phone.send(message, to: manager)
    #expect(try manager.names() == ["laptop", "Ada's phone", "desk"])
    #expect(try phone.names() == ["laptop", "Ada's phone", "desk"])
    _ = try manager.service.rename(try devices[2].id, "server", at: world.now)
    manager.link(devices[2])
    #expect(try devices[2].names() == ["laptop", "Ada's phone", "server"])
    #expect(thrown { try phone.service.rename(try devices[2].id, "x", at: world.now) }?.status == .notAllowed)
    #expect(thrown { try phone.service.rename(nil, "", at: world.now) }?.status == .invalidArgument)
    #expect(
      thrown { try manager.service.rename(Identifier(high: 9, low: 9), "x", at: world.now) }?.status == .notFound)
  }

  @Test func `a roster reaches devices through any other one, and only a newer one counts`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone, desk) = (devices[0], devices[1], devices[2])
    let old = try manager.member.record.roster
    _ = try manager.service.rename(nil, "big laptop", at: world.now)
    manager.link(phone)
    phone.link(desk)
    #expect(try desk.names()[0] == "big laptop")
    let known = try desk.number
    for roster in [old, try desk.member.record.roster] {
      phone.send(try roster.message(), to: desk)
      #expect(try desk.number == known)
    }
    // A link between two that know the same is quiet, and a message of a later version is skipped.
    #expect(phone.link(desk) == 2)
    let later = try ValueWriter.array { (writer) throws(SegueError) in try writer.put(UInt64(99)) }
    #expect(desk.service.receive(later, from: try phone.certificate, at: world.now).isEmpty)
  }

  @Test(arguments: Primitives.allCases)
  func `a roster that the account has not signed, or of another account, is refused (A15)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone", "desk")
    let phone = devices[1]
    let other = try world.account("laptop", "x")[0]
    _ = try other.service.rename(nil, "evil", at: Instant(uptime: 0, date: world.now.date + 9_999))
    let foreign = try other.member.record.roster
    let own = try devices[2].member
    // Signed with the key of a device, which is not that of the account.
    var forged = own.roster
    forged.number += 1
    let encoding = try forged.encoding()
    let signature = try devices[2].cryptography.sign(
      StaticString("segue roster 3\n").bytes + encoding, with: own.record.key)
    let number = try phone.number
    for (encoding, signature) in [
      (foreign.encoding, foreign.signature), (encoding, signature), (encoding, own.record.roster.signature),
      (own.record.roster.encoding, [UInt8](repeating: 0, count: 64)),
    ] {
      let message = TrustMessage.roster(encoding: encoding, signature: signature, managerSignature: signature)
      devices[2].send(try message.encoding(), to: phone)
      #expect(try phone.number == number)
      #expect(phone.notices().last?.contains("not signed with the key of this account") == true)
    }
  }

  @Test func `nothing that a revoked device says counts, nor its certificate (R10.6, A15)`() throws {
    let world = World(.openSSL)
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone, desk) = (devices[0], devices[1], devices[2])
    let certificate = try phone.certificate
    let message = try TrustMessage.rename("still here").encoding()
    // Positive control.
    #expect(
      manager.service.receive(message, from: certificate, at: world.now).contains { $0.label == "devicesChanged" })
    world.wait(seconds: 10)
    _ = try manager.service.revoke(try phone.id, at: world.now)
    manager.link(desk)
    for (device, message) in [
      (manager, message), (manager, try TrustMessage.renew.encoding()),
      (
        desk,
        try TrustMessage.numbers(
          term: 1, roster: 1, digest: [UInt8](repeating: 0, count: 32), date: world.now.seconds, version: 3
        ).encoding()
      ),
      (
        desk,
        try { () throws -> [UInt8] in
          let roster = try phone.member.record.roster
          return try roster.message()
        }()
      ),
    ] {
      let events = device.service.receive(message, from: certificate, at: world.now)
      #expect(events.map { $0.label } == ["cut", "notice"])
    }
    // It never gets the new epoch from them: nothing is sent.
    #expect(try phone.service.epochKeys(at: world.now)[0].epoch != manager.service.epochKeys(at: world.now)[0].epoch)
    // It may hear of it all the same (from the roster that another one passes on), and says what to do then.
    let roster = try manager.member.record.roster
    manager.send(try roster.message(), to: phone)
    guard case .unusable(let error) = phone.service.status else {
      Issue.record("still a member")
      return
    }
    #expect(error.message.contains("removed from the account"))
    #expect(thrown { try phone.service.credentials(at: world.now) }?.status == .notAllowed)
    #expect(try phone.service.epochKeys(at: world.now).isEmpty)
    _ = try phone.service.leave()
    try phone.service.checkMayJoin()
  }

  @Test func `a device that leaves forgets its keys, and the manager revokes it`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone) = (devices[0], devices[1])
    let certificate = try phone.certificate
    let (events, aside) = try phone.service.leave()
    #expect(aside.isEmpty && phone.storage.file == nil && phone.service.identity == nil)
    guard case .send(_, let message) = try #require(events.first) else { return }
    _ = manager.service.receive(message, from: certificate, at: world.now)
    #expect(try manager.names() == ["laptop", "desk"])
    #expect(thrown { try manager.service.accepted(certificate, at: world.now) } != nil)
    let error = thrown { try manager.service.leave() }
    #expect(error?.status == .invalidState && error?.message.contains("recovery file") == true)
    _ = try manager.service.leave(isAbandoning: true)
    #expect(thrown { try manager.service.leave() }?.status == .notFound)
  }

  @Test func `a manager that is replaced admits nobody any more, with invites that it made before neither`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    let file = try manager.service.recoveryFile(passphrase: passphrase)
    func invite() throws -> Invite {
      try manager.service.invite(addresses: ["192.0.2.1"], port: 4711, at: world.now)
    }
    _ = try invite()
    let joining = try JoinConnection(manager, try world.device("desk"), try invite())
    joining.approves = false
    joining.run()
    #expect(joining.asked != nil && !manager.service.openInvites(at: world.now).isEmpty)
    _ = try phone.service.recover(file, passphrase: passphrase, at: world.now)
    phone.link(manager)
    #expect(manager.service.openInvites(at: world.now).isEmpty && !manager.service.isManager)
    let ends = manager.events.compactMap { if case .joinEnded(_, let error) = $0 { error } else { nil } }
    #expect(ends.map { $0.status } == [.notAllowed])
    // The other device is told.
    #expect(manager.events.contains { if case .joinSend = $0 { true } else { false } })
    #expect(thrown { try joining.approve() }?.status == .notFound)
    #expect(manager.notices().contains { $0.contains("its invites are void") })
  }

  @Test(arguments: Primitives.allCases)
  func `the recovery file makes another device the manager, and the former one stops (R10.6)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone, desk) = (devices[0], devices[1], devices[2])
    #expect(thrown { try manager.service.recoveryFile(passphrase: "too short") }?.message.contains("12") == true)
    #expect(thrown { try phone.service.recoveryFile(passphrase: self.passphrase) }?.status == .notAllowed)
    let file = try manager.service.recoveryFile(passphrase: passphrase)
    #expect(thrown { try phone.service.recover(file, passphrase: "wrong horse battery", at: world.now) } != nil)
    #expect(!phone.service.isManager)
    _ = try phone.service.recover(file, passphrase: passphrase, at: world.now)
    #expect(phone.service.isManager)
    phone.link(manager)
    #expect(try !manager.service.isManager && !manager.member.record.isManager)
    #expect(thrown { try manager.service.revoke(try desk.id, at: world.now) }?.message.contains("phone") == true)
    _ = try phone.service.revoke(try manager.id, at: world.now)
    phone.link(desk)
    #expect(try desk.names() == ["phone", "desk"])
    #expect(try desk.service.devices().filter { $0.isManager }.map { $0.name } == ["phone"])
    // Refused: the recovery file of another account, a damaged one, and an empty one.
    let other = try world.account("other")[0]
    #expect(
      thrown { try other.service.recover(file, passphrase: self.passphrase, at: world.now) }?.status == .notAllowed)
    for damaged in [[], Array("junk".utf8), Array(file.dropLast(40)), [UInt8](repeating: 65, count: 10_000)] {
      #expect(thrown { try desk.service.recover(damaged, passphrase: self.passphrase, at: world.now) } != nil)
    }
    #expect(!desk.service.isManager)
  }

  @Test func `no revocation is lost when a device becomes the manager that has slept through it (R10.6)`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk", "lost")
    let (manager, phone, desk, lost) = (devices[0], devices[1], devices[2], devices[3])
    let file = try manager.service.recoveryFile(passphrase: passphrase)
    let certificate = try lost.certificate
    world.wait(days: 1)
    _ = try manager.service.revoke(try lost.id, at: world.now)
    let tablet = try world.device("tablet")
    try tablet.join(manager)
    manager.link(desk)
    #expect(thrown { try desk.service.accepted(certificate, at: world.now) } != nil)
    // The phone knows neither, and takes over; its numbers are higher.
    world.wait(days: 1)
    _ = try phone.service.recover(file, passphrase: passphrase, at: world.now)
    #expect(try phone.number > desk.number)
    _ = try phone.service.accepted(certificate, at: world.now)
    phone.link(desk)
    for device in [phone, desk] {
      #expect(thrown { try device.service.accepted(certificate, at: world.now) }?.message.contains("removed") == true)
      // A device that the former manager has admitted meanwhile has to be invited again.
      #expect(try device.names() == ["laptop", "phone", "desk"])
    }
    #expect(try phone.number == desk.number)
    // The former manager hears of it, gives up the key, and agrees.
    phone.link(manager)
    #expect(!manager.service.isManager && phone.service.isManager)
    #expect(try manager.number == phone.number)
    #expect(try Set([phone, desk, manager].map { try $0.service.epochKeys(at: world.now)[0].epoch }).count == 1)
  }

  @Test func `a manager that was restored from a backup takes up what it had signed since`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "lost")
    let (manager, phone) = (devices[0], devices[1])
    let backup = manager.storage.file
    let certificate = try devices[2].certificate
    world.wait(days: 1)
    _ = try manager.service.revoke(try devices[2].id, at: world.now)
    manager.link(phone)
    manager.storage.file = backup
    manager.restart()
    #expect(try manager.names() == ["laptop", "phone", "lost"])
    phone.link(manager)
    #expect(try manager.names() == ["laptop", "phone"])
    #expect(thrown { try manager.service.accepted(certificate, at: world.now) } != nil)
    #expect(try manager.number == phone.number)
  }

  @Test func `an account has 64 devices, and says so`() throws {
    let world = World(.openSSL)
    let manager = try world.account("laptop")[0]
    var member = try manager.member
    for number in 1..<Limits.devices {
      let key = try manager.cryptography.publicKey(of: try manager.cryptography.makeKey())
      let (record, _) = try member.admitting(
        publicKey: key, name: "device \(number)", platform: "linux", at: world.now.seconds, manager.cryptography)
      member = try manager.membership(record)
    }
    try manager.service.keep(member.record, at: world.now)
    let error = thrown { try world.device("one more").join(manager) }
    #expect(error?.message.contains("64 devices") == true)
    #expect(try manager.member.record.roster.encoding.count < Limits.rosterBytes)
    #expect(try manager.member.record.encoding(try manager.rootKey, manager.cryptography).count < Limits.accountFile)
  }

  @Test func `clocks that differ are reported over links, certificates by date with what to do (R10.7)`() throws {
    let world = World(.openSSL)
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    let behind = Instant(uptime: 0, date: world.now.date - 366 * 86_400)
    _ = manager.service.receive(try phone.service.greeting(at: behind), from: try phone.certificate, at: world.now)
    manager.events += manager.service.receive(
      try phone.service.greeting(at: behind), from: try phone.certificate, at: world.now)
    #expect(manager.notices().last?.contains("clocks differ by 366 days") == true)
    #expect(phone.service.advice(at: world.now) == nil)
    let early = try #require(phone.service.advice(at: behind))
    #expect(early.message.contains("the clock is wrong; set it") && early.message.contains("2025-11-22"))
    #expect(thrown { try phone.service.credentials(at: behind) } == early)
    let ahead = Instant(uptime: 0, date: world.now.date + 366 * 86_400)
    let late = try #require(phone.service.advice(at: ahead))
    #expect(late.message.contains("ended at 2027-11-23") && late.message.contains("join again with an invite"))
    #expect(
      thrown { try manager.service.accepted(try phone.certificate, at: ahead) }?.message.contains("has to join again")
        == true)
    #expect(
      thrown { try manager.service.accepted(try phone.certificate, at: behind) }?.message.contains("clocks is wrong")
        == true)
    // The manager renews its own one, however long it slept.
    _ = manager.service.tick(at: ahead)
    #expect(manager.service.advice(at: ahead) == nil)
    // And again when the clock is set right.
    _ = manager.service.tick(at: world.now)
    #expect(manager.service.advice(at: world.now) == nil)
  }

  @Test func `dates are written as people read them`() {
    #expect(ClockAdvice.text(0) == "1970-01-01 00:00")
    #expect(ClockAdvice.text(951_782_400) == "2000-02-29 00:00")
    #expect(ClockAdvice.text(1_795_392_000 + 15_300) == "2026-11-23 04:15")
    #expect(ClockAdvice.text(.max) == "9999-12-31 23:59")
    #expect(Instant(uptime: 0, date: .nan).seconds == 0 && Instant(uptime: 0, date: .infinity).seconds > 0)
  }

  @Test func `a manager that has slept until its certificate ended renews it within minutes of being awake (R10.7)`()
    throws
  {
    let world = World()
    let manager = try world.account("laptop")[0]
    let before = manager.service.snapshot(at: world.now)
    // While it sleeps its uptime stands still.
    world.now.date += 400 * 86_400
    #expect(throws: SegueError.self) { try manager.service.credentials(at: world.now) }
    let due = try #require(before.nextTick(after: world.now.uptime))
    #expect(due <= world.now.uptime + 300_000)
    world.now.uptime = due
    _ = manager.service.tick(at: world.now)
    _ = try manager.service.credentials(at: world.now)
  }

  @Test func `a certificate that is not valid is looked at every 30 seconds, the clock may be set`() throws {
    let world = World()
    let phone = try world.account("laptop", "phone")[1]
    world.now.date += 400 * 86_400
    let snapshot = phone.service.snapshot(at: world.now)
    #expect(snapshot.advice != nil && snapshot.credentials == nil && snapshot.epochs.isEmpty)
    #expect(snapshot.nextTick(after: world.now.uptime) == world.now.uptime + 30_000)
    #expect(AccountSnapshot().nextTick(after: 0) == nil)
  }

  @Test func `a revocation by a clock that was behind does not end the former epoch (R10.6)`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "lost")
    world.now.date -= 500 * 86_400
    _ = try devices[0].service.revoke(try devices[2].id, at: world.now)
    world.now.date += 500 * 86_400
    _ = devices[0].service.tick(at: world.now)
    // By it the phone, which has not heard of that, finds the laptop.
    let known = try devices[1].service.epochKeys(at: world.now)[0].knock
    #expect(try devices[0].service.epochKeys(at: world.now).contains { $0.knock == known })
  }
}
