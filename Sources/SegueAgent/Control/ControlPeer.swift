import CLinux
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueSystem
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
  /// Messages that are handled in one turn of the loop, which also carries the hub. A question ends the turn.
  private static let turn = 64
  /// Bytes that wait for the peer, above which nothing more of it is handled or read.
  private static let outputLimit = 64 * 1024

  private let fd: Int32
  private let loop: Loop
  private let link = FramedConnection(side: .accepting)
  private var writer = MessageWriter()
  private var watch: Watch?
  private var isEnding = false
  /// Whether received bytes wait for the next turn, or for the peer to read.
  private var isBehind = false
  private var isScheduled = false
  private let requests: ControlRequests
  private let quota: RequestQuota
  private let client: ControlClient
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
    _ fd: Int32, of client: ControlClient, on loop: Loop, _ requests: ControlRequests, _ quota: RequestQuota,
    changed: @escaping () -> Void, _ ended: @escaping (ControlPeer) -> Void
  ) throws(SegueError) {
    self.fd = fd
    self.client = client
    self.loop = loop
    self.requests = requests
    self.quota = quota
    self.changed = changed
    self.ended = ended
    do throws(SegueError) {
      // `close` closes the watch before this object is released.
      watch = try Watch(fd, on: loop) { [unowned(unsafe) self] isReadable, _ in
        // An event that ends the connection releases this object.
        let peer = self
        withExtendedLifetime(peer) { if isReadable { peer.receive() } else { peer.writable() } }
      }
    } catch {
      Descriptors.closeConnection(fd)
      throw error
    }
  }

  /// Closes a connection for which there is no room, and tells it why.
  static func refuse(_ fd: Int32, _ error: SegueError) {
    let link = FramedConnection(side: .accepting)
    var writer = MessageWriter()
    try? writer.send(.goodbye(error), over: link)
    // The buffer of a new connection takes more than that.
    _ = link.takeOutput { bytes in
      if case .bytes(let count) = Socket.write(bytes, -1, to: fd) { count } else { 0 }
    }
    Descriptors.closeConnection(fd)
  }

  var principal: Principal { client.principal }

  func close() {
    guard watch != nil else { return }
    watch?.close()
    watch = nil
    Descriptors.closeConnection(fd)
    requests.abandon(client)
  }

  /// The peer has said nothing for too long, or does not read.
  func expire() {
    guard !isEnding else { return end() }
    refuse(SegueError(.remoteApplicationTimedOut, "no message within \(Self.messageTime / 1000) s"))
  }

  /// Reads once.
  private func receive() {
    let result = Socket.read(fd, atMost: link.readSize) { bytes, came in
      // Nothing here comes with a descriptor.
      came.discard()
      if !isEnding { link.receive(bytes) }
    }
    if result == .closed { return end() }
    handleReceived()
  }

  /// Handles as much of what was received as one turn, and the output, allow.
  private func handleReceived() {
    isBehind = false
    var left = Self.turn
    do throws(SegueError) {
      while !isEnding {
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
    loop.post { [self] in
      isScheduled = false
      if watch != nil { handleReceived() }
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
    deadline = Clock.uptime + (askCount > 0 ? Self.answerTime : Self.messageTime)
    changed()
  }

  private func ask(_ number: UInt64, _ bytes: [UInt8]) throws(SegueError) {
    guard askCount < Self.askLimit else {
      throw SegueError(.limitExceeded, "control: \(Self.askLimit) questions wait for an answer")
    }
    let value = try Value(cbor: bytes)
    let place: RequestQuota.Place
    do throws(SegueError) {
      place = try quota.take(client.principal)
    } catch {
      // The connection stays: its other questions are answered.
      return try writer.send(.answer(number, error, []), over: link)
    }
    askCount += 1
    // The peer lives as long as it waits for an answer, or is connected.
    requests.handle(value, of: client) { [self] result in withExtendedLifetime(place) { answer(number, result) } }
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
    changed()
    try? writer.send(.goodbye(error), over: link)
    flush()
  }

  /// A peer that is gone is writable, too, and takes nothing: only a read reports that.
  private func writable() { if !flush() { receive() } }

  /// - Returns: whether anything was written.
  @discardableResult
  private func flush() -> Bool {
    guard watch != nil else { return true }
    let former = link.pendingBytes
    while link.takeOutput({ bytes in
      if case .bytes(let count) = Socket.write(bytes, -1, to: fd) { count } else { 0 }
    }) {}
    let hasWritten = link.pendingBytes < former
    if isEnding, !link.hasOutput {
      end()
      return true
    }
    if isBehind, link.pendingBytes < Self.outputLimit { schedule() }
    watch?.watch(reading: !isEnding && !isBehind, writing: link.hasOutput)
    return hasWritten
  }

  /// The other side has closed the connection for good, and can take no answer.
  var isClosedByPeer: Bool {
    var state = pollfd(fd: fd, events: 0, revents: 0)
    return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLHUP) != 0
  }

  func end() {
    guard watch != nil else { return }
    close()
    ended(self)
  }
}
