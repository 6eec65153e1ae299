import SegueDriver
import SegueWire

/// An end of a connection of the fleet, as a driver sees it.
final class ConnectionEnd: ByteConnection {
  let connection: Connection
  let end: Int
  /// Outlives it.
  private unowned(unsafe) let fleet: Fleet

  init(_ connection: Connection, _ end: Int, _ fleet: Fleet) {
    self.connection = connection
    self.end = end
    self.fleet = fleet
  }

  /// What has arrived: a segment each time.
  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard let segment = connection.take(at: end) else { return .drained }
    guard !segment.bytes.isEmpty else { return .closed }
    body(segment.bytes, segment.descriptor)
    return .drained
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    .bytes(connection.write(bytes, descriptor, from: end, fleet))
  }

  /// The fleet tells of both anyway.
  func watch(reading: Bool, writing: Bool) {}

  func close() { connection.close(end, fleet) }
}
