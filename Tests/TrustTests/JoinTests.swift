// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Joining: what both ends show, what is stored, what ends it (A11, A16).
@Suite struct JoinTests {
  private func invite(_ manager: Device, isAutomatic: Bool = false) throws -> Invite {
    try manager.service.invite(
      addresses: ["192.0.2.1", "2001:db8::1"], port: 4711, isAutomatic: isAutomatic, at: manager.world.now)
  }

  @Test(arguments: Primitives.allCases)
  func `two devices compare eight digits, and are one account then (R10.5)`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let manager = try world.account("laptop")[0]
    let phone = try world.device("phone")
    let connection = try JoinConnection(manager, phone, try invite(manager))
    connection.approves = false
    connection.run()
    let (asked, shown) = (try #require(connection.asked), try #require(connection.shown))
    #expect(asked.digits == shown.digits && asked.digits.utf8.count == 9)
    #expect(asked.accountName == "Home" && shown.accountName == "Home")
    #expect(asked.deviceName == "phone" && shown.deviceName == "laptop" && asked.device == shown.device)
    // Nothing is stored before the user has decided.
    #expect(try phone.storage.changes == 0 && manager.names() == ["laptop"])
    try connection.approve()
    connection.run()
    #expect(connection.hasInviterEnded && connection.inviterEnd == nil)
    #expect(connection.hasGuestEnded && connection.guestEnd == nil)
    #expect(try manager.names() == ["laptop", "phone"])
    #expect(try manager.service.devices().map { $0.isConfirmed } == [true, true])
    #expect(try phone.id == asked.device && !phone.service.isManager)
    manager.link(phone)
    #expect(try phone.names() == ["laptop", "phone"])
    #expect(try phone.number == manager.number)
    // Each accepts the other from now on.
    #expect(try phone.service.accepted(try manager.certificate, at: world.now) == manager.member.identity)
    #expect(try manager.service.accepted(try phone.certificate, at: world.now) == phone.member.identity)
  }

