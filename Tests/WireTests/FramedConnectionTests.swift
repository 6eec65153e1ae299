// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

@Suite struct FramedConnectionTests {
  private let app = FramedConnection(side: .connecting)
  private let hub = FramedConnection(side: .accepting)

  /// Moves what one end has to say to the other, in pieces of this size.
  private func move(_ from: FramedConnection, _ to: FramedConnection, pieces: Int = .max) {
    while from.takeOutput({ bytes in
      let size = min(bytes.count, pieces)
      to.receive(Array(bytes[..<size]))
      return size
    }) || from.pendingBytes > 0 {}
  }

  private func events(_ link: FramedConnection) throws -> [FramedConnection.Event] {
    var events: [FramedConnection.Event] = []
    while let event = try link.nextEvent() { events.append(event) }
    return events
  }

  /// Takes the messages that have come. Empty if anything else is among them.
  private func messages(_ link: FramedConnection) throws -> [[UInt8]] {
    var messages: [[UInt8]] = []
    while let event = try link.nextEvent() {
      guard case .message = event else { return [] }
      messages.append(try link.takeMessage { Array($0) })
    }
    return messages
  }

  @Test func `each frame is counted, also one that is dropped, and the bytes of messages`() throws {
    let channel = app.open()
    app.send([UInt8](repeating: 0, count: 1_000))
    app.send([])
    move(app, hub)
    _ = try messages(hub)
    #expect(hub.work == 2 + 1_000 / 64)
    try hub.accept(channel)
    app.write([UInt8](repeating: 0, count: 1_000)[...], to: channel)
    app.finish(channel)
    move(app, hub)
    #expect(try events(hub).count == 2 && hub.work == 4 + 1_000 / 64, "bytes of channels have credit")
    // Credit for a channel that is over.
    hub.receive([4, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1])
    #expect(try events(hub).isEmpty && hub.work == 5 + 1_000 / 64)
  }

  @Test func `messages come whole and in order, cut at every byte`() throws {
    for size in [1, 2, 7, 8, 9, 1_000] {
      for number in 0..<20 { app.send([UInt8](repeating: UInt8(number), count: number * 37)) }
      move(app, hub, pieces: size)
      #expect(try messages(hub) == (0..<20).map { [UInt8](repeating: UInt8($0), count: $0 * 37) })
    }
  }

  @Test(arguments: [
    [UInt8](repeating: 0xff, count: 8),  // no such kind
    [0, 0xff, 0xff, 0xff, 0, 0, 0, 0],  // a message of 16 MB
    [0, 0, 0, 1, 0, 0, 0, 1],  // a message on a channel
    [1, 0, 0, 0, 0, 0, 0, 2],  // no data
    [1, 1, 0, 1, 0, 0, 0, 2],  // data over 64 KiB
    [2, 0, 0, 7, 0, 0, 0, 2],  // an end with seven bytes
    [4, 0, 0, 3, 0, 0, 0, 2],  // credit of three bytes
    [2, 0, 0, 0, 0, 0, 0, 2],  // the end of a channel that never was
    [3, 0, 0, 0, 0, 0, 0, 0],  // channel 0 has no end
  ]) func `a bad head is refused before its body is waited for (A9)`(head: [UInt8]) {
    app.receive(head)
    #expect(throws: SegueError.self) { try events(app) }
  }

  @Test(arguments: [ConnectionSide.connecting, .accepting])
  func `when the numbers of channels have run out there is no room for another (A9)`(side: ConnectionSide) throws {
    let link = FramedConnection(side: side)
    link.nextChannel += FramedConnection.Channel.max / 2 * 2 - 4
    var opened = 0
    while link.openCount < FramedConnection.channelLimit {
      #expect(link.open() > FramedConnection.Channel.max - 8)
      opened += 1
    }
    #expect(opened >= 1)
  }

  @Test func `no number of a channel is too high (A9)`() throws {
    try hub.accept(.max)
    let late: [UInt8] = [1, 0, 0, 1, 0, 0, 0, 3, 7]
    hub.receive(late)
    #expect(try events(hub).isEmpty, "a byte of a channel that was given up long ago")
    #expect(throws: SegueError.self) { try hub.accept(1) }
  }

