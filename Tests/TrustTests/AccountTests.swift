// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Accounts, devices, certificates, epochs and revocations: the rules, with OpenSSL and with the stand-in.
@Suite struct AccountTests {
  @Test(arguments: Primitives.allCases)
  func `ids follow from keys, and a certificate names the device that has its key (R10.4)`(_ primitives: Primitives)
    throws
  {
    let world = World(primitives)
    let laptop = try world.account("laptop")[0]
    let member = try laptop.member
    #expect(
      member.identity.account.bytes == Array(SecureHash.sha256(member.rootPublicKey).prefix(16)))
    #expect(member.identity.device.bytes == Array(SecureHash.sha256(member.certificate.publicKey).prefix(16)))
    #expect(member.certificate.uri == member.identity.uri && member.identity.uri.utf8.count == 80)
    #expect(DeviceIdentity(uri: member.identity.uri) == member.identity)
    for uri in ["", "segue:acct/", member.identity.uri + "0", "segue:acct/\(String(repeating: "G", count: 32))/dev/0"] {
      #expect(DeviceIdentity(uri: uri) == nil)
    }
    #expect(laptop.service.accountName == "Home" && laptop.service.isManager)
    let credentials = try laptop.service.credentials(at: world.now)
    let problem = try laptop.cryptography.problem(
      of: credentials.certificate, root: credentials.root, revocations: credentials.revocations, at: world.now.seconds)
    #expect(problem == nil)
  }

  @Test func `a certificate that names another device than that of its key is refused (A13)`() throws {
    let world = World(.openSSL)
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (try devices[0].member, try devices[1].member)
    let lying = try devices[0].cryptography.makeCertificate(
      CertificateFields(
        name: "x", uri: manager.identity.uri, publicKey: phone.certificate.publicKey,
        serial: [UInt8](repeating: 0x41, count: 16), from: world.now.seconds - 10, until: world.now.seconds + 999),
      root: manager.record.root, rootKey: try devices[0].rootKey)
    #expect(
      thrown { try devices[0].service.accepted(lying, at: world.now) }?.message.contains("another device") == true)
    #expect(try devices[0].service.accepted(try devices[1].certificate, at: world.now) == phone.identity)
  }

  @Test(arguments: Primitives.allCases)
  func `numbers are max(last + 1, Unix time) and never go down (R10.6)`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone", "desk")
    let manager = devices[0]
    var last = try manager.number
    #expect(last >= UInt64(world.now.seconds))
    // The clock stands still: last + 1. It is set back by a year: still last + 1. It goes on: Unix time.
    for days in [0.0, -365, 400] {
      world.wait(days: days)
      _ = try manager.service.rename(nil, "laptop \(days)", at: world.now)
      #expect(try manager.number == max(last + 1, UInt64(world.now.seconds)))
      last = try manager.number
    }
    let list = try manager.cryptography.readRevocations(
      try manager.member.roster.revocations, root: try manager.member.record.root)
    #expect(list.number == last)
  }

  @Test func `numbers end with an error, not with a trap`() throws {
    #expect(thrown { try Limits.rosterNumber.next() }?.status == .limitExceeded)
    #expect(try (Limits.rosterNumber - 1).next() == Limits.rosterNumber)
  }

  @Test(arguments: Primitives.allCases)
  func `revoking cuts the device, begins an epoch and refuses its certificates everywhere (R10.6, A15)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone, desk) = (devices[0], devices[1], devices[2])
    let lost = try phone.id
    let certificate = try phone.certificate
    let (former, epoch) = (try manager.number, try manager.member.roster.epochs.current)
    _ = try desk.service.accepted(certificate, at: world.now)
    world.wait(seconds: 5)
    let events = try manager.service.revoke(lost, at: world.now)
    // Stored before anything is done, and in this order.
    let stored = try AccountRecord(try #require(manager.storage.file), manager.cryptography)
    #expect(stored.roster.roster.number > former && stored.roster.roster[lost] == nil)
    #expect(
      events.map { $0.label } == ["cut", "credentialsChanged", "devicesChanged", "sendToAll"])
    #expect(try manager.member.roster.epochs.current.number > epoch.number)
    #expect(try manager.member.roster.epochs.current.secret != epoch.secret)
    #expect(thrown { try manager.service.accepted(certificate, at: world.now) }?.message.contains("removed") == true)
    manager.link(desk)
    #expect(thrown { try desk.service.accepted(certificate, at: world.now) }?.message.contains("removed") == true)
    #expect(desk.events.contains { if case .cut(let device) = $0 { device == lost } else { false } })
    #expect(try desk.member.roster.epochs.current.number == manager.member.roster.epochs.current.number)
    #expect(try desk.names() == ["laptop", "desk"])
    #expect(thrown { try manager.service.revoke(lost, at: world.now) }?.status == .notFound)
    #expect(thrown { try manager.service.revoke(try manager.id, at: world.now) }?.status == .invalidArgument)
    #expect(thrown { try desk.service.revoke(try manager.id, at: world.now) }?.message.contains("laptop") == true)
  }

  @Test func `all certificates of a device are revoked, renewed ones and the first (R10.6)`() throws {
    let world = World(.openSSL)
    let devices = try world.account("laptop", "phone")
    let first = try devices[1].certificate
    world.wait(days: 200)
    devices[0].link(devices[1])
    let second = try devices[1].certificate
    #expect(first != second)
    _ = try devices[0].service.accepted(first, at: world.now)
    _ = try devices[0].service.revoke(try devices[1].id, at: world.now)
    for certificate in [first, second] {
      #expect(
        thrown { try devices[0].service.accepted(certificate, at: world.now) }?.message.contains("removed") == true)
    }
  }

  @Test(arguments: Primitives.allCases)
  func `a certificate is renewed by the manager when half of its time is left (R10.7)`(_ primitives: Primitives) throws
  {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    let first = try phone.certificate
    world.wait(days: 180)
    manager.link(phone)
    #expect(try phone.certificate == first)
    world.wait(days: 4)
    #expect(manager.link(phone) > 2)
    let renewed = try phone.member.certificate
    #expect(renewed.until > world.now.seconds + 364 * 86_400)
    #expect(try phone.member.identity == DeviceIdentity(of: renewed))
    #expect(try manager.member.roster[phone.id]?.certificates.count == 2)
    // It is used from now on, and the manager's own one is renewed as time passes.
    _ = try manager.service.accepted(try phone.certificate, at: world.now)
    let own = try manager.certificate
    #expect(!manager.service.tick(at: world.now).isEmpty)
    #expect(try manager.certificate != own)
    #expect(manager.service.tick(at: world.now).isEmpty)
  }

  @Test func `a renewal whose answer was lost can be asked for again, not at once, and not without end (R10.7)`() throws
  {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    world.wait(days: 200)
    let renew = try TrustMessage.renew.encoding()
    let shown = try phone.certificate
    func ask() -> String? {
      let events = manager.service.receive(renew, from: shown, at: world.now)
      return events.compactMap { if case .notice(let error, _) = $0 { error.message } else { nil } }.first
    }
    #expect(ask() == nil)
    #expect(ask() == nil, "it waits")
    world.wait(seconds: 6)
    #expect(ask()?.contains("within a day") == true)
    for _ in 0..<8 {
      world.wait(days: 1.1)
      #expect(ask() == nil)
    }
    #expect(try manager.member.roster[phone.id]?.certificates.count == Limits.certificatesPerDevice)
    // The manager cannot know which of them the phone has. All are refused once it is revoked.
    _ = try manager.service.revoke(try phone.id, at: world.now)
    #expect(thrown { try manager.service.accepted(shown, at: world.now) }?.message.contains("removed") == true)
  }

  @Test func `a certificate that was renewed under a wrong clock is made again (R10.7)`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone) = (devices[0], devices[1])
    world.wait(days: 200)
    let ahead = Instant(uptime: world.now.uptime, date: world.now.date + 100 * 86_400)
    let renew = try TrustMessage.renew.encoding()
    let events = manager.service.receive(renew, from: try phone.certificate, at: ahead)
    let first = try phone.certificate
    for case .send(_, let message) in events {
      _ = phone.service.receive(message, from: try manager.certificate, at: world.now)
    }
    #expect(try phone.certificate == first)
    world.wait(seconds: 10)
    #expect(manager.link(phone) > 2)
    #expect(try phone.certificate != first && !phone.member.isRenewalDue(at: world.now.seconds))
  }

  @Test(arguments: Primitives.allCases)
  func `a manager whose clock is a year ahead shuts nobody out (R10.7)`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone", "lost")
    let (manager, phone) = (devices[0], devices[1])
    let certificate = try devices[2].certificate
    let ahead = Instant(uptime: world.now.uptime, date: world.now.date + 366 * 86_400)
    _ = manager.service.tick(at: ahead)
    _ = try manager.service.revoke(try devices[2].id, at: ahead)
    // The clock is set right.
    _ = manager.service.tick(at: world.now)
    manager.link(phone)
    #expect(thrown { try phone.service.accepted(certificate, at: world.now) }?.message.contains("removed") == true)
    #expect(try phone.service.accepted(try manager.certificate, at: world.now) == manager.member.identity)
    #expect(try manager.service.accepted(try phone.certificate, at: world.now) == phone.member.identity)
    // Numbers go on from there.
    let last = try manager.number
    #expect(last > UInt64(world.now.seconds) + 365 * 86_400)
    _ = try manager.service.rename(nil, "laptop again", at: world.now)
    manager.link(phone)
    #expect(try phone.number == last + 1)
  }

  @Test func `a renewed certificate for another device, or of another root, is not taken`() throws {
    let world = World(.openSSL)
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone) = (devices[0], devices[1])
    let own = try phone.certificate
    let other = try World(.openSSL).account("other", "phone")[1]
    for certificate in [try devices[2].certificate, try other.certificate, own, [], Array("junk".utf8)] {
      manager.send(try TrustMessage.certificate(certificate).encoding(), to: phone)
      #expect(try phone.certificate == own)
    }
    #expect(phone.notices().count == 5)
  }

  @Test func `epochs are answered for 366 days after the next one was stored here, and sixteen are kept`() throws {
    var epochs = try #require(Epochs([Epoch(number: 1, secret: [1])]))
    var dates = EpochDates()
    for number in 2...20 {
      try epochs.begin([UInt8(number)], at: Int64(number) * 86_400)
      dates.keep(epochs, at: Int64(number) * 86_400)
    }
    #expect(epochs.all.count == Limits.epochs)
    #expect(epochs.current.number == 20 * 86_400)
    let last: Int64 = 20 * 86_400
    #expect(epochs.answered(at: last, dates).count == 16)
    #expect(epochs.answered(at: last, dates).first?.number == epochs.current.number)
    // The one before the last was current until day 20.
    #expect(epochs.answered(at: last + Limits.epochLife, dates).map { $0.number } == [20 * 86_400, 19 * 86_400])
    #expect(epochs.answered(at: last + Limits.epochLife + 1, dates).map { $0.number } == [20 * 86_400])
    #expect(epochs.answered(at: last + 100 * Limits.epochLife, dates).count == 1)
  }

  @Test func `each epoch has keys of its own, and each use a key of its own`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk")
    _ = try devices[0].service.revoke(try devices[2].id, at: world.now)
    devices[0].link(devices[1])
    let keys = try devices[0].service.epochKeys(at: world.now)
    #expect(keys.count == 2 && keys[0].epoch > keys[1].epoch)
    #expect(Set(keys.flatMap { [$0.knock, $0.beacon] }).count == 4)
    #expect(keys.allSatisfy { $0.knock.count == 32 && $0.beacon.count == 32 })
    // The others derive the same.
    #expect(try devices[1].service.epochKeys(at: world.now).map { $0.knock } == keys.map { $0.knock })
    // The revoked one knows the former epoch only.
    #expect(try devices[2].service.epochKeys(at: world.now).map { $0.knock } == [keys[1].knock])
  }

  @Test func `a device that slept through revocations is let in, and learns the new epoch (R10.6)`() throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "desk", "old")
    world.wait(days: 100)
    _ = try devices[0].service.revoke(try devices[2].id, at: world.now)
    world.wait(days: 60)
    _ = try devices[0].service.revoke(try devices[3].id, at: world.now)
    let (manager, sleeper) = (devices[0], devices[1])
    let known = try sleeper.service.epochKeys(at: world.now)[0]
    #expect(try manager.service.epochKeys(at: world.now).contains { $0.knock == known.knock })
    manager.link(sleeper)
    #expect(try sleeper.service.epochKeys(at: world.now)[0].epoch == manager.service.epochKeys(at: world.now)[0].epoch)
    #expect(try sleeper.names() == ["laptop", "phone"])
  }

  @Test func `HKDF is that of RFC 5869`() {
    let key = KeyDerivation.key(
      from: [UInt8](repeating: 0x0b, count: 22), salt: (0...12).map { UInt8($0) },
      info: (0xf0...0xf9).map { UInt8($0) },
      count: 42)
    #expect(
      HexText.text(key)
        == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    let plain = KeyDerivation.key(from: [UInt8](repeating: 0x0b, count: 22), info: [], count: 42)
    #expect(
      HexText.text(plain)
        == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
  }

  @Test(arguments: Primitives.allCases)
  func `no nonce, token, serial, secret or key comes twice, not even after a restart or from a copy (A5)`(
    _ primitives: Primitives
  ) throws {
    let world = World(primitives)
    let manager = try world.account("laptop")[0]
    let twin = try manager.copy("laptop")
    var seen: [[UInt8]] = []
    for round in 0..<3 {
      for device in [manager, twin] {
        for _ in 0..<4 {
          seen.append(try device.service.invite(addresses: ["::1"], port: 1, at: world.now).token)
        }
        device.service.cancelInvites()
        let phone = try world.device("phone \(round)")
        let invite = try device.service.invite(addresses: ["::1"], port: 1, at: world.now)
        let connection = try JoinConnection(device, phone, invite)
        connection.run()
        for bytes in connection.arrived.prefix(3) {
          switch try JoinMessage(Array(bytes.dropFirst(4))) {
          case .hello(let commitment, _, _, _, _): seen.append(commitment)
          case .nonce(let nonce, _, _, _), .opening(let nonce): seen.append(nonce)
          default: break
          }
        }
        seen.append(try phone.member.certificate.serial)
        seen.append(try phone.member.record.key.bytes)
        _ = try device.service.revoke(try phone.id, at: world.now)
        seen.append(try device.member.roster.epochs.current.secret)
        if primitives == .openSSL { device.restart() }
      }
    }
    #expect(seen.count == 3 * 2 * 10)
    #expect(Set(seen).count == seen.count)
  }
}

extension AccountEvent {
  var label: String {
    switch self {
    case .membershipChanged: "membershipChanged"
    case .cut: "cut"
    case .credentialsChanged: "credentialsChanged"
    case .devicesChanged: "devicesChanged"
    case .send: "send"
    case .sendToAll: "sendToAll"
    case .notice: "notice"
    case .joinSend: "joinSend"
    case .joinAsks: "joinAsks"
    case .joinShows: "joinShows"
    case .joinEnded: "joinEnded"
    }
  }
}