  @Test func `who stands in between with keys of its own shows other digits, with the leaked token too (A11)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    // Positive control: one connection, the same exporter.
    let direct = try JoinConnection(manager, try world.device("phone"), try invite(manager))
    direct.run()
    #expect(direct.asked?.digits == direct.shown?.digits)
    // Two connections, whose exporters differ: the middleman passes on all messages unchanged.
    for number in 0..<20 {
      let guest = try world.device("phone")
      let split = try JoinConnection(
        manager, guest, try invite(manager), exporters: (UInt8(number), UInt8(number + 1)))
      split.approves = false
      split.run()
      #expect(split.asked != nil && split.asked?.digits != split.shown?.digits)
      split.decline()
      split.run()
      #expect(guest.service.identity == nil && split.guestEnd != nil)
    }
    // A user who approves without a look at the digits gets an error: the confirmation, which only the other end can
    // make, is wrong.
    let hasty = try JoinConnection(manager, try world.device("hasty"), try invite(manager), exporters: (1, 2))
    hasty.run()
    #expect(hasty.inviterEnd?.message.contains("confirmation") == true)
  }

  @Test func `a nonce that was not committed to is refused: digits cannot be tried (A11)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let made = try invite(manager)
    let connection = try JoinConnection(manager, try world.device("phone"), made)
    connection.tamper = { toGuest, number, bytes in
      guard !toGuest, number == 2 else { return [bytes] }
      let other = JoinMessage.opening(nonce: [UInt8](repeating: 9, count: 32))
      return [JoinFraming.frame((try? other.encoding()) ?? [])]
    }
    connection.run()
    #expect(connection.asked == nil)
    #expect(connection.inviterEnd?.message.contains("has changed its nonce") == true)
    #expect(connection.guestEnd?.message.contains("has changed its nonce") == true)
    #expect(manager.service.invite(forKey: made.keyIdentity, at: world.now) == nil)
  }

  @Test func `the digits of many joins are spread over all values`() throws {
    var seen: Set<String> = []
    var firsts: Set<Character> = []
    for number in 0..<200 {
      var transcript = JoinTranscript(exporter: [UInt8](repeating: UInt8(number), count: 32))
      transcript.add([1])
      let digits = transcript.digits(joining: [2], inviting: [3])
      #expect(digits.utf8.count == 9 && Array(digits.utf8)[4] == 0x20)
      seen.insert(digits)
      firsts.insert(digits.first!)
    }
    #expect(seen.count == 200 && firsts.count == 10)
  }

  @Test func `an invite is used once, even if its device did not get in (R10.5, A16)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    for how in ["declined", "closed", "garbage", "late"] {
      let made = try invite(manager)
      let connection = try JoinConnection(manager, try world.device("phone"), made)
      connection.approves = false
      switch how {
      case "declined":
        connection.run()
        connection.decline()
        connection.run()
        #expect(connection.guestEnd?.message.contains("the user declined") == true)
      case "closed":
        connection.run()
        connection.close()
        #expect(connection.guestEnd?.message.contains("ask for a new invite") == true)
      case "garbage":
        connection.tamper = { _, _, _ in [[0, 0, 0, 1, 0xff]] }
        connection.run()
      default:
        connection.run()
        world.wait(seconds: 301)
        connection.tick()
        connection.run()
        #expect(connection.inviterEnd?.status == .remoteApplicationTimedOut)
      }
      #expect(connection.hasInviterEnded && connection.inviterEnd != nil, "\(how)")
      #expect(manager.service.invite(forKey: made.keyIdentity, at: world.now) == nil, "\(how)")
      #expect(try manager.names() == ["laptop"])
    }
  }

  @Test func `a connection that was dialled besides, and said nothing, uses nothing up`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let made = try invite(manager)
    let number = try manager.service.beginInviting(
      try #require(manager.service.invite(forKey: made.keyIdentity, at: world.now)),
      exporter: [UInt8](repeating: 1, count: 32), at: world.now)
    #expect(manager.service.closed(join: number, at: world.now).isEmpty)
    let connection = try JoinConnection(manager, try world.device("phone"), made)
    connection.run()
    #expect(connection.hasGuestEnded && connection.guestEnd == nil)
  }

  @Test func `two who speak with one invite are both turned away, and the user is told (A16)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let made = try invite(manager)
    let first = try JoinConnection(manager, try world.device("phone"), made)
    let second = try JoinConnection(manager, try world.device("thief"), made)
    first.approves = false
    first.run()
    #expect(first.asked != nil)
    let events = manager.service.receive([0], onJoin: second.number, at: world.now)
    let ends = events.compactMap { if case .joinEnded(let number, let error) = $0 { (number, error) } else { nil } }
    #expect(Set(ends.map { $0.0 }) == [first.number, second.number])
    #expect(ends.allSatisfy { $0.1?.message.contains("somebody else may have it") == true })
    #expect(thrown { try first.approve() }?.status == .notFound)
    #expect(try manager.names() == ["laptop"])
  }

  @Test func `an invite ends after ten minutes, and with the process (A16)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let made = try invite(manager)
    world.wait(seconds: 599)
    #expect(!manager.service.openInvites(at: world.now).isEmpty)
    #expect(manager.service.invite(forKey: made.keyIdentity, at: world.now) != nil)
    #expect(manager.service.deadline(at: world.now) == world.now.uptime + 1_000)
    world.wait(seconds: 1)
    #expect(manager.service.invite(forKey: made.keyIdentity, at: world.now) == nil)
    #expect(manager.service.openInvites(at: world.now).isEmpty)
    let other = try invite(manager)
    manager.restart()
    #expect(manager.service.invite(forKey: other.keyIdentity, at: world.now) == nil)
  }

  @Test func `wrong tries wait, and use no invite up (A16)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let made = try invite(manager)
    var allowed = 0
    for number in 0..<2_000 {
      world.now.uptime += 50
      if manager.service.mayTry(from: [6, 6, 6], at: world.now) { allowed += 1 }
      #expect(manager.service.invite(forKey: [UInt8(truncatingIfNeeded: number)], at: world.now) == nil)
    }
    // 100 seconds: five at once, then one each second.
    #expect((100...106).contains(allowed))
    // Another address is not slowed down.
    #expect(manager.service.mayTry(from: [1, 2, 3], at: world.now))
    #expect(manager.service.invite(forKey: made.keyIdentity, at: world.now) != nil)
    // Many addresses together have a limit, too, and cost bounded memory.
    var limiter = SourceRateLimiter(each: Limits.joinTries, all: Limits.joinTriesOfAll)
    let all = (0..<10_000).filter { limiter.take([UInt8($0 & 255), UInt8($0 >> 8)], at: 5) }.count
    #expect(all == Limits.joinTriesOfAll)
  }

  @Test func `a device in an account joins no other before it has left (R10.5)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let phone = try World().account("phone")[0]
    #expect(thrown { try phone.service.checkMayJoin() }?.message.contains("leave it first") == true)
    #expect(thrown { try JoinConnection(manager, phone, try self.invite(manager)) }?.status == .invalidState)
    #expect(
      thrown { try phone.service.create(name: "x", deviceName: "y", platform: "", at: world.now) }?.status
        == .invalidState)
    _ = try phone.service.leave()
    try phone.service.checkMayJoin()
  }

  @Test func `the manager alone invites, and says who it is`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let error = thrown { try self.invite(devices[1]) }
    #expect(error?.status == .notAllowed && error?.message.contains("laptop") == true)
    #expect(thrown { try self.invite(try world.device("none")) }?.status == .notFound)
  }

  @Test func `an account that was created while this device joined stays`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let phone = try world.device("phone")
    let connection = try JoinConnection(manager, phone, try invite(manager))
    connection.approves = false
    connection.run()
    _ = try phone.service.create(name: "Own", deviceName: "phone", platform: "", at: world.now)
    try connection.approve()
    connection.run()
    #expect(connection.guestEnd?.message.contains("leave it first") == true)
    #expect(phone.service.accountName == "Own" && phone.storage.file != nil)
    // The certificate that the manager had made for the phone is revoked again.
    #expect(try manager.names() == ["laptop"])
  }

  @Test func `a manager that leaves ends the joins that are under way`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let connection = try JoinConnection(manager, try world.device("phone"), try invite(manager))
    connection.approves = false
    connection.run()
    let events = try manager.service.leave().events
    #expect(events.map { $0.label } == ["joinSend", "joinEnded", "membershipChanged"])
    #expect(thrown { try connection.approve() }?.status == .notFound)
  }

  @Test(arguments: [String(repeating: "é", count: 70), String(repeating: "🦀", count: 63), "a/CN=b, OU=\"x\"\\"])
  func `any name of an account joins as it is shown`(_ name: String) throws {
    let world = World(.openSSL)
    let manager = try world.device("laptop")
    _ = try manager.service.create(name: name, deviceName: name, platform: "linux", at: world.now)
    #expect(manager.service.accountName == DisplayName.clean(name))
    let phone = try world.device("phone")
    try phone.join(manager)
    #expect(phone.service.accountName == DisplayName.clean(name))
    #expect(try phone.names() == [DisplayName.clean(name), "phone"])
  }

  @Test func `a headless invite admits its device without asking, and no other does`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let quiet = try JoinConnection(manager, try world.device("server"), try invite(manager, isAutomatic: true))
    quiet.approves = false
    quiet.run()
    #expect(try manager.names() == ["laptop", "server"])
    #expect(quiet.asked == nil)
    let asking = try JoinConnection(manager, try world.device("phone"), try invite(manager))
    asking.approves = false
    asking.run()
    #expect(try manager.names() == ["laptop", "server"] && asking.asked != nil)
  }

  @Test(arguments: Primitives.allCases)
  func `an answer of another account than the invite's is refused (A11)`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let manager = try world.account("laptop")[0]
    // The same name, and the same token: only the keys differ.
    let other = try world.account("laptop")[0]
    let made = try invite(manager)
    let forged = try Invite(
      account: made.account, fingerprint: made.fingerprint, accountName: "Home", token: made.token,
      addresses: ["192.0.2.6"], port: 1)
    try other.service.invites.add(forged, isAutomatic: true, at: world.now)
    let phone = try world.device("phone")
    let connection = try JoinConnection(other, phone, forged)
    connection.run()
    #expect(connection.guestEnd?.message.contains("not that of the invite") == true)
    #expect(phone.storage.changes == 0)
    // The one that sent it knows that it was not taken, and revokes what it had made.
    #expect(try other.names() == ["laptop"])
    #expect(try other.member.roster.removed.all.count == 1)
  }

  @Test(arguments: [true, false])
  func `fingerprint and key of an invite are compared, each by itself (A11)`(_ isFingerprint: Bool) throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let made = try invite(manager)
    let changed = try Invite(
      account: isFingerprint ? made.account : Identifier(high: 6, low: 6),
      fingerprint: isFingerprint ? [UInt8](repeating: 6, count: 32) : made.fingerprint, accountName: "Home",
      token: made.token, addresses: ["192.0.2.6"], port: 1)
    let phone = try world.device("phone")
    let connection = try JoinConnection(manager, phone, changed)
    connection.run()
    #expect(connection.guestEnd?.message.contains("not that of the invite") == true)
    #expect(phone.storage.changes == 0 && phone.service.identity == nil)
  }

  @Test func `an invite that names another account than it has is refused (A16)`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let made = try invite(manager)
    let renamed = try Invite(
      account: made.account, fingerprint: made.fingerprint, accountName: "Office", token: made.token,
      addresses: ["192.0.2.6"], port: 1)
    let phone = try world.device("phone")
    let connection = try JoinConnection(manager, phone, renamed)
    connection.run()
    #expect(connection.guestEnd?.message.contains("it is another one") == true)
  }

  @Test func `clocks that differ by more than a day are shown beside the digits at both ends (R10.7, A25)`() throws {
    for days in [-366.0, -2, 2, 366] {
      let world = World()
      let manager = try world.account("laptop")[0]
      let late = World(seed: 2)
      late.now.date += days * 86_400
      let connection = try JoinConnection(manager, Device("phone", manager.cryptography, late), try invite(manager))
      connection.run()
      let (asked, shown) = (try #require(connection.asked?.clocks), try #require(connection.shown?.clocks))
      #expect(asked.here == world.now.seconds && asked.there == late.now.seconds)
      #expect(shown.here == late.now.seconds && shown.there == world.now.seconds)
      // The user admits it. It takes the certificate if that is good by its clock.
      #expect((connection.guestEnd == nil) == (days == 2))
    }
    // Clocks that agree are not shown.
    let world = World()
    let manager = try world.account("laptop")[0]
    let control = try JoinConnection(manager, try world.device("phone"), try invite(manager))
    control.run()
    #expect(control.asked?.clocks == nil && control.shown?.clocks == nil && control.hasGuestEnded)
  }

  @Test func `an automatic invite admits nothing whose clock differs by more than a day (A25)`() throws {
    for (days, isAdmitted) in [(2.0, false), (0.5, true)] {
      let world = World()
      let manager = try world.account("laptop")[0]
      let made = try manager.service.invite(addresses: ["192.0.2.1"], port: 1, isAutomatic: true, at: world.now)
      let late = World(seed: 2)
      late.now.date += days * 86_400
      let connection = try JoinConnection(manager, Device("server", manager.cryptography, late), made)
      connection.run()
      #expect(try manager.names() == (isAdmitted ? ["laptop", "server"] : ["laptop"]))
      #expect((connection.inviterEnd?.message.contains("the clocks differ by 2 days") == true) != isAdmitted)
    }
  }

  @Test func `messages out of turn, doubled or sent back end it (A12)`() throws {
    let world = World()
    for number in 0..<5 {
      let manager = try world.account("laptop")[0]
      let phone = try world.device("phone")
      let doubled = try JoinConnection(manager, phone, try invite(manager))
      doubled.tamper = { _, at, bytes in at == number ? [bytes, bytes] : [bytes] }
      doubled.run()
      // The last one comes when all is over; each other one is not due twice.
      #expect((doubled.inviterEnd == nil && doubled.guestEnd == nil) == (number >= 3))
    }
    // A device's own first message, sent back.
    let guest = try JoinClient(
      invite: try invite(try world.account("laptop")[0]), exporter: [], deviceName: "phone", platform: "",
      at: world.now,
      StandInCryptography(seed: 9))
    var machine = guest
    guard case .send(let hello) = try #require(guest.start.first) else { return }
    let outputs = machine.receive(hello, at: world.now, StandInCryptography(seed: 9))
    guard case .ended(let error) = try #require(outputs.last) else { return }
    #expect(error?.message.contains("not due") == true)
  }

  @Test func `bytes come in any pieces, and no more than 64 KiB`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let phone = try world.device("phone")
    let connection = try JoinConnection(manager, phone, try invite(manager))
    connection.tamper = { _, _, bytes in bytes.map { [$0] } }
    connection.run()
    #expect(try manager.names() == ["laptop", "phone"])
    var framing = JoinFraming()
    #expect(thrown { try framing.append([UInt8](repeating: 0, count: 70_000)) }?.status == .limitExceeded)
    for head: [UInt8] in [[0, 0, 0, 0], [0, 1, 0, 1], [255, 255, 255, 255]] {
      var framing = JoinFraming()
      try framing.append(head)
      #expect(thrown { try framing.next() }?.status == .malformed)
    }
  }

  @Test func `a request with a wrong signature, or another key than Ed25519, is refused`() throws {
    let world = World(.openSSL)
    let cryptography = try world.cryptography()
    let request = try cryptography.makeRequest(key: try cryptography.makeKey())
    _ = try cryptography.readRequest(request)
    for index in request.indices {
      var changed = request
      changed[index] ^= 1
      #expect(thrown { try cryptography.readRequest(changed) } != nil)
    }
    #expect(thrown { try cryptography.readRequest(request + [0]) }?.status == .malformed)
  }
}
