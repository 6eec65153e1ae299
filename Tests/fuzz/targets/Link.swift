// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Two links and a connection between them, used as they are meant to be: all arrives, whole and in order, whatever the
/// connection takes at a time and, between hubs, whenever it is cut; and no channel holds more than a window.
func fuzzLink(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  let ends = [End(.connecting), End(.accepting)]
  let areHubs = input.bool()
  if areHubs { for end in ends { end.link.enableResumption() } }
  while !input.isEmpty { step(ends, areHubs, &input) }
  for end in ends { end.finishAll() }
  var isMoving = true
  while isMoving {
    isMoving = move(ends[0], ends[1], atMost: .max)
    isMoving = move(ends[1], ends[0], atMost: .max) || isMoving
    for end in ends { isMoving = end.takeAll() || isMoving }
  }
  for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
    require(end.received == other.sent, "a message was lost")
    require(end.relayed == other.relaying, "a frame of a relay was lost")
    for channel in end.mine where !channel.wasReset {
      guard let reading = other.reading.first(where: { $0.number == channel.number }) else {
        fatalError("a channel was lost")
      }
      require(reading.wasReset || reading.isEnded, "a channel did not end")
      require(reading.wasReset || reading.count == channel.count, "bytes of a channel were lost")
    }
  }
}

private func step(_ ends: [End], _ areHubs: Bool, _ input: inout Input) {
  let turn = input.number(below: 18)
  let end = ends[turn & 1]
  switch turn >> 1 {
  case 0: end.say(Array(input.bytes()))
  case 1: end.open()
  case 2: end.write(&input)
  case 3: end.finish(&input)
  case 4: end.reset(&input)
  case 5: end.take(&input)
  case 6 where areHubs: cut(ends, &input)
  case 8 where areHubs: end.relay(&input)
  default: _ = move(end, ends[turn & 1 ^ 1], atMost: Int(input.byte()) * Int(input.byte()))
  }
}

/// Bytes in flight are lost, and the links resume over another connection (R7.4).
private func cut(_ ends: [End], _ input: inout Input) {
  for end in ends {
    let lost = Int(input.byte()) * 16
    _ = end.link.takeOutput { min($0.count, lost) }
  }
  let received = ends.map { $0.link.received }
  for (end, count) in zip(ends, received.reversed()) { end.resume(peerReceived: count) }
}

/// False: nothing was left to move.
private func move(_ from: End, _ to: End, atMost most: Int) -> Bool {
  var left = most
  var hasMoved = false
  while from.link.takeOutput({ bytes in
    let size = min(bytes.count, left)
    left -= size
    hasMoved = hasMoved || size > 0
    to.receive(Array(bytes[..<size]))
    return size
  }) {}
  return hasMoved
}

/// One end, with what it knows to be true.
private final class End {
  /// A channel, ours or the peer's: its n-th byte is n and its number.
  struct Channel {
    let number: FramedConnection.Channel
    /// Bytes written or read.
    var count = 0
    /// Bytes read, and not granted again.
    var used = 0
    var isEnded = false
    var wasReset = false
  }

  let side: ConnectionSide
  let link: FramedConnection
  var sent: [[UInt8]] = []
  var received: [[UInt8]] = []
  var mine: [Channel] = []
  var reading: [Channel] = []
  /// Bytes of channels through a relay, sent and received; and their ends.
  var relaying: [Relayed] = (1...4).map { Relayed(channel: $0) }
  var relayed: [Relayed] = (1...4).map { Relayed(channel: $0) }

  struct Relayed: Equatable {
    let channel: UInt32
    var offset: UInt64 = 0
    var credit: UInt64 = 0
    var ends = 0
  }

  init(_ side: ConnectionSide) {
    self.side = side
    link = FramedConnection(side: side)
  }

  func resume(peerReceived: UInt64) {
    do throws(SegueError) {
      try link.resume(over: FramedConnection(side: side), peerReceived: peerReceived)
    } catch {
      fatalError("an honest peer cannot go on: \(error.message)")
    }
  }

  func say(_ message: [UInt8]) {
    // One byte behind a 0 names a channel.
    let message = [1] + message
    sent.append(message)
    link.send(message)
  }

  func open() {
    guard mine.count < 100 else { return }
    let channel = Channel(number: link.open())
    mine.append(channel)
    let name: [UInt8] = [0, UInt8(channel.number)]
    sent.append(name)
    link.send(name)
  }

  func write(_ input: inout Input) {
    guard !mine.isEmpty else { return }
    let index = input.number(below: mine.count)
    let room = link.availableCredit(of: mine[index].number)
    require(0...FramedConnection.window ~= room, "room without bound")
    let count = Self.count(&input, atMost: room)
    link.write((0..<count).map { mine[index].byte(at: $0) }[...], to: mine[index].number)
    mine[index].count += count
  }

  /// Usually a few bytes, sometimes all.
  private static func count(_ input: inout Input, atMost most: Int) -> Int {
    let byte = Int(input.byte())
    return byte == 255 ? most : min(most, byte * 4)
  }

