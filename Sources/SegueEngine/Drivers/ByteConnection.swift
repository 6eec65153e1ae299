// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueWire

/// A connection that carries bytes in both directions, and descriptors if both ends are on one device: a Unix socket in
/// the product, a simulated connection in the fleet. No call blocks.
public protocol ByteConnection: AnyObject {
  /// Reads once, at most `limit` bytes. Calls `body` once if there are any, with the bytes and their descriptor.
  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead
  /// Writes once; `descriptor` goes with the first of the bytes and stays the caller's.
  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite
  /// The least limit of a read that is worth a call of the system; the bytes that are read are then decrypted.
  var leastReadSize: Int { get }
  /// Has what is written go out in as few pieces as possible, until `sendGathered`.
  func gather()
  /// - Returns: whether it goes out in a later turn of the loop: what has to go out first should not wait for more.
  func sendGathered() -> Bool
  /// Sets the events of which the owner is notified: readable, writable.
  func watch(reading: Bool, writing: Bool)
  /// Closes this end. No events follow. A second call has no effect.
  func close()
  /// Whether the other end is closed for both directions, which it is before a read reports that; false if it is not
  /// known.
  var isClosedByPeer: Bool { get }
  /// The connection for a wait outside of a loop; nil in the fleet, which has no such wait.
  var pollable: PollableConnection? { get }
  /// - Returns: the number of records that were decrypted since the last call. 0 if nothing is encrypted.
  func takeRecordCount() -> Int
}

extension ByteConnection {
  public func takeRecordCount() -> Int { 0 }
  public func gather() {}
  public func sendGathered() -> Bool { false }
  public var leastReadSize: Int { 0 }
  public var pollable: PollableConnection? { nil }
  public var isClosedByPeer: Bool { false }
}

/// A connection as `poll` sees it.
public struct PollableConnection {
  public let fd: Int32
  /// The driver's number for it.
  public let number: UInt64
  /// Whether the owner is notified when it is writable.
  public let isWriting: Bool

  public init(fd: Int32, number: UInt64, isWriting: Bool) {
    self.fd = fd
    self.number = number
    self.isWriting = isWriting
  }
}

/// The result of a read from a `ByteConnection`.
public enum ByteRead {
  /// There may be more.
  case full
  /// All available bytes have been read.
  case drained
  /// The other end closed, or is gone.
  case closed
}

/// The result of a write to a `ByteConnection`.
public enum ByteWrite {
  /// The number of bytes accepted. Fewer than all if the connection is full, or the other end closed, which a read
  /// reports.
  case bytes(Int)
  /// None accepted for another reason: the system has no memory, or too many descriptors are in flight. The connection
  /// does not report when that ends, so the owner retries after a pause.
  case refused
}
