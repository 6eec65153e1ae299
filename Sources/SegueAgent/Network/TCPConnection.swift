// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// A TCP socket, or a Unix socket, that the loop watches. For the loop.
final class TCPConnection: LinkSocket {
  private let fd: Int32
  private let address: NetworkAddress?
  private let loop: Loop
  /// Nil before `start` and after `close`.
  private var started: (watch: Watch, ready: (_ isReadable: Bool, _ isWritable: Bool) -> Void)?
  private var isClosed = false

  /// Takes over the socket.
  /// - Parameter address: that of the other end; nil: it is in this machine.
  init(_ fd: Int32, _ address: NetworkAddress?, on loop: Loop) {
    self.fd = fd
    self.address = address
    self.loop = loop
  }

  func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) throws(SegueError) {
    do throws(SegueError) {
      started = (try Watch(fd, on: loop, for: self), ready)
    } catch {
      close()
      throw error
    }
  }

  var failure: SegueError? { address.flatMap { TCPSocket.failure(fd, dialling: $0) } }
  var unread: Int { TCPSocket.unread(fd) }
  func probe() { TCPSocket.probe(fd) }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    switch Socket.read(
      fd, atMost: limit,
      { bytes, came in
        came.discard()
        body(bytes, nil)
      })
    {
    case .full: .full
    case .drained: .drained
    case .closed: .closed
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    switch Socket.write(bytes, -1, to: fd) {
    case .bytes(let count): .bytes(count)
    case .refused: .refused
    }
  }

  func watch(reading: Bool, writing: Bool) { started?.watch.watch(reading: reading, writing: writing) }
  var pollable: PollableConnection? { PollableConnection(fd: fd, number: 0, isWriting: false) }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    started?.watch.close()
    started = nil
    // Descriptors that a process of this machine has sent may take for ever to close.
    if address == nil { Descriptors.closeConnection(fd) } else { Descriptors.close(fd) }
  }
}

extension TCPConnection: WatchOwner {
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) { started?.ready(reading, writing) }
}
