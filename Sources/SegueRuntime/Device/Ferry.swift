import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// Carries what goes through a stream that crosses a link between the socket of its app and the engine of the hub, as fast as
/// the slower of the two. For the library thread.
final class Ferry {
  let crossing: Crossing
  private let socket: StreamSocket
  private var watch: Watch?
  /// There may be something to read.
  private var isReadable = true
  private(set) var isClosed = false

  /// Takes the socket over, unless it throws.
  init(
    _ crossing: Crossing, _ socket: StreamSocket, on loop: Loop, _ ready: @escaping (Ferry) -> Void
  ) throws(SegueError) {
    self.crossing = crossing
    self.socket = socket
    try socket.stopBlocking()
    watch = try Watch(socket.fd, on: loop) { [unowned(unsafe) self] isReadable, _ in
      // `close` ends the watch before this object goes.
      self.isReadable = self.isReadable || isReadable
      ready(self)
    }
  }

  /// Moves what can be moved, but of what the app writes one piece only.
  /// - Returns: whether more could be moved once that has gone.
  func carry(_ engine: HubEngine) -> Bool {
    guard !isClosed else { return false }
    engine.carry(crossing, self)
    guard !crossing.isOver else {
      close()
      return false
    }
    return isReadable && crossing.mayRead
  }

  /// Once nothing more can be moved.
  func watchSocket() { watch?.watch(reading: !isReadable && !crossing.hasEnded, writing: crossing.hasArrived) }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    watch?.close()
    Descriptors.closeUntrusted(socket.fd)
  }
}

extension Ferry: CrossingSocket {
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    guard isReadable else { return 0 }
    switch socket.read(into: buffer) {
    case .bytes(let count):
      isReadable = count == buffer.count
      return count
    case .end: return nil
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    if case .bytes(let count) = socket.write(bytes) { count } else { nil }
  }

  func shutDown(reading: Bool, writing: Bool) { socket.shutDown(reading: reading, writing: writing) }

  var isOtherEndClosed: Bool { socket.otherEnd.map { $0 == .closed } ?? true }
}
