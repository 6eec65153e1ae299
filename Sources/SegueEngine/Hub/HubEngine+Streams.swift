// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Streams over links, at the hub of one of their ends.
extension HubEngine {
  /// Removes and returns the next stream that the owner has to handle: it can be read or written, or is over. Nil if
  /// there is none.
  public func takeChangedStream() -> LinkedStream? { transfers.takeChangedStream() }

  /// Gives the app of a stream over a link its end.
  public func connect(_ stream: LinkedStream, _ descriptor: PassedDescriptor) {
    streams.connect(stream, descriptor)
    registration.removeDropped()
  }

  /// No socket could be made for it.
  public func failed(_ stream: LinkedStream, _ error: SegueError) {
    transfers.fail(stream, error)
    registration.removeDropped()
  }

  /// The app has written: `body` fills in at most a piece of it, and returns the number of bytes. Not called without
  /// room.
  public func read(_ stream: LinkedStream, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
    transfers.read(stream, body)
    registration.removeDropped()
  }

  /// The app has shut down its socket for writing.
  /// - Parameter isClosed: whether it has stopped reading, too.
  public func ended(_ stream: LinkedStream, isClosed: Bool) {
    transfers.ended(stream, isClosed: isClosed)
    registration.removeDropped()
  }

  /// Passes bytes for the app to `body`, which returns the number that the socket accepted; if not all, it accepts no
  /// more for now.
  public func write(_ stream: LinkedStream, _ body: (UnsafeRawBufferPointer) -> Int) {
    transfers.write(stream, body)
    registration.removeDropped()
  }

  /// The socket cannot be written: the app has closed its end.
  public func stopReading(_ stream: LinkedStream) {
    transfers.stopReading(stream)
    registration.removeDropped()
  }
}
