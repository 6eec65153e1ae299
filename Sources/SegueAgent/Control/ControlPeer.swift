import CLinux
import SegueModel
import SegueTransport
import SegueWire

/// A process of this user that is connected to the control socket. It speaks the frames and messages of the hub's
/// protocol: `ping` and `ask` are answered, and everything else is refused by `goodbye`. For the loop.
final class ControlPeer {
  /// Milliseconds for a message, and for reading the answer.
  private static let messageTime: Int64 = 5_000
  /// Milliseconds for an answer: more than any continuation may take.
  private static let answerTime: Int64 = 660_000
  /// Questions without an answer.
  private static let askLimit = 8

  private let fd: Int32
  private let link = Link(side: .accepting)
  private var writer = MessageWriter()
  private var watch: Watch?
  private var isEnding = false
  private let asks: ControlAsks
  private var askCount = 0
  private let changed: () -> Void
  private let ended: (ControlPeer) -> Void
  /// Uptime at which the peer has been silent for too long.
  private(set) var deadline = Clock.uptime + ControlPeer.messageTime

  /// Takes over the connection, also if this throws.
  /// - Parameters:
  ///   - changed: called when the deadline has changed.
  ///   - ended: called once, when the connection has closed, but not by `close`.
  init(
    _ fd: Int32, on loop: Loop, _ asks: ControlAsks, changed: @escaping () -> Void,
    _ ended: @escaping (ControlPeer) -> Void
  ) throws(SegueError) {
    self.fd = fd
    self.asks = asks
    self.changed = changed
    self.ended = ended
    do throws(SegueError) {
      // `close` closes the watch before this object is released.
      watch = try Watch(fd, on: loop) { [unowned(unsafe) self] isReadable, _ in
        // What ends the connection releases this object.
        let peer = self
        withExtendedLifetime(peer) { if isReadable { peer.receive() } else { peer.flush() } }
      }
    } catch {
      Descriptors.closeUntrusted(fd)
      throw error
    }
  }

  func close() {
    guard watch != nil else { return }
    watch?.close()
    watch = nil
    Descriptors.closeUntrusted(fd)
  }

  /// The peer has said nothing for too long, or does not read.
  func expire() {
    guard !isEnding else { return end() }
    refuse(SegueError(.remoteApplicationTimedOut, "no message within \(Self.messageTime / 1000) s"))
  }

  private func receive() {
    let result = Socket.read(fd, atMost: link.readSize) { bytes, came in
      // Nothing here comes with a descriptor.
      if case .one(let descriptor) = came { Descriptors.closeUntrusted(descriptor) }
      link.receive(bytes)
    }
    do throws(SegueError) {
      while !isEnding, let event = try link.nextEvent() {
        guard case .message = event else { throw SegueError(.malformed, "control: a frame that is no message") }
        if let message = try link.takeMessage(Message.decode) { try handle(message) }
      }
    } catch {
      refuse(error)
    }
    if result == .closed { end() } else { flush() }
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
    deadline = Clock.uptime + (askCount > 0 ? Self.answerTime : Self.messageTime)
    changed()
  }

  private func ask(_ number: UInt64, _ bytes: [UInt8]) throws(SegueError) {
    guard askCount < Self.askLimit else {
      throw SegueError(.limitExceeded, "control: \(Self.askLimit) questions wait for an answer")
    }
    let value = try Value(cbor: bytes)
    askCount += 1
    // The peer lives as long as it waits for an answer, or is connected.
    asks.handle(value) { [self] result in answer(number, result) }
  }

  private func answer(_ number: UInt64, _ result: Result<Value, SegueError>) {
    askCount -= 1
    guard watch != nil, !isEnding else { return }
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
    isEnding = true
    deadline = Clock.uptime + Self.messageTime
    try? writer.send(.goodbye(error), over: link)
    flush()
  }

  private func flush() {
    guard watch != nil else { return }
    while link.takeOutput({ bytes in
      if case .bytes(let count) = Socket.write(bytes, -1, to: fd) { count } else { 0 }
    }) {}
    if isEnding, !link.hasOutput { return end() }
    watch?.watch(reading: !isEnding, writing: link.hasOutput)
  }

  private func end() {
    guard watch != nil else { return }
    close()
    ended(self)
  }
}
