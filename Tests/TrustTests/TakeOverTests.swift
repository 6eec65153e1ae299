// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// A holder of the key of the account, also a former one, lets no device in (A24).
@Suite struct TakeOverTests {
  private let passphrase = "correct horse battery"

  private func accepts(_ device: Device, _ other: Device) -> Bool {
    guard let certificate = try? other.certificate else { return false }
    return (try? device.service.accepted(certificate, at: device.world.now)) != nil
  }

  /// Whether a device has sent another one anything with the secret of its epoch.
  private func isTold(_ device: Device, _ other: Device) throws -> Bool {
    let old = try other.service.greeting(at: other.world.now)
    let events = device.service.receive(old, from: try other.certificate, at: device.world.now)
    return events.contains { if case .send = $0 { true } else { false } }
  }

  /// An account whose manager was revoked after a takeover, and kept the recovery file; and a device that it admits.
  private struct Attack {
    let world: World
    /// The new manager, and another device.
    let laptop, tablet: Device
    let former, stranger: Device
    let file: [UInt8]
  }

  /// - Parameter recovers: whether the former manager takes over again, in another term, before it admits the stranger.
  private func attack(_ primitives: Primitives = .standIn, recovers: Bool) throws -> Attack {
    let world = World(primitives)
    let devices = try world.account("desk", "laptop", "tablet")
    let (desk, laptop, tablet) = (devices[0], devices[1], devices[2])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    _ = try laptop.service.revoke(try desk.id, at: world.now)
    laptop.link(tablet)
    world.wait(days: 1)
    if recovers {
      for _ in 0..<3 { _ = try desk.service.recover(file, passphrase: passphrase, at: world.now) }
    }
    let stranger = try world.device("xray")
    try stranger.join(desk)
    #expect(try desk.names().contains("xray"))
    return Attack(world: world, laptop: laptop, tablet: tablet, former: desk, stranger: stranger, file: file)
  }

  /// The verdict of a device on the list that another one has.
  private func verdict(of device: Device, on other: Device) throws -> Membership.Adoption {
    let theirs = try other.member.record.roster
    return try device.member.adopting(
      theirs.encoding, theirs.signature, theirs.managerSignature, at: device.world.now.seconds, device.cryptography)
  }

  @Test func `a list of an earlier term is no news, and waits for nobody (A24)`() throws {
    let attack = try attack(recovers: false)
    guard case .known = try verdict(of: attack.tablet, on: attack.former) else {
      return #expect(Bool(false), "it would wait for the user")
    }
  }

  @Test func `a manager takes no removal from a manager whom it has never listed (A24)`() throws {
    let attack = try attack(recovers: false)
    let (stranger, now) = (attack.stranger, attack.world.now)
    _ = try stranger.service.recover(attack.file, passphrase: passphrase, at: now)
    _ = try stranger.service.revoke(try attack.tablet.id, at: now)
    #expect(try stranger.member.roster.term == attack.laptop.member.roster.term)
    guard case .aside = try verdict(of: attack.laptop, on: stranger) else {
      return #expect(Bool(false), "it takes it, or the user does not hear of it")
    }
  }

  private func expectOut(_ stranger: Device, of devices: [Device], _ line: Int = #line) throws {
    for device in devices {
      device.link(stranger)
      #expect(!accepts(device, stranger), "\(device.name), line \(line)")
      #expect(try !device.names().contains(stranger.name), "\(device.name), line \(line)")
      #expect(try !isTold(device, stranger), "\(device.name), line \(line)")
      let secret = try device.member.roster.epochs.current.secret
      #expect(try !stranger.member.roster.epochs.all.contains { $0.secret == secret }, "\(device.name), line \(line)")
    }
  }

