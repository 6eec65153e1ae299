// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// A connection to another device: dialled or accepted, then the knock and TLS, then a link of the hub, or one on
/// which a device joins. For one thread.
public final class DeviceConnection: ByteConnection, AgentTimerOwner {
  /// Bytes that are read at a time before it is a link.
  private static let readSize = 16 * 1024
  /// Bytes of ciphertext from which on they are written before more is encrypted.
  private static let writeSize = 80 * 1024

  private enum State {
    /// The socket has yet to connect.
    case connecting
    case open
    case over
  }

  /// The events of the socket.
  private struct Events {
    /// The events that the driver waits for.
    var reading = true
    var writing = false
    /// Whether the system has reported an error while nothing was to be read: a read finds it, when the hub reads
    /// again.
    var hasFailed = false
  }

  /// The number that its owner gave it.
  let number: UInt64
  public let path: LinkPath
  /// Whether this device has dialled it.
  let isDialled: Bool
  /// Whether it has outlived the last change of networks.
  private var suspicion = LinkSuspicion()
  private var state: State
  /// The uptime at which the other end was last heard.
  private(set) var heardAt: Int64

  private let environment: any AgentEnvironment
  private let socket: any LinkSocket
  private let channel: SecureChannel
  /// The owner outlives it: it closes it before it goes, or passes it on.
  public unowned(unsafe) var owner: any DeviceConnectionOwner
  /// The number that the hub's driver has for it, and the callback of the driver; nil before it is the hub's.
  private var hub: (number: UInt64, ready: (_ isReadable: Bool) -> Void)?
  private var events = Events()
  /// The bytes that arrived under TLS before it was a link.
  private var received: [UInt8] = []
  private var output = UnsentRecords()
  private var pause = WritePause()
  /// Whether an event is handled: what is said then goes out in one piece at its end.
  private var isHandling = false
  /// Whether what is said goes out in one piece at `sendGathered`.
  private var isGathering = false

  /// Takes over the socket: if `start` throws, it has closed the socket.
  public init(
    _ socket: any LinkSocket, _ path: LinkPath, as number: UInt64, isDialled: Bool, _ channel: SecureChannel,
    of owner: any DeviceConnectionOwner, in environment: any AgentEnvironment
  ) {
    self.socket = socket
    self.environment = environment
    heardAt = environment.uptime
    self.path = path
    self.number = number
    self.isDialled = isDialled
    state = isDialled ? .connecting : .open
    self.channel = channel
    self.owner = owner
  }

  /// Whether the socket has yet to connect.
  var isConnecting: Bool { state == .connecting }
  /// Whether it is closed.
  var isOver: Bool { state == .over }
  /// The device at the other end, once it is authenticated.
  public var peer: DeviceIdentity? { channel.peer }
  /// Its certificate.
  private(set) var shown: PeerCertificate?
  /// The invite with which a device joins over it, once its key is proved; nil for a link.
  public var invite: Invite? { channel.invite }
  /// The keying material that both ends of TLS have alone: 32 bytes. Throws SYSTEM.
  func exporter(_ label: StaticString) throws(SegueError) -> [UInt8] { try channel.exporter(label) }
  /// Whether the other end has proved the knock key.
  var hasKnocked: Bool { channel.hasKnocked }
  /// The nonce of the end that listens, once it is known.
  var challenge: [UInt8]? { channel.challenge }
  /// Whether a device may be at the other end: only one if a relay says which, or this device has dialled a path that
  /// is arranged for it.
  func isMeant(_ device: Identifier) -> Bool {
    if case .relay(through: _, to: let other) = path { return other == device }
    return !isDialled || path.device.map { $0 == device } ?? true
  }
  /// The error with which it has come to nothing, with what its socket knows.
  func explained(_ error: SegueError) -> SegueError { socket.explanation(of: error, hasKnocked: hasKnocked) }
  /// Whether its device was revoked since.
  func isRevoked(by context: any SecurityContext) -> Bool { channel.isRevoked(by: context) }

  /// The driver's number for it; nil before it is the hub's.
  var hubNumber: UInt64? { hub?.number }

  /// The network has changed: it may be dead, until something is heard on it that was sent since.
  func suspect() { if !isOver { suspicion.begin(unread: socket.unread) } }

  /// Has it end soon after the other machine has gone, though neither end says anything for minutes. Links have
  /// heartbeats.
  func probe() { socket.probe() }

  /// Starts with the knock, or waits for that of the other end. Throws SYSTEM.
  public func start() throws(SegueError) {
    do throws(SegueError) {
      // It is kept until it is closed: an event may end it while it is handled.
      try socket.start { [self] isReadable, isWritable in ready(isReadable, isWritable) }
    } catch {
      state = .over
      throw error
    }
    if isConnecting { updateWatch() } else { _ = flush() }
  }

  // MARK: Events

  private func ready(_ isReadable: Bool, _ isWritable: Bool) {
    if isConnecting {
      if let error = socket.failure { return owner.failed(self, error) }
      state = .open
    }
    // It would be reported again and again: what it has to say cannot go out any more.
    if isReadable, !events.reading { events.hasFailed = true }
    let isFlushed = flush()
    isHandling = true
    if isWritable, isFlushed, events.writing { hub?.ready(false) }
    if isReadable, !isOver { read() }
    isHandling = false
    _ = flush()
  }

  private func read() {
    guard let hub, channel.isUp else { return negotiate() }
    if events.reading { hub.ready(true) }
  }

