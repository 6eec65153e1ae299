// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore

/// A relay between two devices, message by message (R14.3).
@Suite struct RelaySwitchTests {
  fileprivate static let (one, two, stranger) = (device(1), device(2), device(9))

  private static func device(_ number: UInt64) -> Identifier { Identifier(high: 0, low: number) }

  /// The credit of a device for bytes that it has read, of whose limit a relay takes no notice.
  private static func read(_ consumed: UInt64) -> RelayStep { .credit(consumed, limit: consumed) }

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
        case .credit(let consumed, let limit): "credit \(consumed) \(limit)"
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

  private func bytes(_ count: Int) -> ArraySlice<UInt8> { ArraySlice(repeating: 7, count: count) }

  @Test func `R14.3 bytes and credit pass, and an end`() {
    var relay = spliced()
    relay.take(.data(0, bytes(16_384)), 1, from: Self.one, 0)
    relay.take(.data(0, bytes(9)), 2, from: Self.two, 0)
    relay.take(Self.read(16_384), 2, from: Self.two, 0)
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
    relay.take(Self.read(1), 2, from: Self.two, 0)
    #expect(said(&relay) == ["1 1 closed violated", "2 2 closed violated"])
  }

  @Test func `A23 credit in small parts, or again, reaches nobody`() {
    var relay = spliced()
    relay.take(.data(0, bytes(16_000)), 1, from: Self.one, 0)
    _ = said(&relay)
    for consumed: UInt64 in [0, 1, 8_191, 8_192, 8_192, 8_193, 15_999] {
      relay.take(Self.read(consumed), 2, from: Self.two, 0)
    }
    #expect(said(&relay) == ["1 1 credit 8192 40960"])
  }

  /// The one end of a channel, which sends, and what it may.
  private struct Sender {
    var channel: UInt32 = 1
    var offset: UInt64 = 0
    var limit = RelayWindow.size

    /// Sends all that may be sent, which the other end reads.
    /// - Returns: the bytes.
    mutating func sendAll(_ relay: inout RelaySwitch, at uptime: Int64 = 0) -> UInt64 {
      let began = offset
      while offset < limit { send(min(16_384, limit - offset), &relay, isRead: false, uptime) }
      read(&relay, uptime)
      return offset - began
    }

    /// The one that sends, and the one that reads.
    private var ends: (Identifier, Identifier) {
      channel & 1 == 1
        ? (RelaySwitchTests.one, RelaySwitchTests.two) : (RelaySwitchTests.two, RelaySwitchTests.one)
    }

    mutating func send(_ count: UInt64, _ relay: inout RelaySwitch, isRead: Bool = true, _ uptime: Int64 = 0) {
      relay.take(.data(offset, ArraySlice(repeating: 7, count: Int(count))), channel, from: ends.0, uptime)
      offset += count
      if isRead { read(&relay, uptime) }
    }

    private mutating func read(_ relay: inout RelaySwitch, _ uptime: Int64) {
      let other = channel & 1 == 1 ? channel + 1 : channel - 1
      relay.take(RelaySwitchTests.read(offset), other, from: ends.1, uptime)
      for (message, device) in relay.takeOutgoing() where device == ends.0 {
        if case .fromRelay(channel, .credit(_, limit: let told)) = message { limit = told }
      }
    }
  }

  @Test func `R14.3 a window grows while it is used, and shrinks once it is not, or the other end does not read`() {
    let backlog = Backlog()
    var relay = spliced { _ in backlog.bytes }
    var sender = Sender()
    #expect((0..<7).map { _ in sender.sendAll(&relay) } == [16, 32, 64, 128, 256, 512, 512].map { $0 * 1024 })
    // One that sends less than it may gets less.
    for _ in 0..<4 { sender.send(9_000, &relay) }
    #expect(sender.sendAll(&relay) < 512 * 1024 && sender.sendAll(&relay) == 512 * 1024)
    backlog.bytes = RelaySwitch.unsentLimit + 1
    _ = sender.sendAll(&relay, at: 100)
    let offset = sender.offset
    backlog.bytes = 0
    relay.tick(120)
    guard case .fromRelay(1, .credit(let consumed, limit: let told))? = relay.takeOutgoing().last?.message else {
      return #expect(Bool(false), "no credit")
    }
    #expect(consumed == offset && told == offset + RelayWindow.largest / 2)
    #expect(relay.broken == nil)
  }

