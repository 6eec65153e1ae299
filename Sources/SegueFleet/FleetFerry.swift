import SegueEngine

/// Carries what goes through a stream that crosses a link between the socket of its app and the engine of a hub.
final class FleetFerry {
  let crossing: Crossing
  let socket: FleetSocket
  /// The app has shut its end down for writing, or closed it.
  private var hasEnded = false
  /// Nothing more is written to it.
  private var isWritingOver = false

  init(_ crossing: Crossing, _ socket: FleetSocket) {
    self.crossing = crossing
    self.socket = socket
  }

  /// Moves what can be moved.
  func carry(_ engine: HubEngine) {
    write(engine)
    read(engine)
    if crossing.isOver { return socket.close() }
    isWritingOver = crossing.isWritten
    socket.shutDown(reading: crossing.isUnread, writing: isWritingOver)
  }

  private func write(_ engine: HubEngine) {
    guard crossing.hasArrived else { return }
    var isUnread = false
    engine.write(crossing) { bytes in
      guard let count = socket.write(bytes) else {
        isUnread = true
        return 0
      }
      return count
    }
    if isUnread { engine.stopReading(crossing) }
  }

  private func read(_ engine: HubEngine) {
    while !hasEnded, crossing.room > 0 {
      var count = 0
      engine.read(crossing) { room in
        guard let came = socket.read(atMost: room.count, { room.copyMemory(from: $0) }) else {
          hasEnded = true
          return 0
        }
        count = came
        return came
      }
      // Once both are shut down a closed end looks the same; nothing more is to be written to it then.
      if hasEnded { return engine.ended(crossing, isClosed: !isWritingOver && socket.otherEnd == .closed) }
      if count == 0 { return }
    }
  }
}
