/// The hub's end of the socket that an app has for a stream which crosses a link. Nothing of it waits.
public protocol CrossingSocket: AnyObject {
  /// Fills in what the app has written.
  /// - Returns: how many bytes, 0: none for now; nil: it writes no more.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int?
  /// - Returns: how many of the bytes went; nil: the app reads no more.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int?
  func shutDown(reading: Bool, writing: Bool)
  /// Whether the app has closed its end. If both ends are shut down for writing it may look so.
  var isOtherEndClosed: Bool { get }
}

extension HubEngine {
  /// Moves what can be moved between a stream and its socket, but of what the app writes one piece only. The owner closes the
  /// socket once the crossing is over.
  public func carry(_ crossing: Crossing, _ socket: some CrossingSocket) {
    give(crossing, to: socket)
    take(crossing, from: socket)
    removeDismissed()
    guard !crossing.isOver else { return }
    let (reading, writing) = (crossing.isUnread && !crossing.isShutForReading, crossing.isWritten && !crossing.isShut)
    guard reading || writing else { return }
    socket.shutDown(reading: reading, writing: writing)
    crossing.isShutForReading = crossing.isShutForReading || reading
    crossing.isShut = crossing.isShut || writing
  }

  private func give(_ crossing: Crossing, to socket: some CrossingSocket) {
    var isUnread = false
    write(crossing) { bytes in
      guard let count = socket.write(bytes) else {
        isUnread = true
        return 0
      }
      return count
    }
    if isUnread { stopReading(crossing) }
  }

  private func take(_ crossing: Crossing, from socket: some CrossingSocket) {
    guard crossing.mayRead else { return }
    var hasEnded = false
    read(crossing) { room in
      guard let count = socket.read(into: room) else {
        hasEnded = true
        return 0
      }
      return count
    }
    // Once both are shut down a closed end looks the same; nothing more is to be written to it then.
    if hasEnded { ended(crossing, isClosed: !crossing.isShut && socket.isOtherEndClosed) }
  }
}
