// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Damage of everything that is read: no trap, and nothing of it is accepted.
@Suite struct DamageTests {
  /// Bytes changed, removed, added or cut off, at random.
  private func damaged(_ bytes: [UInt8], _ draws: inout Draws) -> [UInt8] {
    var changed = bytes
    for _ in 0...draws.next(below: 3) {
      guard !changed.isEmpty else { return [0] }
      let place = draws.next(below: changed.count)
      switch draws.next(below: 5) {
      case 0: changed[place] ^= UInt8(1 << draws.next(below: 8))
      case 1: changed[place] = UInt8(draws.next(below: 256))
      case 2: changed.remove(at: place)
      case 3: changed.insert(UInt8(draws.next(below: 256)), at: place)
      default: changed.removeLast(changed.count - place)
      }
    }
    return changed
  }

  @Test(arguments: Primitives.allCases)
  func `a damaged file is not used, is kept, and says what to do (R10.8)`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let manager = try world.account("laptop", "phone")[0]
    let file = try #require(manager.storage.file)
    var draws = Draws(state: 3)
    for round in 0..<150 {
      let changed = round == 0 ? [] : damaged(file, &draws)
      guard changed != file else { continue }
      let storage = MemoryStorage(changed)
      let service = AccountService(storage: storage, cryptography: manager.cryptography)
      guard case .unusable(let error) = service.status else {
        Issue.record("accepted: \(changed.count) bytes")
        return
      }
      #expect(error.message.contains("leave the account") && service.identity == nil)
      #expect(thrown { try service.credentials(at: world.now) } != nil)
      #expect(thrown { try service.checkMayJoin() }?.message.contains("leave it first") == true)
      #expect(try service.leave().aside == ["account.damaged-1"])
      #expect(storage.aside == [changed] && storage.file == nil)
    }
  }

  @Test(arguments: Primitives.allCases)
  func `a file whose digest is right is checked all the same, part by part (R10.8)`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone")
    let (own, other) = (try devices[0].member.record, try devices[1].member.record)
    let foreign = try world.account("laptop")[0].member.record
    var rootKey: Secret? = try devices[0].rootKey
    func isRefused(_ change: (inout AccountRecord) -> Void) throws -> Bool {
      var record = own
      change(&record)
      return thrown {
        try AccountRecord(try record.encoding(rootKey, devices[0].cryptography), devices[0].cryptography)
      } != nil
    }
    #expect(try !isRefused { _ in })
    #expect(try isRefused { $0.certificate = other.certificate })
    #expect(try isRefused { $0.certificate = foreign.certificate })
    #expect(try isRefused { $0.roster = foreign.roster })
    #expect(
      try isRefused { record in
        record = AccountRecord(
          key: other.key, certificate: record.certificate, root: record.root, rootKey: record.rootKey,
          roster: record.roster)
      })
    #expect(
      try isRefused { record in
        record = AccountRecord(
          key: record.key, certificate: record.certificate, root: foreign.root, rootKey: .elsewhere,
          roster: record.roster)
      })
    rootKey = other.key
    #expect(try isRefused { _ in })
  }

  @Test func `a file of a later version is left alone, and asks for an update`() throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let body = try ValueWriter.array { writer throws(SegueError) in try writer.put(UInt64(3)) }
    let file = Array("segue account\n".utf8) + SecureHash.sha256(body) + body
    let error = thrown { try AccountRecord(file, manager.cryptography) }
    #expect(error?.status == .unsupportedVersion && error?.message.contains("update Segue") == true)
  }

  @Test(arguments: Primitives.allCases)
  func `damage of any message of joining admits nobody unseen`(_ primitives: Primitives) throws {
    let world = World(primitives)
    var draws = Draws(state: 11)
    for round in 0..<(primitives == .openSSL ? 30 : 60) {
      let manager = try world.account("laptop")[0]
      let phone = try world.device("phone")
      let made = try manager.service.invite(addresses: ["::1"], port: 1, at: world.now)
      let connection = try JoinConnection(manager, phone, made)
      let victim = round % 5
      var isChanged = false
      connection.tamper = { _, number, bytes in
        guard number == victim else { return [bytes] }
        let message = damaged(Array(bytes.dropFirst(4)), &draws)
        isChanged = message != Array(bytes.dropFirst(4))
        return [JoinFraming.frame(message)]
      }
      connection.run()
      connection.close()
      guard isChanged else { continue }
      // Either somebody notices, or the digits differ, which the user would.
      let isNoticed = connection.inviterEnd != nil || connection.guestEnd != nil
      let differs = connection.asked?.digits != connection.shown?.digits
      #expect(isNoticed || differs, "round \(round)")
      // Nothing that was damaged is stored.
      if victim == 3 { #expect(phone.storage.file == nil) }
    }
  }

  @Test(arguments: Primitives.allCases)
  func `damage of any message over a link changes nothing`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone", "desk")
    let (manager, phone) = (devices[0], devices[1])
    _ = try manager.service.rename(nil, "big laptop", at: world.now)
    let roster = try manager.member.record.roster
    let messages = [
      try roster.message(),
      try TrustMessage.certificate(try devices[2].certificate).encoding(),
      try manager.service.greeting(at: world.now), try TrustMessage.refusal(status: .busy, reason: "no").encoding(),
    ]
    let (number, certificate) = (try phone.number, try phone.certificate)
    var draws = Draws(state: 5)
    for round in 0..<120 {
      let message = messages[round % messages.count]
      let changed = damaged(message, &draws)
      guard changed != message else { continue }
      _ = phone.service.receive(changed, from: try manager.certificate, at: world.now)
      #expect(try phone.number == number && phone.certificate == certificate)
      // The same bytes where a certificate should be.
      _ = phone.service.receive(message, from: changed, at: world.now)
      #expect(try phone.number == number)
    }
    // Positive control.
    _ = phone.service.receive(messages[0], from: try manager.certificate, at: world.now)
    #expect(try phone.number == manager.number)
  }

  @Test func `certificates, lists, requests and keys with one byte changed are refused`() throws {
    let world = World(.openSSL)
    let devices = try world.account("laptop", "phone", "lost")
    _ = try devices[0].service.revoke(try devices[2].id, at: world.now)
    let cryptography = devices[0].cryptography
    let record = try devices[0].member.record
    let list = record.roster.roster.revocations
    let now = world.now.seconds
    for index in record.certificate.indices {
      var changed = record.certificate
      changed[index] ^= UInt8(1 << (index % 8))
      let problem = Result { try cryptography.problem(of: changed, root: record.root, revocations: list, at: now) }
      // Unused bits of a signature's first byte count nothing, and are zero in DER.
      if case .success(.none) = problem { Issue.record("certificate, byte \(index)") }
    }
    for index in record.root.indices {
      var changed = record.root
      changed[index] ^= UInt8(1 << (index % 8))
      #expect(thrown { try cryptography.readRoot(changed) } != nil, "root, byte \(index)")
    }
    for index in list.indices {
      var changed = list
      changed[index] ^= UInt8(1 << (index % 8))
      #expect(thrown { try cryptography.readRevocations(changed, root: record.root) } != nil, "list, byte \(index)")
    }
    for der in [record.certificate, record.root, list] {
      #expect(thrown { try cryptography.readCertificate(der + [0]) } != nil)
      #expect(thrown { try cryptography.readRevocations(der + [0], root: record.root) } != nil)
    }
    #expect(thrown { try cryptography.publicKey(of: Secret.copy(of: record.key.bytes + [0])) }?.status == .malformed)
    #expect(thrown { try cryptography.publicKey(of: Secret.copy(of: [])) }?.status == .malformed)
  }

  @Test func `absurd lengths and depths are refused within bounds`() throws {
    let deep = [UInt8](repeating: 0x81, count: 60_000) + [0]
    let wide = [0x99, 0xff, 0xff] + [UInt8](repeating: 0, count: 65_535)
    let lying: [UInt8] = [0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
    for bytes in [deep, wide, lying, [], [0x80], [0xa0], [0x82, 0x02, 0x9f]] {
      #expect(thrown { try JoinMessage(bytes) } != nil)
      #expect(thrown { try TrustMessage.known(bytes) } != nil)
      #expect(thrown { try Roster(bytes) } != nil)
    }
    // Numbers, dates and lists at the end of what they can be.
    let numbers = try TrustMessage.numbers(
      term: Limits.rosterNumber, roster: Limits.rosterNumber, digest: [UInt8](repeating: 0, count: 32), date: .max,
      version: 3)
    #expect(thrown { try TrustMessage.known(try numbers.encoding()) }?.status == .malformed)
  }
}
