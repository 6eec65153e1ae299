// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueWire

/// A link whose peer sends arbitrary bytes while the link works: it never accepts more than it granted, and never sends
/// more than its credit.
func fuzzLinkBytes(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  var story = FuzzScript(input.bool() ? .connecting : .accepting)
  while !input.isEmpty, story.step(&input) {}
  story.readOutput()
}

private struct FuzzScript {
  let link: FramedConnection
  /// Channels of the peer, and how many bytes it may still send.
  var granted: [(channel: FramedConnection.Channel, count: Int)] = []
  /// Our channels, and how many bytes we may still send.
  var credit: [(channel: FramedConnection.Channel, count: Int)] = []
  var isKept = false
  var output = FrameReader()

  init(_ side: ConnectionSide) { link = FramedConnection(side: side) }

  /// False: the connection is of no further use.
  mutating func step(_ input: inout Input) -> Bool {
    switch input.number(below: 10) {
    case 0: link.send(Array(input.bytes()))
    case 1: if credit.count < 8 { credit.append((link.open(), FramedConnection.window)) }
    case 2: write(&input)
    case 3: link.finish(FramedConnection.Channel(input.byte()))
    case 4: reset(FramedConnection.Channel(input.byte()))
    case 5: grant(&input)
    case 6: readOutput(atMost: Int(input.byte()))
    case 7: keep()
    case 8: return receive(input.bytes(), PassedDescriptor())
    default: return receive(input.bytes())
    }
    return true
  }

  /// Once, as when two hubs have met.
  private mutating func keep() {
    if !isKept { link.enableResumption() }
    isKept = true
  }

  private mutating func write(_ input: inout Input) {
    let channel = FramedConnection.Channel(input.byte())
    let room = link.availableCredit(of: channel)
    require(0...FramedConnection.window ~= room, "room without bound")
    link.write([UInt8](repeating: 7, count: min(room, Int(input.byte()) * 64))[...], to: channel)
  }

  private mutating func reset(_ channel: FramedConnection.Channel) {
    link.reset(channel)
    granted.removeAll { $0.channel == channel }
  }

  /// As much again as the peer has used up.
  private mutating func grant(_ input: inout Input) {
    guard !granted.isEmpty else { return }
    let index = input.number(below: granted.count)
    let count = min(FramedConnection.window - granted[index].count, Int(input.byte()) * 64)
    link.grant(count, to: granted[index].channel)
    granted[index].count += count
  }

  private mutating func receive(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor? = nil) -> Bool {
    link.receive(Array(bytes), descriptor)
    do throws(SegueError) {
      while let event = try link.nextEvent() { try handle(event) }
      return true
    } catch {
      return false
    }
  }

  private mutating func handle(_ event: FramedConnection.Event) throws(SegueError) {
    switch event {
    case .message:
      let body = try link.takeMessage { Array($0) }
      require(body.count <= Frame.messageLimit, "a message without bound")
      // It may name a channel.
      guard body.count == 1 else { return }
      try link.accept(FramedConnection.Channel(body[0]))
      require(granted.count < FramedConnection.channelLimit, "channels without bound")
      granted.append((FramedConnection.Channel(body[0]), FramedConnection.window))
    case .data(let channel, let bytes):
      guard let index = granted.firstIndex(where: { $0.channel == channel }) else { fatalError("data of no channel") }
      granted[index].count -= bytes.count
      require(granted[index].count >= 0, "more bytes than were granted")
    case .end(let channel, _):
      require(granted.contains { $0.channel == channel }, "the end of no channel")
      granted.removeAll { $0.channel == channel }
    case .reset(let channel): granted.removeAll { $0.channel == channel }
    case .credit(let channel, let count):
      guard let index = credit.firstIndex(where: { $0.channel == channel }) else { return }
      credit[index].count += count
    case .relay(.bytes(let channel, _, let bytes)):
      require(channel != 0 && 1...RelayFrame.dataLimit ~= bytes.count, "a frame of a relay that is too long, or empty")
    case .relay: break
    }
  }

  /// Checks that the output consists of frames, with no more bytes of a channel than the peer takes.
  mutating func readOutput(atMost most: Int = .max) {
    while link.takeOutput({ bytes in
      let size = min(bytes.count, most)
      output.append(Array(bytes[..<size]))
      return size
    }) {}
    while let head = nextFrame() {
      guard head.kind == .data else { continue }
      guard let index = credit.firstIndex(where: { $0.channel == head.channel }) else {
        fatalError("data of a channel that was not opened")
      }
      credit[index].count -= head.length
      require(credit[index].count >= 0, "more bytes than the peer takes")
    }
  }

  private mutating func nextFrame() -> Frame.Head? {
    do throws(SegueError) {
      return try output.next()
    } catch {
      fatalError("what is sent is no frame: \(error.message)")
    }
  }
}
