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
  /// The app has shut its end down for writing, or closed it.
  private var hasEnded = false
  /// What was shut down of this end.
  private var isReadingOver = false
  private var isWritingOver = false
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
    write(engine)
    read(engine)
    if crossing.isOver {
      close()
      return false
    }
    let (reading, writing) = (crossing.isUnread && !isReadingOver, crossing.isWritten && !isWritingOver)
    socket.shutDown(reading: reading, writing: writing)
    isReadingOver = isReadingOver || reading
    isWritingOver = isWritingOver || writing
    return isReadable && !hasEnded && crossing.room > 0
  }

  /// Once nothing more can be moved.
  func watchSocket() { watch?.watch(reading: !isReadable && !hasEnded, writing: crossing.hasArrived) }

  private func write(_ engine: HubEngine) {
    guard crossing.hasArrived else { return }
    var isUnread = false
    engine.write(crossing) { bytes in
      switch socket.write(bytes) {
      case .bytes(let count): return count
      case .end:
        isUnread = true
        return 0
      }
    }
    if isUnread { engine.stopReading(crossing) }
  }

  private func read(_ engine: HubEngine) {
    guard isReadable, !hasEnded else { return }
    engine.read(crossing) { room in
      switch socket.read(into: room) {
      case .bytes(let count):
        isReadable = count == room.count
        return count
      case .end:
        hasEnded = true
        return 0
      }
    }
    guard hasEnded else { return }
    // Once both are shut down a closed end looks the same; nothing more is to be written to it then.
    engine.ended(crossing, isClosed: !isWritingOver && socket.otherEnd.map { $0 == .closed } ?? true)
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    watch?.close()
    Descriptors.close(socket.fd)
  }
}
