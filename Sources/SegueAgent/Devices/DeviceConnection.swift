import CLinux
import SegueApp
import SegueDevices
import SegueDriver
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTLS
import SegueTransport
import SegueTrust
import SegueWire

/// The owner of a connection with another device, which is told of its events. For the loop's thread.
protocol DeviceConnectionOwner: AnyObject {
  /// A connection that is not up has failed; the owner ends it.
  func failed(_ connection: DeviceConnection, _ error: SegueError)
  /// The device at the other end of a dialled connection is authenticated; it knows nothing of this one yet.
  func isAuthenticated(_ connection: DeviceConnection)
  /// TLS is up: it is a link, or a device joins over it.
  func isUp(_ connection: DeviceConnection)
  /// It is closed.
  func ended(_ connection: DeviceConnection)
  /// The other end has proved the knock key.
  func knocked(_ connection: DeviceConnection)
  /// Something was heard on a link that was suspected of being dead.
  func heard(_ connection: DeviceConnection)
  /// The other end has refused the certificate of this device as revoked. It has proved a key of the account, and is
  /// authenticated if this device has dialled it.
  func isRefused(_ connection: DeviceConnection)
}

extension DeviceConnectionOwner {
  func isAuthenticated(_ connection: DeviceConnection) {}
  func knocked(_ connection: DeviceConnection) {}
  func heard(_ connection: DeviceConnection) {}
  func isRefused(_ connection: DeviceConnection) {}
}

/// A TCP connection to another device: dialled or accepted, then the knock and TLS, then a link of the hub, or one on
/// which a device joins. For the loop's thread.
final class DeviceConnection: ByteConnection {
  /// Bytes that are read at a time before it is a link.
  private static let readSize = 16 * 1024
  /// The most bytes of ciphertext that are written at a time.
  private static let writeSize = 64 * 1024

  /// The number that its owner gave it.
  let number: UInt64
  let address: NetworkAddress
  /// Whether this device has dialled it.
  let isDialled: Bool
  /// Whether it has outlived the last change of networks.
  private var suspicion = LinkSuspicion()
  private(set) var isOver = false
  /// The uptime at which the other end was last heard.
  private(set) var heardAt = Clock.uptime

  private let fd: Int32
  private let channel: SecureChannel
  /// The owner outlives it: it closes it before it goes, or passes it on.
  unowned(unsafe) var owner: any DeviceConnectionOwner
  /// Nil once it is closed.
  private var watch: Watch?
  /// Whether TCP has yet to connect.
  private(set) var isConnecting: Bool
  /// The number that the hub's driver has for it, and the callback of the driver; nil before it is the hub's.
  private var hub: (number: UInt64, ready: (_ isReadable: Bool) -> Void)?
  /// The events that the driver waits for.
  private var wanted = (reading: true, writing: false)
  /// The bytes that arrived under TLS before it was a link.
  private var received: [UInt8] = []
  /// Ciphertext that the socket has not taken yet, from `sent` on.
  private var output: [UInt8] = []
  private var sent = 0
  /// Whether the system has reported an error while nothing was to be read: a read finds it, when the hub reads again.
  private var hasFailed = false
  /// Whether an event is handled: what is said then goes out in one piece at its end.
  private var isHandling = false

  /// Takes over the socket: if `start` throws, it has closed the socket.
  init(
    _ fd: Int32, _ address: NetworkAddress, as number: UInt64, isDialled: Bool, _ channel: SecureChannel,
    of owner: any DeviceConnectionOwner
  ) {
    self.fd = fd
    self.address = address
    self.number = number
    self.isDialled = isDialled
    isConnecting = isDialled
    self.channel = channel
    self.owner = owner
  }

  /// The device at the other end, once it is authenticated.
  var peer: DeviceIdentity? { channel.peer }
  /// Its certificate.
  private(set) var shown: ShownCertificate?
  /// The invite with which a device joins over it, once its key is proved; nil for a link.
  var invite: Invite? { channel.invite }
  /// The keying material that both ends of TLS have alone: 32 bytes. Throws SYSTEM.
  func exporter(_ label: StaticString) throws(SegueError) -> [UInt8] { try channel.exporter(label) }
  /// Whether the other end has proved the knock key.
  var hasKnocked: Bool { channel.hasKnocked }
  /// The nonce of the end that listens, once it is known.
  var challenge: [UInt8]? { channel.challenge }
  /// Whether its device was revoked since.
  func isRevoked(by context: TLSContext) -> Bool { channel.isRevoked(by: context) }

  /// The driver's number for it; nil before it is the hub's.
  var hubNumber: UInt64? { hub?.number }

  /// The network has changed: it may be dead, until something is heard on it that was sent since.
  func suspect() { if !isOver { suspicion.begin(unread: TCPSocket.unread(fd)) } }

  /// Has it end soon after the other machine has gone, though neither end says anything for minutes. Links have
  /// heartbeats.
  func probe() { TCPSocket.probe(fd) }

