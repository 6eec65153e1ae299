// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Forwards the bytes of a stream that crosses a link between the socket of its app and the engine of the hub, as fast
/// as the slower of the two.
public final class StreamForwarder {
  public let stream: LinkedStream
  private let endpoint: any StreamEndpoint
  /// Whether the endpoint may be readable.
  private var isReadable = true
  /// The directions of the endpoint that were shut down.
  private var isShutForReading = false
  private var isShutForWriting = false
  public private(set) var isClosed = false

  /// Takes over the endpoint.
  public init(_ stream: LinkedStream, _ endpoint: any StreamEndpoint) {
    self.stream = stream
    self.endpoint = endpoint
  }

  /// Records that the endpoint is readable.
  public func becameReadable() { isReadable = true }

  /// Has the endpoint report again whether it is readable.
  public func readsLater() { isReadable = false }

  /// Moves as many bytes as possible, but only one piece from the app. Closes the endpoint after the end of the stream.
  /// - Returns: whether more bytes could move after that piece was sent.
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

  /// Sets the events after which more bytes can move.
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
    // Two ends shut down for writing look like a closed one; nothing more is written then.
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
