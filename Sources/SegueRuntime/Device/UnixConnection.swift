// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// A Unix socket that the loop watches. For the library thread.
public final class UnixConnection: ByteConnection {
  let fd: Int32
  /// Its owner's number for it.
  let number: UInt64
  /// Whether an app has handed it over, and may have it still.
  private let isHanded: Bool
  private var watch: Watch?
  private var isWriting = false

  /// Takes over the socket, unless this throws.
  public init(
    _ fd: Int32, as number: UInt64, isHanded: Bool = false, on loop: Loop,
    _ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void
  ) throws(SegueError) {
    self.fd = fd
    self.number = number
    self.isHanded = isHanded
    watch = try Watch(fd, on: loop, ready)
  }

  public func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    Socket.read(fd, atMost: limit, body)
  }

  public func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    Socket.write(bytes, descriptor, to: fd)
  }

  public func watch(reading: Bool, writing: Bool) {
    isWriting = writing
    watch?.watch(reading: reading, writing: writing)
  }

  public var pollable: PollableConnection? { PollableConnection(fd: fd, number: number, isWriting: isWriting) }

  public var isClosedByPeer: Bool {
    var state = pollfd(fd: fd, events: 0, revents: 0)
    return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLHUP) != 0
  }

  public func close() {
    guard let watch else { return }
    watch.close()
    self.watch = nil
    Descriptors.closeConnection(fd, isShared: isHanded)
  }
}