  func start(on loop: Loop) throws(SegueError) {
    do throws(SegueError) {
      // It is kept until it is closed: an event may end it while it is handled.
      watch = try Watch(fd, on: loop) { [self] isReadable, isWritable in ready(isReadable, isWritable) }
    } catch {
      isOver = true
      Descriptors.close(fd)
      throw error
    }
    if isConnecting { updateWatch() } else { _ = flush() }
  }

  // MARK: Events

  private func ready(_ isReadable: Bool, _ isWritable: Bool) {
    if isConnecting {
      if let error = TCPSocket.failure(fd, dialling: address) { return owner.failed(self, error) }
      isConnecting = false
    }
    // It would be reported again and again: what it has to say cannot go out any more.
    if isReadable, !wanted.reading { hasFailed = true }
    let isFlushed = flush()
    isHandling = true
    if isWritable, isFlushed, wanted.writing { hub?.ready(false) }
    if isReadable, !isOver { read() }
    isHandling = false
    _ = flush()
  }

  private func read() {
    guard let hub, channel.isUp else { return negotiate() }
    if wanted.reading { hub.ready(true) }
  }

  /// Reads what belongs to the knock and the handshake.
  private func negotiate() {
    let hadKnocked = hasKnocked
    var failure: SegueError?
    let result = Socket.read(fd, atMost: Self.readSize) { bytes, _ in
      failure = feed(bytes) { received += $0 }
    }
    if hasKnocked, !hadKnocked { owner.knocked(self) }
    if shown == nil, peer != nil { shown = channel.shown(at: Clock.now) }
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
  func attach(_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void) { hub = (number, ready) }
  /// Whether it is the hub's.
  var isAttached: Bool { hub != nil }

  /// Has bytes read again, before what follows.
  func giveBack(_ bytes: [UInt8]) { received = bytes + received }

  /// Passes on what has arrived before it was a link.
  func passOn() { if !received.isEmpty { hub?.ready(true) } }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
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
    let result = Socket.read(fd, atMost: limit) { bytes, _ in
      isHeard = suspicion.read(bytes.count)
      heardAt = Clock.uptime
      failure = feed(bytes) { body($0, nil) }
    }
    if isHeard, failure == nil { owner.heard(self) }
    if !isHandling { _ = flush() }
    if let failure {
      Log.info("link with \(address.text): \(failure.message)")
      return .closed
    }
    if channel.isClosed { return .closed }
    switch result {
    case .full: return .full
    case .drained: return .drained
    case .closed: return .closed
    }
  }

  func takeRecordCount() -> Int { channel.takeRecordCount() }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    var taken = 0
    while taken < bytes.count, !isOver, hasRoom {
      var count = 0
      do throws(SegueError) {
        count = try channel.write(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
      } catch {
        Log.info("link with \(address.text): \(error.message)")
      }
      guard count > 0 else { break }
      taken += count
    }
    if !isHandling { _ = flush() }
    return .bytes(taken)
  }

  /// Whether more may be encrypted, to go out together with what waits.
  private var hasRoom: Bool { output.isEmpty && channel.outputCount < Self.writeSize || flush() }

  /// Writes ciphertext, as far as the socket takes it.
  /// - Returns: whether none is left.
  private func flush() -> Bool {
    guard !isOver, !isConnecting else { return false }
    while true {
      if sent == output.count {
        sent = 0
        let size = min(channel.outputCount, Self.writeSize)
        output = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
          let buffer = UnsafeMutableRawBufferPointer(buffer)
          count = channel.takeOutput(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]))
        }
        if output.isEmpty { break }
      }
      let isAll = output.withUnsafeBytes { bytes in
        if case .bytes(let count) = Socket.write(UnsafeRawBufferPointer(rebasing: bytes[sent...]), -1, to: fd) {
          sent += count
        }
        return sent == bytes.count
      }
      if !isAll { break }
    }
    updateWatch()
    return output.isEmpty
  }

  func watch(reading: Bool, writing: Bool) {
    wanted = (reading, writing)
    updateWatch()
  }

  private var isWriting: Bool { isConnecting || !hasFailed && (!output.isEmpty || wanted.writing) }

  private func updateWatch() { watch?.watch(reading: wanted.reading && !isConnecting, writing: isWriting) }

  var pollable: PollableConnection? {
    guard let hub, channel.isUp, !isOver else { return nil }
    return PollableConnection(fd: fd, number: hub.number, isWriting: isWriting)
  }

  // MARK: The end

  /// By the driver, or by `DeviceLinks` before it is a link.
  func close() {
    guard !isOver else { return }
    channel.close()
    _ = flush()
    cut()
    owner.ended(self)
  }

  /// Ends it at once: nothing more is read from it or written to it, whatever the hub has for it.
  func terminate() {
    guard !isOver else { return }
    cut()
    owner.ended(self)
    // The driver reads that it is closed.
    hub?.ready(true)
  }

  private func cut() {
    isOver = true
    watch?.close()
    watch = nil
    Descriptors.close(fd)
  }
}
