// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// An object that reads and writes Unix connections, which it knows by their numbers. For the library thread.
public protocol UnixConnectionOwner: AnyObject {
  /// The connection of that number has bytes, or has ended.
  func readable(_ number: UInt64)
  /// The connection of that number has room.
  func writable(_ number: UInt64)
}

extension HubDriver: UnixConnectionOwner {}

/// A Unix socket that the loop watches. For the library thread.
public final class UnixConnection: ByteConnection {
  let fd: Int32
  /// Its owner's number for it.
  let number: UInt64
  /// Whether an app has handed it over, and may have it still.
  private let isHanded: Bool
  /// Nil once it is closed. The connection keeps its owner until then.
  private var open: (watch: Watch, owner: any UnixConnectionOwner)?
  private var isWriting = false

  /// Takes over the socket, unless this throws.
  public init(
    _ fd: Int32, as number: UInt64, isHanded: Bool = false, on loop: Loop, for owner: any UnixConnectionOwner
  ) throws(SegueError) {
    self.fd = fd
    self.number = number
    self.isHanded = isHanded
    open = (try Watch(fd, on: loop, for: self), owner)
  }

  public func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    Socket.read(fd, atMost: limit, body)
  }

  public func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    Socket.write(bytes, descriptor, to: fd)
  }

  public func watch(reading: Bool, writing: Bool) {
    isWriting = writing
    open?.watch.watch(reading: reading, writing: writing)
  }

  public var pollable: PollableConnection? { PollableConnection(fd: fd, number: number, isWriting: isWriting) }

  public var isClosedByPeer: Bool {
    var state = pollfd(fd: fd, events: 0, revents: 0)
    return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLHUP) != 0
  }

  public func close() {
    guard let open else { return }
    self.open = nil
    open.watch.close()
    Descriptors.closeConnection(fd, isShared: isHanded)
  }
}

extension UnixConnection: WatchOwner {
  public func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    guard let owner = open?.owner else { return }
    if reading { owner.readable(number) } else { owner.writable(number) }
  }
}