  @Test func `a slow reader stops the writer, and memory stays bounded`() throws {
    let channel = app.open()
    try hub.accept(channel)
    let all = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var sent = 0
    var received: [UInt8] = []
    while received.count < all.count {
      let room = min(app.availableCredit(of: channel), all.count - sent)
      app.write(all[sent..<sent + room], to: channel)
      sent += room
      move(app, hub)
      #expect(sent - received.count <= FramedConnection.window)
      for case .data(_, let bytes) in try events(hub) {
        received += bytes
        hub.grant(bytes.count, to: channel)
      }
      move(hub, app)
      _ = try events(app)
    }
    #expect(received == all)
  }

  @Test func `more than its credit is refused, and credit without bound`() throws {
    let channel = app.open()
    try hub.accept(channel)
    hub.grant(FramedConnection.grantSize, to: channel)
    move(hub, app)
    #expect(throws: SegueError.self) { try events(app) }
  }

  @Test func `a peer that sends more than its credit is refused (A9)`() throws {
    let channel = app.open()
    try hub.accept(channel)
    func data(_ count: Int) -> [UInt8] {
      [1, UInt8(count >> 16), UInt8(count >> 8 & 0xff), UInt8(count & 0xff), 0, 0, 0, UInt8(channel)]
        + [UInt8](repeating: 7, count: count)
    }
    let frames = FramedConnection.window / Frame.dataLimit
    for _ in 0..<frames { hub.receive(data(Frame.dataLimit)) }
    #expect(try events(hub).count == frames)
    hub.receive(data(1))
    #expect(throws: SegueError.self) { try events(hub) }
  }

  @Test func `a peer has 256 channels open at a time (A9)`() throws {
    var last: FramedConnection.Channel = 0
    for _ in 0..<FramedConnection.channelLimit {
      last = app.open()
      try hub.accept(last)
    }
    let more = app.open()
    #expect(throws: SegueError.self) { try hub.accept(more) }
    hub.reset(last)
    try hub.accept(more)
  }

