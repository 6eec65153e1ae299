import SegueEngine

/// Forwards the bytes of a stream that crosses a link between the socket of its app and the engine of the hub, as fast as the
/// slower of the two.
public final class StreamForwarder {
  public let stream: Crossing
  private let endpoint: any StreamEndpoint
  /// Whether there may be something to read.
  private var isReadable = true
  /// What was shut down of the endpoint.
  private var isShutForReading = false
  private var isShutForWriting = false
  public private(set) var isClosed = false

  /// Takes the endpoint over.
  public init(_ stream: Crossing, _ endpoint: any StreamEndpoint) {
    self.stream = stream
    self.endpoint = endpoint
  }

  /// Notes that the endpoint has something to read.
  public func becameReadable() { isReadable = true }

  /// Moves what can be moved, but of what the app writes one piece only. Closes the endpoint once the stream is over.
  /// - Returns: whether more could be moved once that has gone.
  public func forward(by engine: HubEngine) -> Bool {
    guard !isClosed else { return false }
    writeToApp(engine)
    readFromApp(engine)
    guard !stream.isOver else {
      close()
      return false
    }
    shutDown()
    return isReadable && stream.mayRead
  }

  /// Asks to be told when more can be moved.
  public func watchEndpoint() {
    guard !isClosed else { return }
    endpoint.watch(reading: !isReadable && !stream.hasEnded, writing: stream.hasArrived)
  }

  public func close() {
    guard !isClosed else { return }
    isClosed = true
    endpoint.close()
  }

  private func writeToApp(_ engine: HubEngine) {
    var isUnread = false
    engine.write(stream) { bytes in
      guard let count = endpoint.write(bytes) else {
        isUnread = true
        return 0
      }
      return count
    }
    if isUnread { engine.stopReading(stream) }
  }

  private func readFromApp(_ engine: HubEngine) {
    guard isReadable, stream.mayRead else { return }
    var hasEnded = false
    engine.read(stream) { room in
      guard let count = endpoint.read(into: room) else {
        hasEnded = true
        return 0
      }
      isReadable = count == room.count
      return count
    }
    // Once both are shut down a closed end looks the same; nothing more is to be written to it then.
    if hasEnded { engine.ended(stream, isClosed: !isShutForWriting && endpoint.isOtherEndClosed) }
  }

  private func shutDown() {
    let reading = stream.isUnread && !isShutForReading
    let writing = stream.isWritten && !isShutForWriting
    guard reading || writing else { return }
    endpoint.shutDown(reading: reading, writing: writing)
    isShutForReading = isShutForReading || reading
    isShutForWriting = isShutForWriting || writing
  }
}
