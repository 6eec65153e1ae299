// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// A TCP socket that the loop watches. For the loop.
final class TCPConnection: LinkSocket {
  private let fd: Int32
  private let address: NetworkAddress
  private let loop: Loop
  private var watch: Watch?
  private var isClosed = false

  /// Takes over the socket.
  init(_ fd: Int32, _ address: NetworkAddress, on loop: Loop) {
    self.fd = fd
    self.address = address
    self.loop = loop
  }

  func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) throws(SegueError) {
    do throws(SegueError) {
      watch = try Watch(fd, on: loop, ready)
    } catch {
      close()
      throw error
    }
  }

  var failure: SegueError? { TCPSocket.failure(fd, dialling: address) }
  var unread: Int { TCPSocket.unread(fd) }
  func probe() { TCPSocket.probe(fd) }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    switch Socket.read(fd, atMost: limit, { bytes, _ in body(bytes, nil) }) {
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

  func watch(reading: Bool, writing: Bool) { watch?.watch(reading: reading, writing: writing) }
  var pollable: PollableConnection? { PollableConnection(fd: fd, number: 0, isWriting: false) }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    watch?.close()
    watch = nil
    Descriptors.close(fd)
  }
}
