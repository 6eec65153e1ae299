// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// A connection of a control client. The client speaks the frames and messages of the hub's protocol: `ping` and `ask`
/// are answered, and everything else is refused by `goodbye`. For one thread.
final class ControlConnection {
  /// Milliseconds for a message, and for reading the answer.
  private static let messageTime: Int64 = 5_000
  /// Milliseconds for an answer: more than any continuation may take.
  private static let answerTime: Int64 = 660_000
  /// Milliseconds after which a write that the system has refused is tried again.
  private static let writePause: Int64 = 50
  /// Questions without an answer.
  private static let askLimit = 8
  /// Messages that are handled in one turn of the loop, which also carries the hub. A question ends the turn.
  private static let turn = 64
  /// Bytes that wait for the client, above which nothing more of it is handled or read.
  private static let outputLimit = 64 * 1024

  private enum State {
    case open
    /// Closes once `goodbye` is written.
    case ending
    case closed
  }

  let client: ControlClient
  private let bytes: any ByteConnection
  /// Owns this object, and closes it before it goes: a closed one calls nothing of it.
  private unowned(unsafe) let server: ControlServer
  private let link = FramedConnection(side: .accepting)
  private var writer = MessageWriter()
  private var state = State.open
  /// Whether received bytes wait for the next turn, or for the client to read.
  private var isBehind = false
  private var isScheduled = false
  private var askCount = 0
  /// The uptime at which the client has been silent for too long.
  private var silentAt: Int64
  /// The uptime at which to retry a refused write; nil: none was refused.
  private var writesAt: Int64?

  /// Takes over the connection.
  init(_ bytes: any ByteConnection, of client: ControlClient, at server: ControlServer) {
    self.bytes = bytes
    self.client = client
    self.server = server
    silentAt = server.environment.uptime + Self.messageTime
    bytes.watch(reading: true, writing: false)
  }

  /// Closes a connection for which there is no room, and tells it why.
  static func refuse(_ bytes: any ByteConnection, _ error: SegueError) {
    let link = FramedConnection(side: .accepting)
    var writer = MessageWriter()
    try? writer.send(.goodbye(error), over: link)
    // The buffer of a new connection takes more than that.
    _ = link.takeOutput { if case .bytes(let count) = bytes.write($0, nil) { count } else { 0 } }
    bytes.close()
  }

  /// The uptime at which `tick` is due.
  var deadline: Int64 { min(silentAt, writesAt ?? .max) }

  func close() {
    guard state != .closed else { return }
    state = .closed
    bytes.close()
    server.requests.abandon(client)
  }

  func tick(_ uptime: Int64) {
    if silentAt <= uptime {
      // It has said nothing for too long, or does not read.
      guard state == .open else { return end() }
      let seconds = Self.messageTime / 1_000
      return refuse(SegueError(.remoteApplicationTimedOut, "no message within \(seconds) s"))
    }
    if let at = writesAt, at <= uptime {
      writesAt = nil
      flush()
    }
  }

  /// Reads once. A client that is gone causes this call even if nothing more of it is to be read.
  func readable() {
    guard state != .closed else { return }
    let result = bytes.read(atMost: link.readSize) { bytes, _ in
      if state == .open { link.receive(bytes) }
    }
    if result == .closed { return end() }
    handleReceived()
  }

  /// Whether the other side has closed the connection for good, and can take no answer.
  var isGone: Bool { bytes.isClosedByPeer }

  /// Handles as much of what was received as one turn, and the output, allow.
  private func handleReceived() {
    isBehind = false
    var left = Self.turn
    do throws(SegueError) {
      while state == .open {
        guard left > 0, link.pendingBytes < Self.outputLimit else {
          isBehind = true
          break
        }
        guard let event = try link.nextEvent() else { break }
        guard case .message = event else { throw SegueError(.malformed, "control: a frame that is no message") }
        guard let message = try link.takeMessage(Message.decode) else { continue }
        left = if case .ask = message { 0 } else { left - 1 }
        try handle(message)
      }
    } catch {
      refuse(error)
    }
    flush()
  }

  /// Continues in the next turn of the loop.
  private func schedule() {
    guard !isScheduled else { return }
    isScheduled = true
    server.environment.post { [self] in
      isScheduled = false
      if state != .closed { handleReceived() }
    }
  }

  private func handle(_ message: Message) throws(SegueError) {
    switch message {
    case .ping(let number): try writer.send(.pong(number), over: link)
    case .ask(let number, let bytes): try ask(number, bytes)
    default: throw SegueError(.unsupportedVersion, "control: the agent does not know this message")
    }
    setDeadline()
  }

  private func setDeadline() {
    silentAt = server.environment.uptime + (askCount > 0 ? Self.answerTime : Self.messageTime)
    server.setTimer()
  }

  private func ask(_ number: UInt64, _ bytes: [UInt8]) throws(SegueError) {
    guard askCount < Self.askLimit else {
      throw SegueError(.limitExceeded, "control: \(Self.askLimit) questions wait for an answer")
    }
    let value = try Value(cbor: bytes)
    let place: RequestQuota.Place
    do throws(SegueError) {
      place = try server.quota.take(client.principal)
    } catch {
      // The connection stays: its other questions are answered.
      return try writer.send(.answer(number, error, []), over: link)
    }
    askCount += 1
    // The connection lives as long as it waits for an answer, or is open.
    server.requests.handle(value, of: client) { [self] result in
      withExtendedLifetime(place) { answer(number, result) }
    }
  }

  private func answer(_ number: UInt64, _ result: Result<Value, SegueError>) {
    askCount -= 1
    guard state == .open else { return }
    do throws(SegueError) {
      switch result {
      case .success(let value): try writer.send(.answer(number, nil, value.encoding), over: link)
      case .failure(let error): try writer.send(.answer(number, error, []), over: link)
      }
    } catch {
      try? writer.send(.answer(number, error, []), over: link)
    }
    setDeadline()
    flush()
  }

  private func refuse(_ error: SegueError) {
    guard state == .open else { return }
    state = .ending
    silentAt = server.environment.uptime + Self.messageTime
    server.setTimer()
    try? writer.send(.goodbye(error), over: link)
    flush()
  }

  /// A client that is gone is writable, too, and takes nothing: only a read reports that.
  func writable() { if !flush() { readable() } }

  /// - Returns: whether anything was written.
  @discardableResult
  private func flush() -> Bool {
    guard state != .closed else { return true }
    let former = link.pendingBytes
    while writesAt == nil, link.takeOutput({ bytes in write(bytes) }) {}
    if state == .ending, !link.hasOutput {
      end()
      return true
    }
    if isBehind, link.pendingBytes < Self.outputLimit { schedule() }
    bytes.watch(reading: state == .open && !isBehind, writing: link.hasOutput && writesAt == nil)
    return link.pendingBytes < former
  }

  private func write(_ output: UnsafeRawBufferPointer) -> Int {
    switch bytes.write(output, nil) {
    case .bytes(let count): return count
    case .refused:
      writesAt = server.environment.uptime + Self.writePause
      server.setTimer()
      return 0
    }
  }

  func end() {
    guard state != .closed else { return }
    close()
    server.ended(self)
  }
}
