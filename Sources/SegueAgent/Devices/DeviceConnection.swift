import CLinux
import SegueDevices
import SegueDriver
import SegueModel
import SegueRuntime
import SegueTLS
import SegueTransport
import SegueTrust
import SegueWire

/// A TCP connection to another device: dialled or accepted, then the knock and TLS, then a link of the hub. For the
/// loop's thread.
final class DeviceConnection: ByteConnection {
  /// Bytes that are read at a time before it is a link.
  private static let readSize = 16 * 1024
  /// Bytes of ciphertext that are written at a time.
  private static let writeSize = 64 * 1024

  /// The number that `DeviceLinks` gave it.
  let number: UInt64
  let address: NetworkAddress
  /// Whether this device has dialled it.
  let isDialled: Bool
  /// The uptime by which it must be up.
  let deadline: Int64
  /// The uptime at which it became a link; nil before.
  private(set) var linkedAt: Int64?
  /// Whether the network has changed since something was heard on it.
  var isSuspected = false
  private(set) var isOver = false

  private let fd: Int32
  private let channel: SecureChannel
  /// The links outlive it: they close it before they go.
  private unowned(unsafe) let links: DeviceLinks
  /// Nil once it is closed.
  private var watch: Watch?
  private var isConnecting: Bool
  /// What the hub's driver is told of; nil before it is a link.
  private var hub: (number: UInt64, ready: (_ isReadable: Bool) -> Void)?
  /// What the driver waits for.
  private var wanted = (reading: true, writing: false)
  /// What arrived under TLS before it was a link.
  private var received: [UInt8] = []
  /// Ciphertext that the socket has not taken yet, from `sent` on.
  private var output: [UInt8] = []
  private var sent = 0

  /// Takes over the socket: if `start` throws, it has closed the socket.
  init(
    _ fd: Int32, _ address: NetworkAddress, as number: UInt64, isDialled: Bool, _ channel: SecureChannel,
    by deadline: Int64, of links: DeviceLinks
  ) {
    self.fd = fd
    self.address = address
    self.number = number
    self.isDialled = isDialled
    isConnecting = isDialled
    self.channel = channel
    self.deadline = deadline
    self.links = links
  }

  /// The device at the other end, once it is authenticated.
  var peer: DeviceIdentity? { channel.peer }
  /// Whether the other end has proved the knock key.
  var hasKnocked: Bool { channel.hasKnocked }
  /// Whether its device was revoked since.
  func isRevoked(by context: TLSContext) -> Bool { channel.isRevoked(by: context) }

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
      if let error = TCPSocket.failure(fd, dialling: address) { return links.failed(self, error) }
      isConnecting = false
    }
    let isFlushed = flush()
    guard let hub else {
      if isReadable { negotiate() }
      return
    }
    if isWritable, isFlushed, wanted.writing { hub.ready(false) }
    if isReadable, wanted.reading, !isOver { hub.ready(true) }
  }

  /// Reads what belongs to the knock and the handshake.
  private func negotiate() {
    let hadKnocked = hasKnocked
    var failure: SegueError?
    let result = Socket.read(fd, atMost: Self.readSize) { bytes, _ in
      failure = feed(bytes) { received += $0 }
    }
    if hasKnocked, !hadKnocked { links.knocked(self) }
    // A dialled connection knows the other end first: it tells nothing of itself if there is a link.
    if failure == nil, isDialled, !channel.isUp, let peer, links.isLinked(peer) { return links.isSuperfluous(self) }
    _ = flush()
    if let failure { return links.failed(self, failure) }
    if channel.isUp { return links.isUp(self) }
    if result == .closed {
      links.failed(self, SegueError(.connectionUnavailable, "the other end closed it during the handshake"))
    }
  }

  /// - Returns: what is wrong with the other end.
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

  /// It is a link of the hub from now on.
  /// - Parameters:
  ///   - number: the driver's for it.
  ///   - ready: what to call when it is readable or writable.
  func attach(_ number: UInt64, _ uptime: Int64, _ ready: @escaping (_ isReadable: Bool) -> Void) {
    linkedAt = uptime
    hub = (number, ready)
  }

  /// Passes on what has arrived before it was a link.
  func passOn() { if !received.isEmpty { hub?.ready(true) } }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard !isOver else { return .closed }
    if !received.isEmpty {
      let bytes = received
      received = []
      body(bytes, nil)
      return .full
    }
    var failure: SegueError?
    let result = Socket.read(fd, atMost: limit) { bytes, _ in
      failure = feed(bytes) { body($0, nil) }
    }
    if isSuspected, result != .closed {
      isSuspected = false
      links.heard(self)
    }
    _ = flush()
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

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    var taken = 0
    while taken < bytes.count, !isOver, flush() {
      var count = 0
      do throws(SegueError) {
        count = try channel.write(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
      } catch {
        Log.info("link with \(address.text): \(error.message)")
      }
      guard count > 0 else { break }
      taken += count
    }
    _ = flush()
    return .bytes(taken)
  }

  /// Writes ciphertext, as far as the socket takes it.
  /// - Returns: whether none is left.
  private func flush() -> Bool {
    guard !isOver, !isConnecting else { return false }
    while true {
      if sent == output.count {
        sent = 0
        output = [UInt8](unsafeUninitializedCapacity: Self.writeSize) { buffer, count in
          let buffer = UnsafeMutableRawBufferPointer(buffer)
          count = channel.takeOutput(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Self.writeSize]))
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

  private var isWriting: Bool { isConnecting || !output.isEmpty || wanted.writing }

  private func updateWatch() { watch?.watch(reading: wanted.reading && !isConnecting, writing: isWriting) }

  var pollable: PollableConnection? {
    guard let hub, !isOver else { return nil }
    return PollableConnection(fd: fd, number: hub.number, isWriting: isWriting)
  }

  // MARK: The end

  /// By the driver, or by `DeviceLinks` before it is a link.
  func close() {
    guard !isOver else { return }
    channel.close()
    _ = flush()
    cut()
    links.ended(self)
  }

  /// Ends it at once: nothing more is read from it or written to it, whatever the hub has for it.
  func terminate() {
    guard !isOver else { return }
    cut()
    links.ended(self)
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