  @Test(arguments: Primitives.allCases, [false, true])
  func `what a former manager admits is refused everywhere, in its old term and in any other (A24)`(
    _ primitives: Primitives, _ recovers: Bool
  ) throws {
    let attack = try attack(primitives, recovers: recovers)
    try expectOut(attack.stranger, of: [attack.laptop, attack.tablet])
    // The list that it brings waits for the user, if it is of another term; by default it does not count.
    for device in [attack.laptop, attack.tablet] {
      #expect(device.service.takeOvers.map { $0.name } == (recovers ? ["desk"] : []))
      #expect(device.notices().contains { $0.contains("recovery file") } == recovers)
      device.restart()
      #expect(device.service.takeOvers.count == (recovers ? 1 : 0), "it is in the file")
      #expect(try device.member.managerName == "laptop")
    }
    // It is shown, and can be revoked by its identifier.
    for device in [attack.laptop, attack.tablet] {
      device.events += device.service.refuse(try attack.stranger.certificate, at: attack.world.now)
      let stranger = try attack.stranger.id
      #expect(device.service.snapshot(at: attack.world.now).refused.map { $0.device } == [stranger])
      #expect(device.notices().last?.contains("not in its list of devices") == true)
      // An error in a message of the stranger names the stranger.
      device.events += device.service.receive(
        [0x86, 1, 1, 1, 1, 1, 1], from: try attack.stranger.certificate, at: attack.world.now)
      let wrong = try #require(device.notices().last)
      #expect(wrong.hasPrefix("\(stranger.fingerprint): account message: "), "\(wrong)")
      let events = device.service.receive(
        try TrustMessage.numbers(term: 0, roster: 0, digest: [], date: 0, version: 3).encoding(),
        from: try attack.stranger.certificate, at: attack.world.now)
      #expect(events.allSatisfy { if case .notice(_, .unlisted) = $0 { true } else { false } })
    }
    let serial = try attack.stranger.member.certificate.serial
    _ = try attack.laptop.service.revoke(try attack.stranger.id, at: attack.world.now)
    #expect(try attack.laptop.member.roster.removed.has(attack.stranger.id))
    #expect(try attack.laptop.member.roster.removed.serials.contains(serial))
    #expect(attack.laptop.service.refused.isEmpty)
    attack.laptop.link(attack.tablet)
    #expect(try attack.tablet.member.roster.removed.has(attack.stranger.id) && attack.tablet.service.refused.isEmpty)
    #expect(
      thrown { try attack.laptop.service.revoke(Identifier(high: 7, low: 7), at: attack.world.now) }?.status
        == .notFound)
  }

  @Test func `an error of a device that is not listed begins with its fingerprint (A24)`() throws {
    let attack = try attack(recovers: false)
    let fingerprint = try attack.stranger.id.fingerprint
    // A list of the earlier version, and no message at all.
    for words in [try ValueWriter.array { (writer) throws(SegueError) in try writer.put(UInt64(2)) }, [0xFF]] {
      attack.laptop.events = attack.laptop.service.receive(
        words, from: try attack.stranger.certificate, at: attack.world.now)
      #expect(attack.laptop.notices().map { $0.hasPrefix("\(fingerprint): ") } == [true])
    }
  }

  @Test func `the device that was admitted so takes over with the file, and puts no device out (A24)`() throws {
    for recovers in [false, true] {
      let attack = try attack(recovers: recovers)
      _ = try attack.stranger.service.recover(attack.file, passphrase: passphrase, at: attack.world.now)
      _ = try attack.stranger.service.revoke(try attack.former.id, at: attack.world.now)
      try expectOut(attack.stranger, of: [attack.laptop, attack.tablet])
      #expect(try attack.laptop.service.isManager && attack.laptop.names() == ["laptop", "tablet"])
      #expect(try attack.tablet.member.managerName == "laptop")
      #expect(attack.laptop.service.takeOvers.map { $0.name } == ["xray"])
      // The user knows better: what is accepted is what was shown.
      let waiting = try #require(attack.tablet.service.takeOvers.first)
      #expect(
        thrown { try attack.tablet.service.accept(waiting.digest, of: try attack.laptop.id, at: attack.world.now) }?
          .status == .notFound)
      _ = try attack.tablet.service.accept(waiting.digest, of: waiting.device, at: attack.world.now)
      #expect(try attack.tablet.member.managerName == "xray" && attack.tablet.service.takeOvers.isEmpty)
      // Later ones of that manager count by themselves.
      _ = try attack.stranger.service.rename(nil, "yankee", at: attack.world.now)
      attack.stranger.link(attack.tablet)
      #expect(try attack.tablet.member.managerName == "yankee")
    }
  }

  @Test func `a takeover by a device that was admitted meanwhile counts once the user has accepted it (A24)`() throws {
    let world = World()
    let devices = try world.account("desk", "sleeper")
    let (desk, sleeper) = (devices[0], devices[1])
    world.wait(days: 1)
    let laptop = try world.device("laptop")
    try laptop.join(desk)
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    laptop.link(sleeper)
    #expect(try sleeper.member.managerName == "desk")
    let waiting = try #require(sleeper.service.takeOvers.first)
    #expect(try waiting.device == laptop.id && waiting.term == 2 && waiting.date == world.now.seconds)
    #expect(waiting.digest == (try laptop.member.record.roster.digest))
    let events = try sleeper.service.accept(waiting.digest, of: waiting.device, at: world.now)
    #expect(events.contains { $0.label == "devicesChanged" })
    laptop.link(sleeper)
    #expect(try sleeper.names() == ["desk", "sleeper", "laptop"] && accepts(sleeper, laptop))
    // A listed device that holds the key takes over by itself.
    let tablet = sleeper
    _ = try tablet.service.recover(file, passphrase: passphrase, at: world.now)
    tablet.link(laptop)
    #expect(try !laptop.service.isManager && laptop.member.managerName == "sleeper")
  }

  @Test func `control: a restored manager meets a device that it has forgotten, and links with it (A24)`() throws {
    for isSignedSince in [false, true] {
      let world = World()
      let devices = try world.account("desk", "phone")
      let (desk, phone) = (devices[0], devices[1])
      let backup = desk.storage.file
      world.wait(days: 1)
      let tablet = try world.device("tablet")
      try tablet.join(desk)
      phone.link(tablet)
      desk.storage.file = backup
      desk.restart()
      world.wait(days: 1)
      if isSignedSince { _ = try desk.service.rename(nil, "desk 2", at: world.now) }
      #expect(!accepts(desk, tablet))
      tablet.link(desk)
      #expect(try desk.member.roster[tablet.id] != nil && accepts(desk, tablet) && desk.service.takeOvers.isEmpty)
      phone.link(desk)
      #expect(try phone.number == desk.number && phone.names().contains("tablet"))
    }
  }

  @Test func `four takeovers wait at most, the newest of each manager`() throws {
    let world = World()
    let devices = try world.account("desk", "phone")
    let (desk, phone) = (devices[0], devices[1])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    var managers: [Device] = []
    for number in 0..<6 {
      world.wait(days: 1)
      let device = try world.device("x\(number)")
      // The phone does not hear of it.
      try device.join(desk)
      managers.append(device)
    }
    for device in managers {
      _ = try device.service.recover(file, passphrase: passphrase, at: world.now)
      for _ in 0..<2 {
        _ = try device.service.rename(nil, device.name, at: world.now)
        device.link(phone)
      }
    }
    #expect(phone.service.takeOvers.map { $0.name } == ["x2", "x3", "x4", "x5"])
    #expect(phone.service.takeOvers.last?.digest == (try managers[5].member.record.roster.digest))
    #expect(phone.notices().count == 6)
    #expect(try phone.member.record.encoding(nil, phone.cryptography).count < Limits.accountFile)
  }

  @Test func `a roster that the key of the account alone has signed is refused (A24)`() throws {
    let world = World(.openSSL)
    let devices = try world.account("desk", "phone")
    let (desk, phone) = (devices[0], devices[1])
    let record = try desk.member.record
    var roster = record.roster.roster
    roster.number += 1
    // The thief of the recovery file signs as the manager, and has not its device's key.
    let thief = RosterSigner(
      root: record.root, rootKey: try desk.rootKey, key: try desk.cryptography.makeKey())
    let signed = try SignedRoster.sign(roster, at: world.now.seconds, by: thief, desk.cryptography)
    #expect(signed.roster.manager != (try desk.id))
    let own = try SignedRoster.sign(
      roster, at: world.now.seconds, by: RosterSigner(root: record.root, rootKey: try desk.rootKey, key: record.key),
      desk.cryptography)
    let number = try phone.number
    for message in [
      try signed.message(),
      try TrustMessage.roster(
        encoding: own.encoding, signature: own.signature, managerSignature: signed.managerSignature
      ).encoding(),
      try TrustMessage.roster(
        encoding: own.encoding, signature: own.managerSignature, managerSignature: own.managerSignature
      ).encoding(),
    ] {
      desk.send(message, to: phone)
      #expect(try phone.number == number && phone.service.takeOvers.isEmpty)
    }
    #expect(phone.notices().count == 3)
    desk.send(try own.message(), to: phone)
    #expect(try phone.number == own.roster.number, "positive control")
  }

  @Test func `a removal by a former manager reaches the new one, and so does no device of its (A24)`() throws {
    let world = World()
    let devices = try world.account("desk", "laptop", "lost", "tablet")
    let (desk, laptop, lost, tablet) = (devices[0], devices[1], devices[2], devices[3])
    let file = try desk.service.recoveryFile(passphrase: passphrase)
    world.wait(days: 1)
    let newcomer = try world.device("newcomer")
    try newcomer.join(desk)
    _ = try desk.service.revoke(try lost.id, at: world.now)
    desk.link(tablet)
    // The laptop has slept, and takes over.
    world.wait(days: 1)
    _ = try laptop.service.recover(file, passphrase: passphrase, at: world.now)
    tablet.link(laptop)
    tablet.link(laptop)
    #expect(try laptop.member.roster.removed.has(lost.id) && tablet.member.managerName == "laptop")
    #expect(try !laptop.names().contains("newcomer") && !accepts(laptop, lost))
    let known = try lost.member.roster.epochs.current.number
    #expect(try laptop.member.roster.epochs.current.number > known)
    try expectOut(lost, of: [laptop, tablet])
  }

  @Test func `a removal that was dropped, of too many, is not undone by an old list of the own manager (A24)`() throws {
    let world = World()
    let devices = try world.account("desk", "lost")
    let (desk, lost) = (devices[0], devices[1])
    world.wait(days: 1)
    _ = try desk.service.revoke(try lost.id, at: world.now)
    var member = try desk.member
    for number in 0...Limits.removedDevices {
      let key = try desk.cryptography.publicKey(of: try desk.cryptography.makeKey())
      let (record, _) = try member.admitting(
        publicKey: key, name: "\(number)", platform: "", at: world.now.seconds, desk.cryptography)
      member = try desk.membership(record)
      let device = try #require(member.roster.devices.last?.id)
      member = try desk.membership(try member.revoking(device, at: world.now.seconds, desk.cryptography))
    }
    try desk.service.keep(member.record, at: world.now)
    #expect(try !desk.member.roster.removed.has(lost.id) && !accepts(desk, lost))
    lost.link(desk)
    try expectOut(lost, of: [desk])
  }
}