  /// As many channels between two devices as there may be.
  private func senders(_ relay: inout RelaySwitch) -> [Sender] {
    let channels = (0..<UInt32(RelayAllowance.channelsOfTwo)).map { 2 * $0 + 1 }
    for channel in channels {
      relay.take(.open(Self.two), channel, from: Self.one, 0)
      relay.take(.opened, channel + 1, from: Self.two, 0)
    }
    _ = said(&relay)
    return channels.map { Sender(channel: $0) }
  }

  @Test func `R14.3 a window grows though others have grown before`() {
    var relay = relay()
    var senders = senders(&relay)
    for _ in 0..<12 { for index in senders.indices.dropLast() { _ = senders[index].sendAll(&relay) } }
    let last = senders.indices.last!
    for _ in 0..<3 { _ = senders[last].sendAll(&relay) }
    #expect(senders[last].limit - senders[last].offset > 2 * RelayWindow.size)
  }

  @Test func `A23 all windows together are no larger than 64 KiB a channel, and one device has half of that`() {
    var relay = relay()
    var senders = senders(&relay)
    for round in 0..<12 {
      for index in senders.indices { _ = senders[index].sendAll(&relay, at: Int64(round) * 10) }
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

  @Test func `R14.3 no honest sender of small records has sent too many messages`() {
    var window = RelayWindow(RelayWindow.largest)
    let record = 24
    var sent: UInt64 = 0
    while sent + UInt64(record) <= RelayWindow.largest {
      guard case .next(0) = window.take(sent, record) else { break }
      sent += UInt64(record)
    }
    #expect(sent == RelayWindow.largest / UInt64(record) * UInt64(record))
  }

  @Test func `A23 who lies about what it has read gets no more than it reads`() {
    let backlog = Backlog()
    var relay = spliced { _ in backlog.bytes }
    relay.take(.data(0, bytes(16_384)), 1, from: Self.one, 0)
    backlog.bytes = RelaySwitch.unsentLimit + 1
    relay.take(Self.read(16_384), 2, from: Self.two, 0)
    #expect(said(&relay) == ["2 2 data 0 16384"])
    #expect(relay.nextDeadline == RelaySwitch.creditPause)
    backlog.bytes = 0
    relay.tick(RelaySwitch.creditPause)
    #expect(said(&relay) == ["1 1 credit 16384 32768"] && relay.nextDeadline == nil)
  }

  @Test func `R14.3 what a relay says to others in the meantime does not put off its look at credit`() {
    let backlog = Backlog()
    backlog.bytes = RelaySwitch.unsentLimit + 1
    var relay = spliced { _ in backlog.bytes }
    relay.take(.data(0, bytes(16_384)), 1, from: Self.one, 0)
    relay.take(Self.read(8_192), 2, from: Self.two, 0)
    relay.take(Self.read(16_384), 2, from: Self.two, 10)
    #expect(relay.nextDeadline == RelaySwitch.creditPause)
    relay.tick(25)
    #expect(relay.nextDeadline == 25 + RelaySwitch.creditPause)
  }

  @Test func `R14.3 credit that is held later is looked at after the pause, too`() {
    let backlog = Backlog()
    backlog.bytes = RelaySwitch.unsentLimit + 1
    var relay = spliced { _ in backlog.bytes }
    relay.take(.data(0, bytes(16_384)), 1, from: Self.one, 0)
    relay.take(.data(0, bytes(16_384)), 2, from: Self.two, 0)
    relay.take(Self.read(16_384), 2, from: Self.two, 0)
    #expect(relay.nextDeadline == RelaySwitch.creditPause)
    let later = RelaySwitch.creditPause + 30
    relay.take(Self.read(16_384), 1, from: Self.one, later)
    #expect(relay.nextDeadline == later + RelaySwitch.creditPause)
  }

  @Test(arguments: [one, two])
  func `A23 no channel opens between devices of which one does not read what former ones have left`(slow: Identifier) {
    let backlog = Backlog()
    var relay = relay { $0 == slow ? backlog.bytes : 0 }
    backlog.bytes = Int(RelayRoom.size) + 1
    relay.take(.open(Self.two), 1, from: Self.one, 0)
    #expect(said(&relay) == ["1 1 closed tooMany"] && relay.count == 0)
    backlog.bytes = Int(RelayRoom.size)
    relay.take(.open(Self.two), 3, from: Self.one, 0)
    #expect(said(&relay) == ["2 2 open 1"])
  }

  @Test(arguments: 0...RelayEnd.refused.rawValue)
  func `R14.3 a device gives a reason of its own for an end, and none of the relay's`(number: UInt8) throws {
    let reason = try #require(RelayEnd(rawValue: number))
    var relay = spliced()
    relay.take(.closed(reason), 2, from: Self.two, 0)
    let passed = [RelayEnd.ended, .violated, .lost, .unknown, .refused].contains(reason) ? reason : .ended
    #expect(said(&relay) == ["1 1 closed \(passed)"] && relay.count == 0)
  }

  @Test func `R14.3 a device reaches another one once that has taken the channel, and not before`() {
    var relay = relay()
    relay.take(.open(Self.two), 1, from: Self.one, 0)
    if relay.takeDecision() != nil { Issue.record("it has not taken it") }
    relay.take(.opened, 2, from: Self.two, 0)
    guard case .opened(Self.one, to: Self.two)? = relay.takeDecision() else {
      return #expect(Bool(false), "it has taken it")
    }
  }

  private final class Backlog { var bytes = 0 }

  @Test func `A23 who sends more bytes than its share waits for credit`() {
    var relay = spliced()
    var (offset, uptime): (UInt64, Int64) = (0, 0)
    // All is read at once; no time passes but what the relay asks for.
    for _ in 0..<(17 * 1_024) {
      relay.take(.data(offset, bytes(16_384)), 1, from: Self.one, uptime)
      offset += 16_384
      relay.take(Self.read(offset), 2, from: Self.two, uptime)
      if let next = relay.nextDeadline {
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
      relay.take(.open(other), UInt32(2 * number + 1), from: Self.one, Int64(number))
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

  @Test func `R14.3 messages and frames are read as they were written, and others are refused`() throws {
    let steps: [RelayStep] = [
      .open(Self.one), .opened, .data(70_000, bytes(16_384)), .credit(70_000, limit: 90_000), .closed(.secondHop),
    ]
    for step in steps {
      for message in [RelayMessage.toRelay(1 << 30 | 1, step), .fromRelay(2, step)] {
        switch try message.form {
        case .message(let encoding):
          #expect(RelayMessage.isOne(encoding))
          guard case .message(encoding) = try RelayMessage(encoding).form else { return #expect(Bool(false)) }
          for end in 0..<encoding.count {
            #expect(throws: SegueError.self) { try RelayMessage(Array(encoding[..<end])) }
          }
        case .frame(let frame): #expect("\(RelayMessage(frame))" == "\(message)")
        }
      }
    }
    let roles = RelayMessage.role(isRelaying: true, linked: [Self.one, Self.two])
    guard case .message(let role) = try roles.form, case .message(role) = try RelayMessage(role).form else {
      return #expect(Bool(false))
    }
    #expect(try !RelayMessage.isOne(DeviceMessage.copied.encoding()) && !RelayMessage.isOne([0x14, 0x18, 24]))
    // A channel of a frame has 31 bits, and none is 0.
    for channel: UInt64 in [0, 1 << 31, 1 << 32] {
      let open = try Value.array([.unsigned(25), .unsigned(channel), .bool(true)]).encoding
      #expect(throws: SegueError.self) { try RelayMessage(open) }
    }
  }
}
