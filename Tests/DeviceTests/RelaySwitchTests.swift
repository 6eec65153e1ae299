// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueAgentCore

/// A relay between two devices, message by message (R14.3).
@Suite struct RelaySwitchTests {
  fileprivate static let (one, two, stranger) = (device(1), device(2), device(9))

  private static func device(_ number: UInt64) -> Identifier { Identifier(high: 0, low: number) }

  /// A relay that is on, and linked with two devices.
  private func relay(unsent: @escaping (Identifier) -> Int = { _ in 0 }) -> RelaySwitch {
    var relay = RelaySwitch(after: 0, unsent: unsent)
    _ = relay.setLinked(direct: [Self.one, Self.two], indirect: [])
    _ = relay.set(isOn: true)
    _ = relay.takeOutgoing()
    return relay
  }

  /// The messages of a relay, as words: the device, the channel and the step.
  private func said(_ relay: inout RelaySwitch) -> [String] {
    relay.takeOutgoing().map { message, device in
      guard case .fromRelay(let channel, let step) = message else { return "else" }
      let words =
        switch step {
        case .open(let other): "open \(other.bytes[15])"
        case .opened: "opened"
        case .data(let offset, let bytes): "data \(offset) \(bytes.count)"
        case .credit(let consumed, let limit): "credit \(consumed) \(limit ?? 0)"
        case .closed(let end): "closed \(end)"
        }
      return "\(device.bytes[15]) \(channel) \(words)"
    }
  }

  /// Channel 1 of the first device is spliced with channel 2 of the second.
  private func spliced(unsent: @escaping (Identifier) -> Int = { _ in 0 }) -> RelaySwitch {
    var relay = relay(unsent: unsent)
    relay.take(.open(Self.two), 1, from: Self.one, 0)
    relay.take(.opened, 2, from: Self.two, 0)
    #expect(said(&relay) == ["2 2 open 1", "1 1 opened"])
    return relay
  }

  private func bytes(_ count: Int) -> [UInt8] { Array(repeating: 7, count: count) }

  @Test func `R14.3 bytes and credit pass, and an end`() {
    var relay = spliced()
    relay.take(.data(0, bytes(16_384)), 1, from: Self.one, 0)
    relay.take(.data(0, bytes(9)), 2, from: Self.two, 0)
    relay.take(.credit(16_384), 2, from: Self.two, 0)
    relay.take(.closed(.ended), 2, from: Self.two, 0)
    #expect(said(&relay) == ["2 2 data 0 16384", "1 1 data 0 9", "1 1 credit 16384 49152", "1 1 closed ended"])
    #expect(relay.count == 0)
  }

  @Test func `R14.3 no byte is lost or doubled: one that comes twice goes out once, a gap ends the channel`() {
    var relay = spliced()
    relay.take(.data(0, bytes(5)), 1, from: Self.one, 0)
    relay.take(.data(0, bytes(5)), 1, from: Self.one, 0)
    #expect(said(&relay) == ["2 2 data 0 5"])
    relay.take(.data(6, bytes(5)), 1, from: Self.one, 0)
    #expect(said(&relay) == ["1 1 closed lost", "2 2 closed lost"])
  }

  @Test func `A23 a sender gets no further than the window`() {
    var relay = spliced()
    relay.take(.data(0, bytes(16_384)), 1, from: Self.one, 0)
    #expect(said(&relay).count == 1)
    relay.take(.data(RelayWindow.size, bytes(1)), 1, from: Self.one, 0)
    #expect(said(&relay) == ["1 1 closed violated", "2 2 closed violated"])
  }

  @Test func `A23 credit for bytes that never came ends the channel`() {
    var relay = spliced()
    relay.take(.credit(1), 2, from: Self.two, 0)
    #expect(said(&relay) == ["1 1 closed violated", "2 2 closed violated"])
  }

  @Test func `A23 credit in small parts, or again, reaches nobody`() {
    var relay = spliced()
    relay.take(.data(0, bytes(16_000)), 1, from: Self.one, 0)
    _ = said(&relay)
    for consumed: UInt64 in [0, 1, 8_191, 8_192, 8_192, 8_193, 15_999] {
      relay.take(.credit(consumed), 2, from: Self.two, 0)
    }
    #expect(said(&relay) == ["1 1 credit 8192 40960"])
  }

  /// The one end of a channel, which sends, and what it may.
  private struct Sender {
    var channel: UInt64 = 1
    var offset: UInt64 = 0
    var limit = RelayWindow.size

