// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueTransport

/// The hub's end of a stream that crosses a link, as a socket that the loop watches. For the library thread.
final class UnixStream: StreamEndpoint {
  private let socket: StreamSocket
  private let number: UInt64
  /// Nil once it is closed. The stream keeps the driver, which knows it by its number, until then.
  private var open: (watch: Watch, driver: HubDriver)?

  /// Takes over the socket, unless this throws.
  init(_ socket: StreamSocket, as number: UInt64, on loop: Loop, for driver: HubDriver) throws(SegueError) {
    self.socket = socket
    self.number = number
    try socket.stopBlocking()
    open = (try Watch(socket.fd, on: loop, for: self), driver)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    if case .bytes(let count) = socket.read(into: buffer) { count } else { nil }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    if case .bytes(let count) = socket.write(bytes) { count } else { nil }
  }

  func shutDown(reading: Bool, writing: Bool) { socket.shutDown(reading: reading, writing: writing) }

  var isOtherEndClosed: Bool { socket.otherEnd.map { $0 == .closed } ?? true }

  func watch(reading: Bool, writing: Bool) { open?.watch.watch(reading: reading, writing: writing) }

  func close() {
    guard let open else { return }
    self.open = nil
    open.watch.close()
    Descriptors.closeConnection(socket.fd, isShared: true)
  }
}

extension UnixStream: WatchOwner {
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    open?.driver.streamReady(number, isReadable: reading)
  }
}
