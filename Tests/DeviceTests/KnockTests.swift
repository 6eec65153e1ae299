// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The knock before TLS (docs/device-links.md).
@Suite struct KnockTests {
  private func knocked(_ client: EpochKeys, _ server: [EpochKeys]) throws -> UInt64? {
    var (server, client) = (KnockServer(server, nonce: nonce()), KnockClient(client, nonce: nonce()))
    let proof = try server.answer(client.answer(server.challenge))
    try client.check(proof)
    return server.epoch
  }

  @Test func `both ends prove the key of an epoch`() throws { #expect(try knocked(keys(1), [keys(1)]) == 1) }

  @Test func `a client of another account is refused`() {
    #expect(throws: SegueError.self) { try knocked(keys(1), [keys(2)]) }
  }

  @Test func `a device that has slept knocks under an old epoch, 16 at most`() throws {
    let epochs = (1...17).reversed().map { keys($0) }
    #expect(try knocked(keys(2), epochs) == 2)
    #expect(throws: SegueError.self) { try knocked(keys(1), epochs) }
  }

  @Test func `a server without the key is noticed`() throws {
    var client = KnockClient(keys(1), nonce: nonce())
    _ = try client.answer(nonce())
    #expect(throws: SegueError.self) { try client.check([UInt8](repeating: 0, count: 32)) }
  }

  @Test func `A12: what a client says is refused when it comes back`() throws {
    var client = KnockClient(keys(1), nonce: nonce())
    let answer = try client.answer(nonce())
    #expect(throws: SegueError.self) { try client.check(Array(answer[16...])) }
    // Its own nonce as the challenge, whose proof it would compute itself.
    let own = nonce()
    var other = KnockClient(keys(1), nonce: own)
    #expect(throws: SegueError.self) { try other.answer(own) }
  }

  @Test func `A12: what a server says is refused when it comes back`() throws {
    var server = KnockServer([keys(1)], nonce: nonce())
    // The server's role is no client's: with the same nonces its proof proves nothing.
    let own = nonce()
    let proof = try Knock.proof(.server, of: keys(1).knock, server.challenge, own)
    #expect(throws: SegueError.self) { try server.answer(own + proof) }
    var second = KnockServer([keys(1)], nonce: own)
    let genuine = try Knock.proof(.client, of: keys(1).knock, own, own)
    #expect(throws: SegueError.self) { try second.answer(own + genuine) }
  }

  @Test(arguments: [0, 15, 17, 47, 49])
  func `messages of other lengths are refused`(count: Int) {
    #expect(throws: SegueError.self) {
      var server = KnockServer([keys(1)], nonce: nonce())
      _ = try server.answer([UInt8](repeating: 7, count: count))
    }
    #expect(throws: SegueError.self) {
      var client = KnockClient(keys(1), nonce: nonce())
      _ = try client.answer([UInt8](repeating: 7, count: count))
    }
  }

  @Test func `a server answers once`() throws {
    var (server, client) = (KnockServer([keys(1)], nonce: nonce()), KnockClient(keys(1), nonce: nonce()))
    let message = try client.answer(server.challenge)
    _ = try server.answer(message)
    #expect(throws: SegueError.self) { try server.answer(message) }
  }
}

/// Connections that have not shown who they are (A19).
@Suite struct HalfOpenTests {
  /// A machine of a network.
  private func source(_ machine: Int, in network: UInt64 = 0xfe80) -> HalfOpenTable.Source {
    HalfOpenTable.Source(
      address: Identifier(high: network, low: UInt64(machine)), prefix: Identifier(high: network, low: 0))
  }

