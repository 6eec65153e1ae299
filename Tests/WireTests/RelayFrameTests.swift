// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// Frames of channels through relays (R14.3).
@Suite struct RelayFrameTests {
  private let one = FramedConnection(side: .connecting)
  private let two = FramedConnection(side: .accepting)

  /// Moves what one end has to say to the other, in pieces of this size, and at most `limit` bytes.
  private func move(_ from: FramedConnection, _ to: FramedConnection, pieces: Int = .max, atMost limit: Int = .max) {
    var left = limit
    while left > 0, from.hasOutput {
      _ = from.takeOutput { bytes in
        let size = min(bytes.count, pieces, left)
        to.receive(Array(bytes[..<size]))
        left -= size
        return size
      }
    }
  }

  /// The events of an end, as words.
  private func events(_ link: FramedConnection) throws -> [String] {
    var words: [String] = []
    while let event = try link.nextEvent() {
      switch event {
      case .message: words.append("message \(try link.takeMessage { $0.count })")
      case .data(let channel, let bytes): words.append("data \(channel) \(bytes.count)")
      case .relay(.bytes(let channel, let offset, let bytes)): words.append("\(channel) \(offset) \(bytes.count)")
      case .relay(.credit(let channel, let consumed, let limit)):
        words.append("credit \(channel) \(consumed) \(limit)")
      case .relay(.end(let channel, let reason)): words.append("end \(channel) \(reason)")
      default: words.append("else")
      }
    }
    return words
  }

  private func bytes(_ count: Int) -> ArraySlice<UInt8> { ArraySlice(repeating: 7, count: count) }

  @Test func `R14.3 frames of a relay come whole and in order, and bytes as they arrive`() throws {
    one.send(.bytes(channel: 7, offset: 1 << 40, bytes(100)))
    one.send(.credit(channel: 1 << 31 | 2, consumed: 1 << 33, limit: 1 << 34))
    one.send(.end(channel: 7, reason: 9))
    move(one, two)
    #expect(try events(two) == ["7 \(UInt64(1) << 40) 100", "credit 2147483650 8589934592 17179869184", "end 7 9"])
    one.send(.bytes(channel: 7, offset: 10, bytes(5)))
    move(one, two, pieces: 1)
    #expect(try events(two) == ["7 10 5"])
    one.send(.bytes(channel: 7, offset: 100, bytes(50)))
    move(one, two, atMost: 16 + 20)
    #expect(try events(two) == ["7 100 20"])
    move(one, two)
    #expect(try events(two) == ["7 120 30"] && two.work == 6)
  }

  @Test func `R14.3 relayed bytes take turns with those of streams, behind messages, and an end is last`() throws {
    let channel = one.open()
    try two.accept(channel)
    // The output is full, so that all wait.
    one.send([UInt8](repeating: 1, count: 60_000))
    for number in 0..<3 { one.send(.bytes(channel: 5, offset: UInt64(number) * 60_000, bytes(60_000))) }
    one.send(.end(channel: 5, reason: 1))
    one.send(.bytes(channel: 3, offset: 0, bytes(60_000)))
    one.write(bytes(200_000), to: channel)
    one.send([1, 2, 3])
    move(one, two)
    let words = try events(two)
    #expect(words.first == "message 60000" && words[1] == "message 3")
    let order = words.dropFirst(2).map { $0.split(separator: " ")[0] }
    // In each three frames all three channels.
    #expect(Set(order.prefix(3)) == ["data", "5", "3"])
    #expect(Set(order.dropFirst(3).prefix(2)) == ["data", "5"])
    #expect(words.firstIndex(of: "end 5 1").map { words[..<$0].filter { $0.hasPrefix("5 ") }.count } == 3)
    #expect(one.relayedBytes == 0 && !one.hasOutput)
  }

  @Test func `R14.3 relayed bytes do not overtake those of a stream that wait`() throws {
    let channels = [one.open(), one.open()]
    for channel in channels {
      try two.accept(channel)
      one.write(bytes(10), to: channel)  // the second one waits for its turn
    }
    one.send(.bytes(channel: 5, offset: 0, bytes(20)))
    move(one, two)
    #expect(try events(two).map { $0.split(separator: " ")[0] } == ["data", "data", "5"])
  }

  @Test func `R7.4 relayed bytes go on over another connection, and credit acknowledges them`() throws {
    for end in [one, two] { end.enableResumption() }
    one.send(.bytes(channel: 5, offset: 0, bytes(40_000)))
    move(one, two, atMost: 10_000)
    _ = one.takeOutput { $0.count }
    #expect(try events(two) == ["5 0 \(10_000 - 16)"])
    let (sent, received) = (one.received, two.received)
    try one.resume(over: FramedConnection(side: .connecting), peerReceived: received)
    try two.resume(over: FramedConnection(side: .accepting), peerReceived: sent)
    move(one, two)
    #expect(try events(two) == ["5 \(10_000 - 16) \(30_000 + 16)"])
    #expect(one.heldBytes == 30_016)
    two.send(.credit(channel: 5, consumed: 40_000, limit: 50_000))
    move(two, one)
    #expect(try events(one) == ["credit 5 40000 50000"] && one.heldBytes == 0)
  }

  @Test(
    arguments: [
      [7, 0, 0, 9, 0, 0, 0, 0], [7, 0, 0, 8, 0, 0, 0, 1], [7, 1, 0, 1, 0, 0, 0, 1], [8, 0, 0, 16, 0, 0, 0, 0],
      [8, 0, 0, 15, 0, 0, 0, 1], [9, 0, 0, 0, 0, 0, 0, 1], [9, 0, 0, 1, 0, 0, 0, 0], [9, 0, 0, 2, 0, 0, 0, 1],
      [7, 0, 0, 9, 128, 0, 0, 0], [8, 0, 0, 16, 128, 0, 0, 0], [9, 0, 0, 1, 128, 0, 0, 0],
    ] as [[UInt8]])
  func `A9 a frame of a relay of another size, or of channel 0, is refused by its head`(_ head: [UInt8]) {
    two.receive(head)
    #expect(throws: SegueError.self) { try two.nextEvent() }
  }
}