    /// Sends all that may be sent, which the other end reads.
    /// - Returns: the bytes.
    mutating func sendAll(_ relay: inout RelaySwitch) -> UInt64 {
      let began = offset
      while offset < limit {
        let count = Int(min(16_384, limit - offset))
        relay.take(.data(offset, [UInt8](repeating: 7, count: count)), channel, from: RelaySwitchTests.one, 0)
        offset += UInt64(count)
      }
      relay.take(.credit(offset), channel + 1, from: RelaySwitchTests.two, 0)
      for (message, device) in relay.takeOutgoing() where device == RelaySwitchTests.one {
        if case .fromRelay(channel, .credit(_, let told?)) = message { limit = told }
      }
      return offset - began
    }
  }

  @Test func `R14.3 a window grows while it is used up, and no longer once the other end does not read`() {
    let backlog = Backlog()
    var relay = spliced { _ in backlog.bytes }
    var sender = Sender()
    var sizes: [UInt64] = []
    for _ in 0..<8 { sizes.append(sender.sendAll(&relay)) }
    #expect(sizes == [16, 32, 64, 128, 256, 512, 512, 512].map { $0 * 1024 })
    backlog.bytes = RelaySwitch.unsentLimit + 1
    _ = sender.sendAll(&relay)
    let offset = sender.offset
    backlog.bytes = 0
    relay.tick(20)
    guard case .fromRelay(1, .credit(let consumed, let told?))? = relay.takeOutgoing().last?.message else {
      return #expect(Bool(false), "no credit")
    }
    #expect(consumed == offset && told == offset + RelayWindow.largest / 2)
    // One that sends little keeps what it has.
    relay.take(.data(offset, bytes(9_000)), 1, from: Self.one, 30)
    relay.take(.credit(offset + 9_000), 2, from: Self.two, 30)
    #expect(said(&relay).last == "1 1 credit \(offset + 9_000) \(offset + 9_000 + RelayWindow.largest / 2)")
    #expect(relay.broken == nil)
  }

  @Test func `A23 all windows together are no larger than 64 KiB a channel, and one device has half of that`() {
    var relay = relay()
    var senders: [Sender] = []
    for number in 0..<UInt64(RelayAllowance.channelsOfTwo) {
      relay.take(.open(Self.two), 2 * number + 1, from: Self.one, 0)
      relay.take(.opened, 2 * number + 2, from: Self.two, 0)
      senders.append(Sender(channel: 2 * number + 1))
    }
    _ = said(&relay)
    for _ in 0..<12 {
      for index in senders.indices { _ = senders[index].sendAll(&relay) }
      #expect(relay.broken == nil)
    }
    let allowed = senders.reduce(0) { $0 + $1.limit - $1.offset }
    #expect(allowed <= RelayRoom.sizeOfDevice + UInt64(senders.count) * RelayWindow.size)
    #expect(allowed > RelayRoom.sizeOfDevice / 2)
    let all = RelayRoom.size + UInt64(RelayAllowance.channels) * 2 * RelayWindow.size
    #expect(all == UInt64(RelayAllowance.channels) * 64 * 1024)
  }

  @Test func `A23 bytes in too many messages end the channel`() {
    var relay = spliced()
    for offset: UInt64 in 0..<2_048 { relay.take(.data(offset, bytes(1)), 1, from: Self.one, 0) }
    #expect(said(&relay).count == 2_048 && relay.count == 1)
    relay.take(.data(2_048, bytes(1)), 1, from: Self.one, 0)
    #expect(said(&relay) == ["1 1 closed violated", "2 2 closed violated"] && relay.count == 0)
  }

  @Test func `A23 who lies about what it has read gets no more than it reads`() {
    let backlog = Backlog()
    var relay = spliced { _ in backlog.bytes }
    relay.take(.data(0, bytes(16_384)), 1, from: Self.one, 0)
    backlog.bytes = RelaySwitch.unsentLimit + 1
    relay.take(.credit(16_384), 2, from: Self.two, 0)
    #expect(said(&relay) == ["2 2 data 0 16384"])
    #expect(relay.nextDeadline(0) == RelaySwitch.creditPause)
    backlog.bytes = 0
    relay.tick(RelaySwitch.creditPause)
    #expect(said(&relay) == ["1 1 credit 16384 32768"] && relay.nextDeadline(0) == nil)
  }

  private final class Backlog { var bytes = 0 }

  @Test func `A23 who sends more bytes than its share waits for credit`() {
    var relay = spliced()
    var (offset, uptime): (UInt64, Int64) = (0, 0)
    // All is read at once; no time passes but what the relay asks for.
    for _ in 0..<(17 * 1_024) {
      relay.take(.data(offset, bytes(16_384)), 1, from: Self.one, uptime)
      offset += 16_384
      relay.take(.credit(offset), 2, from: Self.two, uptime)
      if let next = relay.nextDeadline(uptime) {
        uptime = next
        relay.tick(uptime)
      }
      guard said(&relay).last?.hasPrefix("1 1 credit \(offset) ") ?? false else {
        return #expect(Bool(false), "no credit at \(offset)")
      }
    }
    let least = (Int64(offset) - RelayAllowance.bytesAtOnce) * 1_000 / RelayAllowance.bytesInSecond
    #expect(uptime >= least && uptime < least + 100)
  }

