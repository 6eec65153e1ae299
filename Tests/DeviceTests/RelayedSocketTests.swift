// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore

/// The end of a channel through a relay, as a socket (R14.3).
@Suite struct RelayedSocketTests {
  private let relay = Identifier(high: 0, low: 1)
  private let device = Identifier(high: 0, low: 2)

  /// A channel that is open, and what runs in later turns.
  private final class Turns: RelayedSocketsOwner {
    private(set) lazy var sockets = RelayedSockets(after: 0, of: self)
    private(set) var sent: [RelayStep] = []
    private var waiting: [() -> Void] = []

    func later(_ body: @escaping () -> Void) { waiting.append(body) }
    func send(_ message: RelayMessage, through relay: Identifier) {
      if case .toRelay(_, let step) = message { sent.append(step) }
    }
    func name(of device: Identifier) -> String { device.fingerprint }

    /// Runs what is due until nothing is, at most 100 turns.
    /// - Returns: the turns.
    func run() -> Int {
      for turn in 0..<100 {
        guard !waiting.isEmpty else { return turn }
        let bodies = waiting
        waiting = []
        for body in bodies { body() }
      }
      return 100
    }
  }

  private func opened(_ turns: Turns) -> RelayedSocket {
    let socket = turns.sockets.dial(device, through: relay)
    socket.take(.opened)
    return socket
  }

  @Test func `R14.3 one that has ended while it is not read, and has something to write, reports that once`() {
    let turns = Turns()
    let socket = opened(turns)
    var events: [(Bool, Bool)] = []
    socket.start { [unowned socket] isReadable, isWritable in
      events.append((isReadable, isWritable))
      // As a connection does that is not read for now: an end is found when it is read again.
      if isReadable { socket.watch(reading: false, writing: false) }
    }
    socket.watch(reading: false, writing: true)
    _ = turns.run()
    events = []
    socket.watch(reading: false, writing: true)
    socket.over(.cut)
    socket.report()
    #expect(turns.run() < 100)
    #expect(events.count == 1 && events.first?.0 == true)
    socket.watch(reading: true, writing: false)
    #expect(turns.run() < 100 && events.count == 2)
    var result = ByteRead.full
    result = socket.read(atMost: 100) { _, _ in }
    #expect(result == .closed)
    socket.close()
    #expect(turns.run() < 100)
  }

  @Test func `R14.3 what is not read reports nothing, and is reported once it is read again`() {
    let turns = Turns()
    let socket = opened(turns)
    var reads = 0
    socket.start { [unowned socket] isReadable, _ in
      guard isReadable else { return }
      reads += 1
      _ = socket.read(atMost: 100) { _, _ in }
    }
    socket.watch(reading: false, writing: false)
    socket.take(.data(0, [1, 2, 3][...]))
    #expect(turns.run() < 100 && reads == 0 && socket.unread == 3)
    socket.watch(reading: true, writing: false)
    #expect(turns.run() < 100 && reads == 1 && socket.unread == 0)
    socket.close()
  }

  @Test func `R14.3 as many bytes are written as the relay has said, from the beginning 16 KiB`() {
    let turns = Turns()
    let socket = opened(turns)
    let bytes = [UInt8](repeating: 7, count: 100_000)
    func write() -> Int {
      bytes.withUnsafeBytes { bytes in if case .bytes(let count) = socket.write(bytes, nil) { count } else { -1 } }
    }
    #expect(write() == Int(RelayWindow.size) && write() == 0)
    socket.take(.credit(10_000, limit: 50_000))
    #expect(write() == 50_000 - Int(RelayWindow.size))
    // A smaller limit takes nothing back.
    socket.take(.credit(20_000, limit: 36_384))
    #expect(write() == 0 && socket.failure == nil)
    socket.take(.credit(20_000, limit: 20_001 + RelayWindow.largest))
    #expect(socket.failure?.status == .malformed)
    socket.close()
  }

  @Test func `A23 one that has sent many small messages waits for credit`() {
    let turns = Turns()
    let socket = opened(turns)
    socket.take(.credit(0, limit: RelayWindow.largest))
    func write() -> Int {
      [7, 7, 7].withUnsafeBytes { bytes in if case .bytes(let count) = socket.write(bytes, nil) { count } else { -1 } }
    }
    let most = (0..<RelayWindow.messagesOfSender).map { _ in write() }
    #expect(most.allSatisfy { $0 == 24 } && write() == 0)
    socket.take(.credit(1, limit: RelayWindow.largest))
    #expect(write() == 24)
    socket.close()
  }

  @Test func `R14.3 the frames of many bytes fill whole records of TLS, and go out in a later turn`() {
    let turns = Turns()
    let socket = opened(turns)
    socket.take(.credit(0, limit: 200_000))
    _ = [UInt8](repeating: 7, count: 200_000).withUnsafeBytes { socket.write($0, nil) }
    let sizes = turns.sent.compactMap { if case .data(_, let bytes) = $0 { bytes.count } else { nil } }
    // With the head of the frame, and the offset.
    #expect(sizes.dropLast().allSatisfy { $0 + 16 == 4 * SecureChannel.recordSize } && sizes.reduce(0, +) == 200_000)
    #expect(sizes.count == 4 && socket.sendsLater)
    socket.close()
  }

  /// Half of a frame and more is not copied; less would have an unread socket hold many times its window.
  @Test(arguments: [(8 * 1024, false), (RelayFrame.pieceSize / 2 - 1, false), (RelayFrame.pieceSize, true)])
  func `A23 of what came with it a small piece retains nothing`(size: Int, isRetained: Bool) {
    let socket = opened(Turns())
    var buffer = [UInt8](repeating: 7, count: 96 * 1024)
    let before = buffer.withUnsafeBytes { $0.baseAddress }
    socket.take(.data(0, buffer[..<size]))
    // An array that is shared is copied before it changes.
    buffer[0] = 8
    #expect((buffer.withUnsafeBytes { $0.baseAddress } != before) == isRetained)
    #expect(socket.unread == size && socket.failure == nil)
  }
}
