// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// The app's end of the connection to its hub. The library thread watches it through the app's gate, unless a host
/// thread waits for it. Guarded by the app's lock.
final class AppSocket: ByteConnection {
  /// Negative: it is closed.
  private(set) var fd: Int32
  private var gate: AppPoller?
  private(set) var isFull = false
  /// Whether a host thread waits for it in place of the library thread.
  var isLent = false {
    didSet { show() }
  }

  /// - Parameter fd: owned from now on.
  init(_ fd: Int32) { self.fd = fd }

  deinit { close() }

  /// Adds it to a gate.
  func enter(_ gate: AppPoller, isLent: Bool) throws(SegueError) {
    try gate.setSocket(fd)
    self.gate = gate
    self.isLent = isLent
  }

  /// Gives the descriptor away, unless it is in a gate.
  func take() -> Int32 {
    defer { fd = -1 }
    return fd
  }

  private func show() { gate?.show(reading: !isLent, writing: isFull) }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    Socket.read(fd, atMost: limit, body)
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    Socket.write(bytes, descriptor, to: fd)
  }

  func watch(reading: Bool, writing: Bool) {
    isFull = writing
    show()
  }

  func close() {
    guard fd >= 0 else { return }
    gate?.dropSocket()
    gate = nil
    Descriptors.closeConnection(fd)
    fd = -1
  }
}