  @Test func `A23 of 10,000 channels a device gets 8, and the others keep theirs`() {
    var relay = relay()
    _ = relay.setLinked(direct: [Self.one, Self.two, Self.device(3), Self.device(4)], indirect: [])
    relay.take(.open(Self.two), 1, from: Self.device(3), 0)
    #expect(relay.count == 1)
    _ = relay.takeOutgoing()
    var reasons: [String] = []
    for number in 0..<10_000 {
      let other = Self.device(UInt64(2 + number % 3))
      relay.take(.open(other), UInt64(2 * number + 1), from: Self.one, Int64(number))
      reasons += said(&relay).filter { $0.contains("closed") }
    }
    #expect(relay.count == 1 + RelayAllowance.channelsOfDevice)
    #expect(reasons.count == 10_000 - RelayAllowance.channelsOfDevice)
    #expect(reasons.allSatisfy { $0.hasSuffix("closed tooMany") || $0.hasSuffix("closed tooOften") })
    // A channel that nobody takes does not stay.
    relay.tick(30_000)
    relay.take(.open(Self.two), 3, from: Self.device(3), 30_000)
    #expect(relay.count == 1)
  }

  @Test func `A23 only between devices that are linked, only if it is on, and one hop`() {
    var relay = RelaySwitch(after: 0) { _ in 0 }
    let refused = { (relay: inout RelaySwitch, device: Identifier, other: Identifier) -> String? in
      relay.take(.open(other), 1, from: device, 0)
      return self.said(&relay).last
    }
    _ = relay.setLinked(direct: [Self.one, Self.two], indirect: [Self.device(3)])
    #expect(refused(&relay, Self.one, Self.two) == "1 1 closed off")
    _ = relay.set(isOn: true)
    #expect(refused(&relay, Self.one, Self.stranger) == "1 1 closed notLinked")
    #expect(refused(&relay, Self.one, Self.device(3)) == "1 1 closed secondHop")
    #expect(refused(&relay, Self.device(3), Self.one) == "3 1 closed secondHop")
    #expect(refused(&relay, Self.one, Self.one) == "1 1 closed violated")
    #expect(relay.count == 0)
  }

  @Test func `R14.3 switched off, or without one of the links, it ends what it has`() {
    var relay = spliced()
    _ = relay.set(isOn: false)
    #expect(said(&relay) == ["1 1 closed off", "2 2 closed off"])
    relay = spliced()
    _ = relay.setLinked(direct: [Self.two], indirect: [Self.one])
    #expect(said(&relay) == ["2 2 closed cut"])
  }

  @Test func `R14.3 a relay tells who is there when that changes, and says so to nobody while it is off`() {
    var relay = relay()
    let all = [Self.one, Self.two, Self.device(3)]
    let isNews = [relay.setLinked(direct: all, indirect: []), relay.setLinked(direct: all, indirect: [])]
    #expect(isNews == [true, false])
    guard case .role(true, let linked) = relay.role else { return #expect(Bool(false)) }
    #expect(linked == all)
    let isChange = [relay.set(isOn: false), relay.set(isOn: false), relay.setLinked(direct: [], indirect: [])]
    #expect(isChange == [true, false, false])
    guard case .role(false, let none) = relay.role else { return #expect(Bool(false)) }
    #expect(none == [])
  }

  @Test func `R14.3 messages are read as they were written, and others are refused`() throws {
    let steps: [RelayStep] = [
      .open(Self.one), .opened, .data(70_000, bytes(16_384)), .credit(70_000), .credit(70_000, limit: 90_000),
      .closed(.secondHop),
    ]
    for step in steps {
      for message in [RelayMessage.toRelay(1 << 40 | 1, step), .fromRelay(2, step)] {
        let encoding = try message.encoding()
        #expect(RelayMessage.isOne(encoding))
        #expect(try RelayMessage(encoding).encoding() == encoding)
        for end in 0..<min(encoding.count, 40) {
          #expect(throws: SegueError.self) { try RelayMessage(Array(encoding[..<end])) }
        }
      }
    }
    let role = try RelayMessage.role(isRelaying: true, linked: [Self.one, Self.two]).encoding()
    #expect(try RelayMessage(role).encoding() == role)
    #expect(throws: SegueError.self) {
      try RelayMessage(RelayMessage.toRelay(1, .data(0, bytes(RelayMessage.dataLimit + 1))).encoding())
    }
    #expect(try !RelayMessage.isOne(DeviceMessage.copied.encoding()) && !RelayMessage.isOne([0x0F, 15]))
  }
}
