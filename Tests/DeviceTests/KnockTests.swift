import SegueModel
import SegueTrust
import Testing

@testable import SegueDevices

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
  private func source(_ number: Int) -> [UInt8] { [10, 0, UInt8(number / 256), UInt8(number % 256)] }

  @Test func `A19: 64 are kept, and the oldest of the source with most makes room`() {
    var table = HalfOpenTable()
    #expect(table.add(1, from: source(1), 0) == nil)
    for number in 2...64 { #expect(table.add(UInt64(number), from: source(2), 0) == nil) }
    #expect(table.add(65, from: source(2), 0) == 2)
    #expect(table.add(66, from: source(3), 0) == 3)
    #expect(table.contains(1) && table.contains(66) && table.count == HalfOpenTable.limit)
  }

  @Test func `A19: of a thousand sources the oldest goes, and what has knocked stays`() {
    var table = HalfOpenTable()
    _ = table.add(1, from: source(1), 0)
    table.knocked(1)
    for number in 2...1_000 { _ = table.add(UInt64(number), from: source(number), 0) }
    #expect(table.contains(1) && table.contains(1_000) && !table.contains(900) && table.count == HalfOpenTable.limit)
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
