// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// The rights of one device of an account towards the others.
@Suite struct MemberTests {
  private func received(_ device: Device, _ message: TrustMessage, from other: Device) throws -> [AccountEvent] {
    device.service.receive(try message.encoding(), from: try other.certificate, at: device.world.now)
  }

  @Test func `nobody but the manager speaks as the manager`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone, desk) = (devices[0], devices[1], devices[2])
    let refusal = TrustMessage.refusal(status: .declined, reason: "send your keys to 192.0.2.9")
    #expect(try received(phone, refusal, from: manager).count == 1)
    #expect(try received(phone, refusal, from: desk).isEmpty)
    let certificate = TrustMessage.certificate([1])
    #expect(try received(phone, certificate, from: manager).count == 1)
    #expect(try received(phone, certificate, from: desk).isEmpty)
  }

  @Test func `what a member asks for without end is answered, and shown, in rations`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone) = (devices[0], devices[1])
    let old = TrustMessage.numbers(
      term: 0, roster: 0, digest: [UInt8](repeating: 0, count: 32), date: world.now.seconds, version: 3)
    world.wait(seconds: 100)
    let rosters = try (0..<1_000).flatMap { _ in try received(manager, old, from: phone) }
    #expect(rosters.count == Limits.answers)
    world.wait(seconds: 100)
    let shown = try phone.certificate
    let notices = (0..<1_000).flatMap { _ in manager.service.receive([0xff], from: shown, at: world.now) }
    #expect(notices.count == Limits.answers)
    // Another device is served meanwhile.
    #expect(try received(manager, old, from: devices[2]).count == 1)
  }

  @Test func `what a device asks for too early is done in its time, and the newest name counts`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone) = (devices[0], devices[1])
    for name in ["one", "two", "three"] {
      let events = try received(manager, .rename(name), from: phone)
      #expect(events.isEmpty == (name != "one"), "nothing is refused")
    }
    // Another device is served meanwhile.
    _ = try received(manager, .rename("server"), from: devices[2])
    #expect(try manager.names() == ["laptop", "one", "server"])
    #expect(manager.service.deadline(at: world.now) == world.now.uptime + 5_000)
    world.wait(seconds: 4.9)
    #expect(manager.service.tick(at: world.now).isEmpty)
    world.wait(seconds: 0.1)
    #expect(manager.service.tick(at: world.now).contains { $0.label == "devicesChanged" })
    #expect(try manager.names() == ["laptop", "three", "server"])
    world.wait(seconds: 10)
    #expect(manager.service.tick(at: world.now).isEmpty, "the second name is not taken any more")
  }

  @Test func `a name that waits does not take the place of a later one that the manager's user gives`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    for name in ["one", "two"] { _ = try received(manager, .rename(name), from: phone) }
    manager.events += try manager.service.rename(try phone.id, "handy", at: world.now)
    world.wait(seconds: 5)
    #expect(manager.service.tick(at: world.now).isEmpty)
    #expect(try manager.names() == ["laptop", "handy"])
  }

  @Test func `a certificate that is asked for too early comes in its time, once (R10.7)`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    world.wait(days: 190)
    _ = manager.service.tick(at: world.now)
    func certificates(_ events: [AccountEvent]) -> Int {
      events.count { if case .send = $0 { true } else { false } }
    }
    _ = try received(manager, .rename("handy"), from: phone)
    // Names that come all the time do not keep it waiting.
    for _ in 0..<100 {
      #expect(try received(manager, .renew, from: phone).isEmpty)
      #expect(try received(manager, .rename("a name"), from: phone).isEmpty)
    }
    var came = 0
    for _ in 0..<6 {
      world.wait(seconds: 5)
      came += certificates(manager.service.tick(at: world.now))
      _ = try received(manager, .rename("another name"), from: phone)
    }
    #expect(came == 1)
    #expect(try manager.names() == ["laptop", "another name"])
  }

  @Test func `a device that leaves is let go at once, whatever it has asked for before`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone) = (devices[0], devices[1])
    let certificate = try phone.certificate
    for name in ["one", "two"] { _ = try received(manager, .rename(name), from: phone) }
    let (events, _) = try phone.service.leave()
    guard case .send(_, let message)? = events.first else {
      Issue.record("it says nothing")
      return
    }
    manager.events += manager.service.receive(message, from: certificate, at: world.now)
    #expect(try manager.names() == ["laptop", "desk"])
    world.wait(seconds: 5)
    #expect(manager.service.tick(at: world.now).isEmpty && manager.notices().isEmpty, "what it has asked for is void")
  }

  @Test(arguments: [true, false])
  func `a disk that fails has nothing signed twice`(_ hasLeft: Bool) throws {
    let world = World()
    let manager = try world.account("laptop", "phone")[0]
    let desk = try world.device("desk")
    let joining = try JoinConnection(
      manager, desk, try manager.service.invite(addresses: ["192.0.2.1"], port: 4711, at: world.now))
    // Its confirmation is lost.
    joining.tamper = { toGuest, number, bytes in !toGuest && number > 3 ? [] : [bytes] }
    joining.run()
    #expect(try manager.names() == ["laptop", "phone", "desk"])
    let message =
      hasLeft
      ? TrustMessage.leave.encoding
      : { () throws(SegueError) in
        try desk.service.greeting(at: world.now)
      }
    let cryptography = try #require(manager.cryptography as? StandInCryptography)
    let (before, certificate) = (cryptography.signings, try desk.certificate)
    var first: Int?
    for _ in 0..<20 {
      manager.storage.faultIn = 0
      _ = manager.service.receive(try message(), from: certificate, at: world.now)
      first = first ?? cryptography.signings
    }
    let signings = cryptography.signings
    #expect(signings > before && signings == first)
    // When the disk works again, that is what is stored.
    _ = manager.service.receive(try message(), from: certificate, at: world.now)
    #expect(cryptography.signings == signings)
    let devices = try manager.service.devices()
    #expect(devices.map { $0.name } == (hasLeft ? ["laptop", "phone"] : ["laptop", "phone", "desk"]))
    #expect(devices.allSatisfy { $0.isConfirmed })
    manager.restart()
    #expect(try manager.names() == devices.map { $0.name })
  }

  @Test func `an error about another device names it first`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    // A renewal that the manager refuses, at both ends.
    manager.events += try received(manager, .renew, from: phone)
    #expect(manager.notices().last?.hasPrefix("phone: account: the certificate is good until") == true)
    for case .send(_, let message) in manager.events.suffix(2) {
      phone.events += phone.service.receive(message, from: try manager.certificate, at: world.now)
    }
    #expect(phone.notices().last?.hasPrefix("laptop: account: the certificate is good until") == true)
    let behind = Instant(uptime: 0, date: world.now.date - 366 * 86_400)
    manager.events += manager.service.receive(
      try phone.service.greeting(at: behind), from: try phone.certificate, at: world.now)
    #expect(manager.notices().last?.hasPrefix("phone: the clocks differ") == true)
    let source: NoticeSource? = if case .notice(_, let source) = manager.events.last { source } else { nil }
    #expect(try source == .clock(of: phone.id))
    manager.events += manager.service.receive([0xff], from: try phone.certificate, at: world.now)
    #expect(manager.notices().last?.hasPrefix("phone: account message: ") == true)
    #expect(
      thrown { try manager.service.accepted(try phone.certificate, at: behind) }?.message
        .hasPrefix("phone: its certificate begins") == true)
    // The own disk is none of the other device's.
    world.wait(seconds: 10)
    manager.storage.faultIn = 0
    manager.events += try received(manager, .rename("handy"), from: phone)
    #expect(manager.notices().last == "No space left on device")
  }

  @Test func `a device whose link lasts asks for its certificate once a day (R10.7)`() throws {
    let world = World()
    let devices = try world.account("laptop", "server")
    let (manager, server) = (devices[0], devices[1])
    manager.link(server)
    var asked = 0
    for half in 0..<800 {
      world.wait(days: 0.5)
      _ = manager.service.tick(at: world.now)
      for case .send(let to, let message) in server.service.tick(at: world.now) {
        asked += 1
        #expect(try to == manager.id)
        // The first answers are lost.
        if half > 370 { server.send(message, to: manager) }
      }
    }
    #expect(server.service.advice(at: world.now) == nil && asked >= 3 && asked < 20)
  }

  @Test func `a device whose clock is ahead does not use up its certificates (R10.7)`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    for _ in 0..<12 {
      world.wait(days: 1.1)
      let ahead = Instant(uptime: world.now.uptime, date: world.now.date + 210 * 86_400)
      let greeting = try manager.service.greeting(at: world.now)
      let events = phone.service.receive(greeting, from: try manager.certificate, at: ahead)
      #expect(!events.contains { if case .send = $0 { true } else { false } })
      #expect(phone.service.tick(at: ahead).count == 2, "it says what time it is there, and asks")
      _ = try received(manager, .renew, from: phone)
    }
    #expect(try manager.member.roster[phone.id]?.certificates.count == 1)
    world.wait(days: 190)
    manager.link(phone)
    #expect(phone.service.advice(at: world.now) == nil)
    #expect(try !phone.member.isRenewalDue(at: world.now.seconds))
  }

  @Test(arguments: Primitives.allCases)
  func `a clock that was ahead while the account was made locks nobody (R10.7)`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let manager = try world.device("laptop")
    let ahead = Instant(uptime: world.now.uptime, date: world.now.date + 400 * 86_400)
    _ = try manager.service.create(name: "Home", deviceName: "laptop", platform: "linux", at: ahead)
    _ = manager.service.tick(at: world.now)
    #expect(manager.service.advice(at: world.now) == nil)
    let phone = try world.device("phone")
    try phone.join(manager)
    #expect(try manager.service.accepted(try phone.certificate, at: world.now) == phone.member.identity)
  }

  @Test func `connections that say nothing keep nobody from joining with another invite (A16)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let leaked = try manager.service.invite(addresses: ["192.0.2.1"], port: 4711, at: world.now)
    let exporter = [UInt8](repeating: 1, count: 32)
    var error: SegueError?
    for _ in 0..<100 where error == nil {
      error = thrown { try manager.service.beginInviting(leaked, exporter: exporter, at: world.now) }
    }
    #expect(error?.status == .busy && error?.message.contains("somebody else may have it") == true)
    let phone = try world.device("phone")
    try phone.join(manager)
    #expect(try manager.names() == ["laptop", "phone"])
  }

  @Test func `bytes after the answer leave a device outside, not half inside`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let phone = try world.device("phone")
    let invite = try manager.service.invite(addresses: ["192.0.2.1"], port: 4711, at: world.now)
    let connection = try JoinConnection(manager, phone, invite)
    connection.tamper = { toGuest, _, bytes in toGuest && bytes.count > 300 ? [bytes + [0, 0, 0, 1, 0x80]] : [bytes] }
    connection.run()
    #expect(connection.guestEnd?.message.contains("not due") == true && phone.storage.file == nil)
    #expect(try manager.names() == ["laptop"])
  }

  @Test func `a recovery file in an old form of encryption is refused, and nobody is asked for its passphrase (A9)`()
    throws
  {
    let cryptography = try World(.openSSL).cryptography()
    let made = try cryptography.seal(try cryptography.makeKey(), passphrase: Array("correct horse battery".utf8))
    let head = Array("-----BEGIN ENCRYPTED PRIVATE KEY-----\n".utf8)
    #expect(made.starts(with: head))
    let old = head + Array("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n".utf8)
    // Without a terminal, OpenSSL would read the passphrase from the standard input.
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0 && write(ends[1], "x\n", 2) == 2)
    let input = dup(0)
    dup2(ends[0], 0)
    let error = thrown {
      try cryptography.open(old + made.dropFirst(head.count), passphrase: Array("correct horse battery".utf8))
    }
    dup2(input, 0)
    var waiting = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    #expect(error?.status == .malformed && poll(&waiting, 1, 0) == 1)
    for end in ends + [input] { close(end) }
  }
}