  private func fill(_ table: inout HalfOpenTable, _ numbers: ClosedRange<UInt64>, at uptime: Int64 = 0) {
    for number in numbers { #expect(table.add(number, from: source(Int(number)), uptime) == .added(ending: nil)) }
  }

  @Test func `A19: an address has 8, and one more waits until one of them has had its time`() {
    var table = HalfOpenTable()
    for number in 1...8 { #expect(table.add(UInt64(number), from: source(1), Int64(number)) == .added(ending: nil)) }
    #expect(table.add(9, from: source(1), HalfOpenTable.knockTime) == .refused)
    #expect(table.add(10, from: source(2), HalfOpenTable.knockTime) == .added(ending: nil), "the same prefix")
    #expect(table.add(11, from: source(1), HalfOpenTable.knockTime + 1) == .added(ending: 1))
    #expect(table.count == 9 && table.contains(11) && !table.contains(1) && !table.contains(9))
  }

  @Test func `A19: 64 are kept; of the prefix that has most the newest go, until one has waited 200 ms`() {
    var table = HalfOpenTable()
    fill(&table, 1...63)
    #expect(table.add(64, from: source(1, in: 0x2001), 0) == .added(ending: nil))
    #expect(table.add(65, from: source(65), HalfOpenTable.knockTime - 1) == .refused)
    #expect(table.add(66, from: source(2, in: 0x2001), HalfOpenTable.knockTime - 1) == .added(ending: 63))
    #expect(table.add(67, from: source(67), HalfOpenTable.knockTime) == .added(ending: 1))
    #expect(table.contains(64) && table.contains(66) && table.contains(67) && table.count == HalfOpenTable.limit)
  }

  @Test func `A19: of a thousand networks none is preferred, and what has knocked stays`() {
    var table = HalfOpenTable()
    #expect(table.add(1, from: source(1, in: 1), 0) == .added(ending: nil))
    table.knocked(1)
    var refused = 0
    for number in 2...1_000 {
      if case .refused = table.add(UInt64(number), from: source(1, in: UInt64(number)), 0) { refused += 1 }
    }
    #expect(table.contains(1) && table.contains(64) && refused == 1_000 - HalfOpenTable.limit)
    #expect(table.add(2_000, from: source(1, in: 2_000), HalfOpenTable.knockTime) == .added(ending: 2))
  }

  @Test func `A19: an address from which a link has come is ended after all others`() {
    var table = HalfOpenTable()
    #expect(table.add(1_000, from: source(1_000), 0) == .added(ending: nil))
    table.linked(1_000)
    fill(&table, 1...64)
    #expect(table.add(65, from: source(65), 0) == .refused)
    #expect(table.add(1_001, from: source(1_000), 0) == .added(ending: 64))
  }

  @Test func `A19: those that have knocked and go no further make room after a second`() {
    var table = HalfOpenTable()
    fill(&table, 1...64)
    for number in UInt64(1)...64 { table.knocked(number) }
    #expect(table.add(65, from: source(65), HalfOpenTable.knockTime) == .refused)
    #expect(table.add(66, from: source(66), HalfOpenTable.handshakeTime) == .added(ending: 1))
  }

  /// 300 a second, from 120 addresses that can knock, and go no further: so can a device that was revoked.
  @Test func `A19: knocks that lead to no link keep no genuine device out`() {
    var table = HalfOpenTable()
    let (trip, handshake) = (Int64(20), Int64(80))
    var (dialled, linked) = (0, 0)
    var arrivals: [(number: UInt64, at: Int64, isGenuine: Bool)] = []
    for uptime in Int64(0)..<20_000 {
      if uptime % 10 < 3 {
        let number = UInt64(uptime)
        if table.add(number, from: source(Int(uptime) % 120), uptime) != .refused {
          arrivals.append((number, uptime, false))
        }
      }
      if uptime >= 1_000, uptime % 1_000 == 7 {
        dialled += 1
        let number = UInt64(1_000_000 + uptime)
        if table.add(number, from: source(5_000 + dialled), uptime) != .refused {
          arrivals.append((number, uptime, true))
        }
      }
      for each in arrivals where uptime - each.at == trip { table.knocked(each.number) }
      for each in arrivals where each.isGenuine && uptime - each.at == handshake && table.contains(each.number) {
        table.linked(each.number)
        linked += 1
      }
      arrivals.removeAll { uptime - $0.at >= handshake }
      for number in table.takeOverdue(uptime) { #expect(!table.contains(number)) }
    }
    #expect(dialled == 19 && linked == dialled, "\(linked) of \(dialled)")
  }

  /// 24,000 a second, from one address or from many, and a genuine device 20 ms away.
  @Test(arguments: [1, 64]) func `A19: a flood leaves a genuine device of its network the time for a knock`(
    addresses: Int
  ) {
    var table = HalfOpenTable()
    let (rate, trip, genuine) = (24, Int64(20), UInt64.max)
    var arrivedAt: Int64?
    for uptime in Int64(0)..<1_400 {
      for number in 0..<rate {
        let serial = UInt64(uptime) * UInt64(rate) + UInt64(number)
        _ = table.add(serial, from: source(1 + Int(serial) % addresses), uptime)
      }
      // It dials twice in a second.
      if uptime >= 300, uptime % 500 == 0, arrivedAt == nil {
        if case .added = table.add(genuine, from: source(5_000), uptime) { arrivedAt = uptime }
      }
      if let arrivedAt, uptime - arrivedAt == trip {
        #expect(table.contains(genuine) && uptime <= 1_300)
        return
      }
    }
    Issue.record("it never came in")
  }

  @Test func `A19: each has 5 seconds`() {
    var table = HalfOpenTable()
    _ = table.add(1, from: source(1), 1_000)
    _ = table.add(2, from: source(1), 2_000)
    _ = table.add(3, from: source(1), 3_000)
    table.remove(2)
    #expect(table.nextDeadline == 6_000)
    #expect(table.takeOverdue(5_999).isEmpty)
    #expect(table.takeOverdue(6_000) == [1])
    #expect(table.nextDeadline == 8_000 && table.count == 1)
  }
}
