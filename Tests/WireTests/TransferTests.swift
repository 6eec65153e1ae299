// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// A descriptor belongs to its message, whatever a read gives at a time.
@Suite struct TransferTests {
  private final class Numbered: PassedDescriptor {
    let number: UInt8
    init(_ number: UInt8) {
      self.number = number
      super.init()
    }
  }

  private let app = FramedConnection(side: .connecting)
  private let hub = FramedConnection(side: .accepting)

  /// A socket as the kernel has them: a read gives bytes of several writes, but ends with one that has a descriptor.
  private struct Wire {
    var writes: [(bytes: ArraySlice<UInt8>, descriptor: PassedDescriptor?)] = []

    mutating func read(atMost limit: Int) -> ([UInt8], PassedDescriptor?) {
      var bytes: [UInt8] = []
      while !writes.isEmpty, bytes.count < limit {
        let part = writes[0].bytes.prefix(limit - bytes.count)
        bytes += part
        let descriptor = writes[0].descriptor
        writes[0] = (writes[0].bytes.dropFirst(part.count), nil)
        if writes[0].bytes.isEmpty { writes.removeFirst() }
        if let descriptor { return (bytes, descriptor) }
      }
      return (bytes, nil)
    }
  }

  /// The messages that have come: the number of each, and that of its descriptor.
  private func messages() throws -> [(UInt8, UInt8?)] {
    var messages: [(UInt8, UInt8?)] = []
    while let event = try hub.nextEvent() {
      guard case .message = event else { continue }
      let descriptor = hub.takeDescriptor() as? Numbered
      messages.append((try hub.takeMessage { $0[0] }, descriptor?.number))
    }
    return messages
  }

  @Test(arguments: 0..<200)
  func `each message has its own, however the bytes are cut`(seed: Int) throws {
    var random = Seeded(state: UInt64(seed))
    var wire = Wire()
    var came: [(UInt8, UInt8?)] = []
    var sent: [(UInt8, UInt8?)] = []
    let channel = app.open()
    try hub.accept(channel)
    for number in 0..<100 as Range<UInt8> {
      let message = [UInt8](repeating: number, count: Int.random(in: 1...40, using: &random))
      let hasDescriptor = Bool.random(using: &random)
      app.send(message, with: hasDescriptor ? Numbered(number) : nil)
      sent.append((number, hasDescriptor ? number : nil))
      if Int.random(in: 0..<4, using: &random) == 0 { app.write([7, 7, 7], to: channel) }
      let room = Int.random(in: 0...300, using: &random)
      var left = room
      while app.takeOutput({ bytes in
        let size = min(bytes.count, left)
        left -= size
        if size > 0 { wire.writes.append((Array(bytes[..<size])[...], app.outgoingDescriptor)) }
        return size
      }) {}
      let (bytes, descriptor) = wire.read(atMost: Int.random(in: 1...200, using: &random))
      hub.receive(bytes, descriptor)
      came += try messages()
    }
    while app.takeOutput({ bytes in
      wire.writes.append((Array(bytes)[...], app.outgoingDescriptor))
      return bytes.count
    }) {}
    while !wire.writes.isEmpty {
      let (bytes, descriptor) = wire.read(atMost: Int.random(in: 1...200, using: &random))
      hub.receive(bytes, descriptor)
      came += try messages()
    }
    #expect(came.map { $0.0 } == sent.map { $0.0 } && came.map { $0.1 } == sent.map { $0.1 })
  }

  private let transfer: [UInt8] = [6, 0, 0, 1, 0, 0, 0, 0, 42]
  private let message: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 42]

  @Test func `a message that should have a descriptor and has none ends the connection, at its first byte`() throws {
    for size in 1...transfer.count {
      let hub = FramedConnection(side: .accepting)
      hub.receive(message + transfer[..<size])
      #expect(throws: SegueError.self) { while let _ = try hub.nextEvent() {} }
    }
  }

  @Test func `one that comes too late or too often, or with no message, ends the connection`() throws {
    let wrong: [[([UInt8], Bool)]] = [
      [(message, true)],
      [(Array(transfer[..<1]), true), (Array(transfer[1...]), true)],
      [(transfer + transfer, true)],
      [(transfer, true), (message, true)],
      // In the middle of data.
      [([1, 0, 0, 9, 0, 0, 0, 1, 7], false), ([6, 6], true)],
    ]
    for pieces in wrong {
      let hub = FramedConnection(side: .accepting)
      try hub.accept(1)
      #expect(throws: SegueError.self) {
        for (bytes, hasDescriptor) in pieces {
          hub.receive(bytes, hasDescriptor ? PassedDescriptor() : nil)
          while let _ = try hub.nextEvent() {}
        }
      }
    }
  }

  @Test func `one that is not taken is let go of with its message`() throws {
    weak var descriptor: PassedDescriptor?
    do {
      let came = PassedDescriptor()
      descriptor = came
      hub.receive(transfer, came)
    }
    _ = try hub.nextEvent()
    #expect(descriptor != nil)
    _ = try hub.takeMessage { $0.count }
    #expect(descriptor == nil)
  }

  @Test(arguments: [0, 2, 4, .max] as [UInt64])
  func `an end that names another number of bytes than have come is none (R7.3)`(total: UInt64) throws {
    let channel = app.open()
    try hub.accept(channel)
    app.write([1, 2, 3], to: channel)
    app.finish(channel, total: total)
    while app.takeOutput({ bytes in
      hub.receive(Array(bytes))
      return bytes.count
    }) {}
    guard case .data? = try hub.nextEvent() else { return #expect(Bool(false)) }
    guard case .reset(channel)? = try hub.nextEvent() else { return #expect(Bool(false)) }
  }
}

/// SplitMix64, as in EngineTests.
private struct Seeded: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }
}
