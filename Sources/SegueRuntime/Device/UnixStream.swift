// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueTransport

/// The hub's end of a stream that crosses a link, as a socket that the loop watches. For the library thread.
final class UnixStream: StreamEndpoint {
  private let socket: StreamSocket
  private var watch: Watch?

  /// Takes over the socket, unless this throws.
  init(_ socket: StreamSocket, on loop: Loop, _ ready: @escaping (_ isReadable: Bool) -> Void) throws(SegueError) {
    self.socket = socket
    try socket.stopBlocking()
    watch = try Watch(socket.fd, on: loop) { isReadable, _ in ready(isReadable) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    if case .bytes(let count) = socket.read(into: buffer) { count } else { nil }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    if case .bytes(let count) = socket.write(bytes) { count } else { nil }
  }

  func shutDown(reading: Bool, writing: Bool) { socket.shutDown(reading: reading, writing: writing) }

  var isOtherEndClosed: Bool { socket.otherEnd.map { $0 == .closed } ?? true }

  func watch(reading: Bool, writing: Bool) { watch?.watch(reading: reading, writing: writing) }

  func close() {
    guard let watch else { return }
    watch.close()
    self.watch = nil
    Descriptors.closeConnection(socket.fd, isShared: true)
  }
}
