// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// No wrong clock undoes a revocation (A25).
@Suite struct WrongClockTests {
  private func ahead(_ world: World, days: Double = 400) -> Instant {
    Instant(uptime: world.now.uptime, date: world.now.date + days * 86_400)
  }

  /// Whether a device is sent a certificate.
  private func isRenewed(_ events: [AccountEvent]) -> Bool {
    events.contains { event in
      guard case .send(_, let message) = event, case .certificate? = try? TrustMessage.known(message) else {
        return false
      }
      return true
    }
  }

  @Test(arguments: Primitives.allCases)
  func `a revoked device stays out though the manager's clock jumps, and a device sleeps through it (A25)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let devices = try world.account("desk", "phone", "lost")
    let (desk, phone, lost) = (devices[0], devices[1], devices[2])
    let certificate = try lost.certificate
    _ = try desk.service.revoke(try lost.id, at: world.now)
    // For four seconds the clock is 400 days ahead; the agent signs by itself meanwhile.
    let number = try desk.number
    for _ in 0..<4 {
      world.wait(seconds: 1)
      _ = desk.service.tick(at: ahead(world))
    }
    #expect(try desk.number > number)
    world.wait(days: 1)
    _ = desk.service.tick(at: world.now)
    phone.link(desk)
    for device in [desk, phone] {
      device.link(lost)
      #expect(try device.member.roster.removed.has(lost.id) && device.names() == ["desk", "phone"], "\(device.name)")
      #expect((try? device.service.accepted(certificate, at: world.now)) == nil, "\(device.name)")
    }
    #expect(desk.link(phone) == 2)
  }

  @Test func `no serial of a removal is dropped by a date (A25)`() throws {
    let world = World()
    let devices = try world.account("desk", "lost")
    let (desk, lost) = (devices[0], devices[1])
    let first = try lost.member.certificate.serial
    world.wait(days: 190)
    desk.link(lost)
    let second = try lost.member.certificate.serial
    let later = ahead(world, days: 1_000)
    _ = try desk.service.revoke(try lost.id, at: later)
    _ = try desk.service.rename(nil, "desk 2", at: ahead(world, days: 2_000))
    let serials = try desk.member.roster.removed.serials
    #expect(serials.contains(first) && serials.contains(second))
  }

  @Test func `a manager that merges under a wrong clock keeps what both lines have removed (A25)`() throws {
    let world = World()
    let devices = try world.account("desk", "lost", "old", "phone")
    let (desk, lost, old, phone) = (devices[0], devices[1], devices[2], devices[3])
    _ = try desk.service.revoke(try old.id, at: world.now)
    let backup = desk.storage.file
    _ = try desk.service.revoke(try lost.id, at: world.now)
    desk.link(phone)
    desk.storage.file = backup
    desk.restart()
    let signed = try phone.member.record.roster
    let adoption = try desk.member.adopting(
      signed.encoding, signed.signature, signed.managerSignature, at: ahead(world, days: 4_000).seconds,
      desk.cryptography)
    guard case .newer(let record, hasMerged: true) = adoption else {
      Issue.record("nothing was merged")
      return
    }
    let roster = record.roster.roster
    #expect(try roster.removed.has(lost.id) && roster.removed.has(old.id) && roster[phone.id] != nil)
  }

  @Test func `a renewal waits while the clocks differ, and is made when they agree (A25)`() throws {
    let world = World()
    let devices = try world.account("desk", "phone")
    let (desk, phone) = (devices[0], devices[1])
    world.wait(days: 190)
    _ = desk.service.tick(at: world.now)
    let first = try phone.certificate
    // The device asks, whose clock is right; that of the manager is not.
    let wrong = ahead(world, days: 30)
    desk.events += desk.service.receive(try phone.service.greeting(at: world.now), from: first, at: wrong)
    let asked = desk.service.receive(try TrustMessage.renew.encoding(), from: first, at: wrong)
    #expect(!asked.contains { if case .send = $0 { true } else { false } })
    #expect(desk.notices().contains { $0.contains("the clocks differ by 30 days") })
    // Nothing is due before it is looked at anyway.
    #expect(desk.service.deadline(at: wrong) == wrong.uptime + Limits.dateCheck)
    world.wait(seconds: 300)
    let sent = desk.service.tick(at: world.now)
    #expect(sent.contains { if case .send(_, let message) = $0 { message.count > 100 } else { false } })
    // Its own certificate the manager always renews.
    let own = try desk.certificate
    _ = desk.service.tick(at: ahead(world, days: 200))
    #expect(try desk.certificate != own)
  }

  @Test func `a device whose clock was set after its link began gets its renewal when it asks again (A25)`() throws {
    let world = World()
    let devices = try world.account("desk", "phone")
    let (desk, phone) = (devices[0], devices[1])
    world.wait(days: 190)
    _ = desk.service.tick(at: world.now)
    // The device starts with a clock that is three days behind, links and asks.
    func behind() -> Instant { Instant(uptime: world.now.uptime, date: world.now.date - 3 * 86_400) }
    let first = try phone.certificate
    func tell(_ events: [AccountEvent]) throws -> [AccountEvent] {
      var answers: [AccountEvent] = []
      for event in events {
        switch event {
        case .send(_, let message), .sendToAll(_, let message):
          answers += desk.service.receive(message, from: try phone.certificate, at: world.now)
        default: break
        }
      }
      return answers
    }
    desk.events += desk.service.receive(try phone.service.greeting(at: behind()), from: first, at: world.now)
    #expect(try !isRenewed(tell(phone.service.tick(at: behind()))))
    // Its clock is set a minute later. The manager hears that, and does what it was asked for.
    world.wait(seconds: 60)
    let said = phone.service.tick(at: world.now)
    #expect(said.contains { $0.label == "sendToAll" })
    _ = try tell(said)
    world.wait(seconds: 300)
    #expect(isRenewed(desk.service.tick(at: world.now)))
    #expect(phone.service.tick(at: world.now).isEmpty, "nothing was set since")
  }

  @Test func `a request for a certificate says what time it is there (A25)`() throws {
    let world = World()
    let devices = try world.account("desk", "phone")
    let (desk, phone) = (devices[0], devices[1])
    world.wait(days: 190)
    _ = desk.service.tick(at: world.now)
    let certificate = try phone.certificate
    let behind = Instant(uptime: world.now.uptime, date: world.now.date - 3 * 86_400)
    _ = desk.service.receive(try phone.service.greeting(at: behind), from: certificate, at: world.now)
    // Its agent has started again since, over a link that lasts, with the right time.
    phone.restart()
    world.wait(seconds: 10)
    var answers: [AccountEvent] = []
    for case .send(_, let message) in phone.service.tick(at: world.now) {
      answers += desk.service.receive(message, from: certificate, at: world.now)
    }
    #expect(isRenewed(answers))
  }

  @Test func `a manager whose clock was ahead sets its dates right, and keeps them so when it signs at once (A25)`()
    throws
  {
    let world = World()
    let devices = try world.account("desk", "phone", "lost")
    let (desk, phone) = (devices[0], devices[1])
    _ = try desk.service.revoke(try devices[2].id, at: ahead(world, days: 3_650))
    var roster = try desk.member.roster
    for index in roster.devices.indices { roster.devices[index].isConfirmed = false }
    try desk.service.keep(
      try desk.member.signed(roster, at: world.now.seconds, to: "test", desk.cryptography), at: world.now)
    #expect(try desk.member.record.epochDates.isAhead(of: world.now.seconds))
    let number = try desk.number
    _ = desk.service.receive(
      try phone.service.greeting(at: world.now), from: try phone.certificate, at: world.now)
    #expect(try desk.number > number && desk.member.roster[phone.id]?.isConfirmed == true)
    #expect(try !desk.member.record.epochDates.isAhead(of: world.now.seconds))
  }

  @Test func `control: an account a week old admits its second device (A25)`() throws {
    let world = World()
    let desk = try world.account("desk")[0]
    world.wait(days: 7)
    _ = desk.service.tick(at: world.now)
    try world.device("phone").join(desk)
    #expect(try desk.names() == ["desk", "phone"])
  }

  @Test func `a former epoch is answered for a year after its successor was stored here, by no other clock (A25)`()
    throws
  {
    let world = World()
    let devices = try world.account("desk", "phone", "lost")
    let (desk, phone, lost) = (devices[0], devices[1], devices[2])
    let former = try phone.service.epochKeys(at: world.now)[0].epoch
    // The manager revokes by a clock that is ten years ahead.
    _ = try desk.service.revoke(try lost.id, at: ahead(world, days: 3_650))
    desk.link(phone)
    func isAnswered(_ device: Device) throws -> Bool {
      try device.member.roster.epochs.answered(at: world.now.seconds, device.member.record.epochDates)
        .contains { $0.number == former }
    }
    // It hears from a device whose clock agrees that its own was wrong.
    phone.link(desk)
    phone.restart()
    world.wait(days: 365)
    #expect(try isAnswered(phone) && isAnswered(desk))
    world.wait(days: 2)
    #expect(try !isAnswered(phone))
    #expect(try !isAnswered(desk))
  }
}