  /// Sends a frame of a channel through a relay.
  func relay(_ input: inout Input) {
    let (index, count) = (input.number(below: relaying.count), Self.count(&input, atMost: RelayFrame.dataLimit))
    let (channel, offset) = (relaying[index].channel, relaying[index].offset)
    if count > 2 {
      let bytes = (0..<count).map { Self.byte(at: offset + UInt64($0)) }
      link.send(.bytes(channel: channel, offset: offset, bytes[...]))
      relaying[index].offset += UInt64(count)
    } else if count > 0 {
      relaying[index].credit += 1
      link.send(.credit(channel: channel, consumed: relaying[index].credit, limit: relaying[index].credit << 40))
    } else {
      relaying[index].ends += 1
      link.send(.end(channel: channel, reason: UInt8(channel)))
    }
  }

  private static func byte(at offset: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: offset) }

  private func readRelayed(_ frame: RelayFrame) {
    switch frame {
    case .bytes(let channel, let offset, let bytes):
      guard let index = relayed.firstIndex(where: { $0.channel == channel }) else { fatalError("no such channel") }
      require(relayed[index].offset == offset, "bytes of a relay that were lost, or came twice")
      require(bytes.enumerated().allSatisfy { $1 == Self.byte(at: offset + UInt64($0)) }, "other bytes of a relay")
      relayed[index].offset += UInt64(bytes.count)
    case .credit(let channel, let consumed, let limit):
      guard let index = relayed.firstIndex(where: { $0.channel == channel }) else { fatalError("no such channel") }
      relayed[index].credit += 1
      require(relayed[index].credit == consumed && limit == consumed << 40, "other credit of a relay")
    case .end(let channel, let reason):
      guard let index = relayed.firstIndex(where: { $0.channel == channel }) else { fatalError("no such channel") }
      require(reason == UInt8(channel), "another reason")
      relayed[index].ends += 1
    }
  }

  func finish(_ input: inout Input) {
    guard !mine.isEmpty else { return }
    let index = input.number(below: mine.count)
    link.finish(mine[index].number)
    require(link.availableCredit(of: mine[index].number) == 0, "room in a channel that is finished")
  }

  func finishAll() {
    for channel in mine { link.finish(channel.number) }
  }

  func reset(_ input: inout Input) {
    let isMine = input.bool()
    let count = isMine ? mine.count : reading.count
    guard count > 0 else { return }
    let index = input.number(below: count)
    if isMine {
      mine[index].wasReset = true
      link.reset(mine[index].number)
    } else {
      reading[index].wasReset = true
      link.reset(reading[index].number)
    }
  }

  /// Uses up bytes of a channel.
  func take(_ input: inout Input) {
    guard !reading.isEmpty else { return }
    let index = input.number(below: reading.count)
    let count = Self.count(&input, atMost: reading[index].used)
    link.grant(count, to: reading[index].number)
    reading[index].used -= count
  }

  /// False: nothing was left.
  func takeAll() -> Bool {
    var hasTaken = false
    for index in reading.indices where reading[index].used > 0 {
      hasTaken = true
      link.grant(reading[index].used, to: reading[index].number)
      reading[index].used = 0
    }
    return hasTaken
  }

  func receive(_ bytes: [UInt8]) {
    link.receive(bytes)
    do throws(SegueError) {
      while let event = try link.nextEvent() { try handle(event) }
    } catch {
      fatalError("an honest peer is refused: \(error.message)")
    }
  }

  private func handle(_ event: FramedConnection.Event) throws(SegueError) {
    switch event {
    case .message:
      let body = try link.takeMessage { Array($0) }
      received.append(body)
      guard body.count == 2, body[0] == 0 else { return }
      try link.accept(FramedConnection.Channel(body[1]))
      reading.append(Channel(number: FramedConnection.Channel(body[1])))
    case .data(let number, let bytes): read(bytes, of: number)
    case .end(let number, let total):
      guard let index = reading.firstIndex(where: { $0.number == number }) else { fatalError("the end of no channel") }
      require(!reading[index].isEnded, "two ends")
      require(reading[index].count == total, "an end of which not all has come")
      reading[index].isEnded = true
    case .reset(let number):
      if let index = reading.firstIndex(where: { $0.number == number }) { reading[index].wasReset = true }
      if let index = mine.firstIndex(where: { $0.number == number }) { mine[index].wasReset = true }
    case .credit(let number, _): require(mine.contains { $0.number == number }, "credit for no channel")
    case .relay(let frame): readRelayed(frame)
    }
  }

  private func read(_ bytes: ArraySlice<UInt8>, of number: FramedConnection.Channel) {
    guard let index = reading.firstIndex(where: { $0.number == number }) else { fatalError("data of no channel") }
    require(!reading[index].isEnded && !reading[index].wasReset, "data behind the end")
    for (offset, byte) in bytes.enumerated() {
      guard byte != reading[index].byte(at: offset) else { continue }
      fatalError("another byte at \(reading[index].count + offset) of channel \(number)")
    }
    reading[index].count += bytes.count
    reading[index].used += bytes.count
    require(reading[index].used <= FramedConnection.window, "more than a window")
  }
}

extension End.Channel {
  /// The expected byte at this distance behind the bytes so far.
  func byte(at distance: Int) -> UInt8 { UInt8(truncatingIfNeeded: count + distance &+ Int(number) &* 31) }
}