  /// Reads what belongs to the knock and the handshake.
  private func negotiate() {
    let hadKnocked = hasKnocked
    var failure: SegueError?
    let result = socket.read(atMost: Self.readSize) { bytes, _ in
      failure = feed(bytes) { received += $0 }
    }
    if hasKnocked, !hadKnocked { owner.knocked(self) }
    if shown == nil, peer != nil { shown = channel.shown(at: environment.now) }
    // A dialled connection knows the other end first.
    if failure == nil, isDialled, !channel.isUp, peer != nil, hub == nil {
      owner.isAuthenticated(self)
      if isOver { return }
    }
    _ = flush()
    if let failure {
      if channel.isCalledRevoked, hasKnocked { owner.isRefused(self) }
      return owner.failed(self, failure)
    }
    if channel.isUp { return owner.isUp(self) }
    if result == .closed {
      owner.failed(self, SegueError(.connectionUnavailable, "the other end closed it during the handshake"))
    }
  }

  /// - Returns: the error of the other end; nil if there is none.
  private func feed(_ bytes: [UInt8], _ body: (consuming [UInt8]) -> Void) -> SegueError? {
    bytes.withUnsafeBytes { bytes in
      do throws(SegueError) {
        try channel.receive(bytes, body)
        return nil
      } catch {
        return error
      }
    }
  }

  // MARK: The link

  /// It is the hub's from now on: what the hub says goes out as soon as the other end is authenticated, and what the
  /// other end says comes in once it has accepted this device.
  /// - Parameters:
  ///   - number: the driver's for it.
  ///   - ready: called when it is readable or writable.
  public func attach(_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void) { hub = (number, ready) }
  /// Whether it is the hub's.
  var isAttached: Bool { hub != nil }

  /// Has bytes read again, before what follows.
  func giveBack(_ bytes: [UInt8]) { received = bytes + received }

  /// Passes on what has arrived before it was a link, its end among it.
  public func passOn() { if !received.isEmpty || channel.isClosed { hub?.ready(true) } }

  public func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard !isOver else { return .closed }
    guard channel.isUp else { return .drained }
    if !received.isEmpty {
      let bytes = received
      received = []
      body(bytes, nil)
      return .full
    }
    var failure: SegueError?
    var isHeard = false
    let result = socket.read(atMost: limit) { bytes, _ in
      isHeard = suspicion.read(bytes.count)
      heardAt = environment.uptime
      failure = feed(bytes) { body($0, nil) }
    }
    if isHeard, failure == nil { owner.heard(self) }
    if !isHandling { _ = flush() }
    if let failure {
      environment.log(.info, "link with \(path.text): \(failure.message)")
      return .closed
    }
    return channel.isClosed ? .closed : result
  }

  public func takeRecordCount() -> Int { channel.takeRecordCount() }

  public func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    var taken = 0
    while taken < bytes.count, !isOver, hasRoom {
      var count = 0
      do throws(SegueError) {
        count = try channel.write(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
      } catch {
        environment.log(.info, "link with \(path.text): \(error.message)")
      }
      guard count > 0 else { break }
      taken += count
    }
    if !isHandling, !isGathering { _ = flush() }
    return .bytes(taken)
  }

  public func gather() { isGathering = true }

  public func sendGathered() -> Bool {
    isGathering = false
    if !isHandling { _ = flush() }
    return socket.sendsLater
  }

  /// A frame in its records, and what goes with it.
  public var leastReadSize: Int { 80 * 1024 }

  /// Whether more may be encrypted, to go out together with what waits.
  private var hasRoom: Bool { output.isEmpty && channel.outputCount < Self.writeSize || flush() }

  /// Writes ciphertext, as far as the socket takes it.
  /// - Returns: whether none is left.
  private func flush() -> Bool {
    guard !isOver, !isConnecting, !pause.isOn else { return false }
    while true {
      output.fill(from: channel, in: environment)
      if output.isEmpty { break }
      guard case .bytes(let count) = output.withUnsent({ socket.write($0, nil) }) else {
        pause.begin(for: self, in: environment)
        break
      }
      if !output.remove(count) { break }
    }
    updateWatch()
    return output.isEmpty
  }

  /// The pause after a write that the system has refused ends.
  public func timerIsDue(_ timer: any AgentTimer) {
    pause.end()
    _ = flush()
  }

  public func watch(reading: Bool, writing: Bool) {
    (events.reading, events.writing) = (reading, writing)
    updateWatch()
  }

  private var isWriting: Bool {
    isConnecting || !events.hasFailed && !pause.isOn && (!output.isEmpty || events.writing && !channel.isClosed)
  }

  private func updateWatch() {
    if !isOver { socket.watch(reading: events.reading && !isConnecting, writing: isWriting) }
  }

  public var pollable: PollableConnection? {
    guard let hub, channel.isUp, !isOver, let fd = socket.pollable?.fd else { return nil }
    return PollableConnection(fd: fd, number: hub.number, isWriting: isWriting)
  }

  // MARK: The end

  /// By the driver, or by `DeviceLinks` before it is a link.
  public func close() {
    guard !isOver else { return }
    channel.close()
    pause.end()
    _ = flush()
    cut()
    owner.ended(self)
  }

  /// Ends it at once: nothing more is read from it or written to it, whatever the hub has for it.
  public func terminate() {
    guard !isOver else { return }
    cut()
    owner.ended(self)
    // The driver reads that it is closed.
    hub?.ready(true)
  }

  private func cut() {
    state = .over
    pause.close()
    socket.close()
  }
}
