import SegueWire

/// A connection that carries bytes in both directions, and descriptors beside them where both ends are on one device: a
/// Unix socket in the product, a simulated connection in the fleet. No call of it waits.
public protocol ByteConnection: AnyObject {
  /// Reads once, `limit` bytes at most. Calls `body` once if any bytes came, with them and the descriptor that came along.
  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead
  /// Writes once; `descriptor` goes with the first of the bytes and stays the caller's.
  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite
  /// Sets what the owner is told of from now on: that there is something to read, or room to write.
  func watch(reading: Bool, writing: Bool)
  /// Closes this end. Nothing is told of it afterwards. A second call does nothing.
  func close()
}

/// What a read of a `ByteConnection` found.
public enum ByteRead {
  /// There may be more.
  case full
  /// All that was there has been read.
  case drained
  /// The other end closed, or is gone.
  case closed
}

/// What became of a write to a `ByteConnection`.
public enum ByteWrite {
  /// The number of bytes that were taken. Fewer than all: there is no room, or the other end closed, which a read tells.
  case bytes(Int)
  /// None were taken, and not for want of room: the system has no memory, or too many descriptors are under way. The
  /// connection does not tell when that is over, so the owner tries again after a pause.
  case refused
}