  @Test func `a channel ends once, and is then forgotten on both sides`() throws {
    let channel = app.open()
    try hub.accept(channel)
    app.write([1, 2, 3], to: channel)
    app.finish(channel)
    #expect(app.availableCredit(of: channel) == 0, "nothing follows")
    move(app, hub)
    guard case .data(channel, [1, 2, 3])? = try hub.nextEvent() else { return #expect(Bool(false)) }
    guard case .end(channel, 3)? = try hub.nextEvent() else { return #expect(Bool(false)) }
    #expect(try hub.nextEvent() == nil)
    hub.grant(FramedConnection.window, to: channel)
    hub.reset(channel)
    #expect(!hub.hasOutput, "there is nothing left to speak of")
    app.reset(channel)
    #expect(!app.hasOutput)
  }

  @Test func `either side gives a channel up, and the other hears of it`() throws {
    let channel = app.open()
    try hub.accept(channel)
    app.write([1], to: channel)
    app.reset(channel)
    move(app, hub)
    // The bytes that were to go out next are still sent.
    guard case .data(channel, [1])? = try hub.nextEvent() else { return #expect(Bool(false)) }
    guard case .reset(channel)? = try hub.nextEvent() else { return #expect(Bool(false)) }
    let second = app.open()
    try hub.accept(second)
    hub.reset(second)
    move(hub, app)
    guard case .reset(second)? = try app.nextEvent() else { return #expect(Bool(false)) }
    #expect(app.availableCredit(of: second) == 0)
  }

  @Test func `a frame that is cut behind many others comes whole with its rest`() throws {
    for number in 0..<80 { app.send([UInt8](repeating: UInt8(number), count: 1_000)) }
    var bytes: [UInt8] = []
    while app.takeOutput({
      bytes += $0
      return $0.count
    }) {}
    hub.receive(Array(bytes[..<(bytes.count - 1)]))
    #expect(try events(hub).count == 79)
    hub.receive(Array(bytes[(bytes.count - 1)...]))
    #expect(try messages(hub) == [[UInt8](repeating: 79, count: 1_000)])
  }

  @Test func `what waits when a link begins to keep goes out once (R7.4)`() throws {
    for number in 0..<40 { app.send([UInt8](repeating: UInt8(number), count: 1_000)) }
    _ = app.takeOutput { _ in 100 }
    let sent = app.pendingBytes
    app.enableResumption()
    #expect(app.pendingBytes == sent)
  }

  @Test func `what the next connection has yet to say of itself goes before what is said again (R7.4)`() throws {
    app.enableResumption()
    app.send([1])
    _ = app.takeOutput { $0.count }
    let next = FramedConnection(side: .connecting)
    next.send([7])
    try app.resume(over: next, peerReceived: 0)
    move(app, hub)
    #expect(try messages(hub) == [[7], [1]])
  }

  @Test func `bytes of a channel are given as they come, and one read gets the next frame whole`() throws {
    let channel = app.open()
    try hub.accept(channel)
    app.write([UInt8](repeating: 7, count: 2 * Frame.dataLimit)[...], to: channel)
    var bytes: [UInt8] = []
    while app.takeOutput({
      bytes += $0
      return $0.count
    }) {}
    var sizes: [Int] = []
    while !bytes.isEmpty {
      // The connection has 40,000 bytes for the first read.
      let read = sizes.isEmpty ? 40_000 : min(hub.readSize, bytes.count)
      hub.receive(Array(bytes[..<read]))
      bytes.removeFirst(read)
      for case .data(channel, let part) in try events(hub) { sizes.append(part.count) }
    }
    #expect(sizes == [40_000 - Frame.headSize, Frame.size - 40_000, Frame.dataLimit])
  }

  @Test func `a link goes on in the middle of a frame (R7.4)`() throws {
    for link in [app, hub] { link.enableResumption() }
    let channel = app.open()
    try hub.accept(channel)
    let all = (0..<FramedConnection.window).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    app.write(all[...], to: channel)
    var arrived: [UInt8] = []
    func read() throws { for case .data(_, let part) in try events(hub) { arrived += part } }
    for came in [3, 8, 100, 70_000, 1] {
      // More goes than comes, and the rest is lost.
      _ = app.takeOutput { bytes in
        hub.receive(Array(bytes.prefix(came)))
        return bytes.count
      }
      try read()
      let next = FramedConnection(side: .accepting)
      try app.resume(over: FramedConnection(side: .connecting), peerReceived: hub.received)
      try hub.resume(over: next, peerReceived: app.received)
    }
    move(app, hub)
    try read()
    #expect(arrived == all)
  }

  @Test func `what the next connection has brought already is not lost (R7.4)`() throws {
    for link in [app, hub] { link.enableResumption() }
    app.send([1, 2, 3])
    app.send([4])
    var bytes: [UInt8] = []
    _ = app.takeOutput {
      bytes += $0
      return $0.count
    }
    hub.receive(Array(bytes[..<10]))
    #expect(try events(hub).isEmpty && hub.received == 10)
    let next = FramedConnection(side: .accepting)
    next.receive(Array(bytes[10...]))
    try hub.resume(over: next, peerReceived: 0)
    #expect(hub.received == UInt64(bytes.count))
    #expect(try messages(hub) == [[1, 2, 3], [4]])
  }

  @Test func `an acknowledgement goes with the credit: what comes much wakes the writer once (R7.4)`() throws {
    for link in [app, hub] { link.enableResumption() }
    let channel = app.open()
    try hub.accept(channel)
    app.write([UInt8](repeating: 1, count: FramedConnection.grantSize)[...], to: channel)
    move(app, hub)
    _ = try events(hub)
    #expect(!hub.hasOutput)
    hub.grant(FramedConnection.grantSize, to: channel)
    #expect(hub.pendingBytes == 2 * Frame.headSize + 8 + 4)
    move(hub, app)
    _ = try events(app)
    #expect(app.heldBytes == 0)
  }

  @Test func `what comes without credit is acknowledged, too (R7.4)`() throws {
    for link in [app, hub] { link.enableResumption() }
    for _ in 0..<7 {
      app.send([UInt8](repeating: 1, count: 40_000))
      move(app, hub)
      _ = try events(hub)
    }
    move(hub, app)
    _ = try events(app)
    #expect(app.heldBytes == 0)
  }

  @Test func `bytes of a channel do not overtake the message that names it`() throws {
    let first = app.open()
    app.send([UInt8(first)])
    app.write([UInt8](repeating: 1, count: FramedConnection.window)[...], to: first)
    // The rest of the data frame is more than what goes before an urgent message (`Frame.stagedSize`).
    _ = app.takeOutput { bytes in
      hub.receive(Array(bytes[..<4_000]))
      return 4_000
    }
    let second = app.open()
    app.send([UInt8(second)])
    app.write([2], to: second)
    app.finish(second)
    var named: [FramedConnection.Channel] = []
    var hasMoved = true
    while hasMoved {
      hasMoved = app.takeOutput {
        hub.receive(Array($0))
        return $0.count
      }
      while let event = try hub.nextEvent() {
        guard case .message = event else { continue }
        named.append(FramedConnection.Channel(try hub.takeMessage { $0[0] }))
        try hub.accept(named[named.count - 1])
      }
    }
    #expect(named == [first, second])
  }

  @Test func `channels take turns`() throws {
    let channels = [app.open(), app.open(), app.open()]
    for channel in channels {
      try hub.accept(channel)
      app.write([UInt8](repeating: UInt8(channel), count: 2 * Frame.dataLimit)[...], to: channel)
    }
    move(app, hub)
    let order = try events(hub).compactMap { event -> FramedConnection.Channel? in
      guard case .data(let channel, _) = event else { return nil }
      return channel
    }
    #expect(Array(order.prefix(3)) == channels)
  }

  @Test func `credit is given in large pieces: a small document costs none`() throws {
    let channel = app.open()
    try hub.accept(channel)
    app.write([UInt8](repeating: 1, count: FramedConnection.grantSize)[...], to: channel)
    move(app, hub)
    _ = try events(hub)
    hub.grant(FramedConnection.grantSize - 1, to: channel)
    #expect(!hub.hasOutput)
    #expect(app.availableCredit(of: channel) == FramedConnection.window - FramedConnection.grantSize)
    hub.grant(1, to: channel)
    move(hub, app)
    _ = try events(app)
    #expect(app.availableCredit(of: channel) == FramedConnection.window)
  }

  @Test func `a message waits behind one data frame at most`() throws {
    let channel = app.open()
    try hub.accept(channel)
    app.write([UInt8](repeating: 1, count: FramedConnection.window)[...], to: channel)
    // The socket takes the head of the first frame and is full.
    _ = app.takeOutput { _ in 4 }
    app.send([42])
    #expect(app.pendingBytes <= Frame.dataLimit + 2 * Frame.headSize + 1)
  }

  @Test func `what is urgent overtakes messages that wait, but for one data frame's worth`() throws {
    for number in 0..<64 { app.send([UInt8](repeating: UInt8(number), count: 1_000)) }
    // The first has begun to go out, so it cannot be overtaken.
    _ = app.takeOutput { _ in 1 }
    app.send([0xff], isUrgent: true)
    #expect(app.pendingBytes == 64 * 1_008 + 9 - 1)
    var bytes = [UInt8](repeating: 0, count: 1)
    bytes[0] = 0  // the byte that went: the kind of the first frame
    hub.receive(bytes)
    move(app, hub)
    let order = try messages(hub).map { $0[0] }
    #expect(order.count == 65)
    #expect(order.firstIndex(of: 0xff)! <= 17)
    #expect(order.filter { $0 != 0xff } == (0..<64).map { UInt8($0) })
  }

  @Test func `late frames of a channel that was given up are passed over`() throws {
    let channel = app.open()
    try hub.accept(channel)
    app.write([1, 2, 3], to: channel)
    hub.reset(channel)
    app.finish(channel)
    move(app, hub)
    #expect(try events(hub).isEmpty)
    move(hub, app)
    _ = try events(app)
  }

  @Test func `channels are opened in order, by their own side`() throws {
    let first = app.open()
    let second = app.open()
    try hub.accept(second)
    #expect(throws: SegueError.self) { try hub.accept(first) }
    #expect(throws: SegueError.self) { try hub.accept(hub.open()) }
    #expect(throws: SegueError.self) { try hub.accept(0) }
  }
}
