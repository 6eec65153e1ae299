// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// The socket at which this device listens for others. For the loop.
final class TCPListener: LinkListener {
  /// Connections accepted in a turn.
  private static let acceptsInTurn = 64
  /// Milliseconds without accepting after the system refused a connection.
  private static let acceptPause: Int64 = 250

  let port: UInt16
  private let fd: Int32
  private let loop: Loop
  private let timer: LoopTimer
  private var watch: Watch?
  private let accepted: (any LinkSocket, NetworkAddress) -> Void
  private let hasAccepted: () -> Void

  /// - Parameters:
  ///   - port: 0: one that is free.
  ///   - accepted: called with each connection, which the callee owns, and the address of the other end.
  ///   - hasAccepted: called after those of a turn.
  /// Throws SYSTEM.
  convenience init(
    port: UInt16, on loop: Loop, _ accepted: @escaping (any LinkSocket, NetworkAddress) -> Void,
    _ hasAccepted: @escaping () -> Void
  ) throws(SegueError) {
    let timer = try LoopTimer()
    let (fd, port) = try TCPSocket.listen(port: port)
    self.init(fd, port, loop, timer, accepted, hasAccepted)
    do throws(SegueError) {
      // `close` ends both before this object is released.
      try timer.start(on: loop) { [unowned(unsafe) self] in self.watch?.watch(reading: true, writing: false) }
      watch = try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() }
    } catch {
      timer.close()
      Descriptors.close(fd)
      throw error
    }
  }

  private init(
    _ fd: Int32, _ port: UInt16, _ loop: Loop, _ timer: LoopTimer,
    _ accepted: @escaping (any LinkSocket, NetworkAddress) -> Void, _ hasAccepted: @escaping () -> Void
  ) {
    (self.fd, self.port, self.loop, self.timer) = (fd, port, loop, timer)
    (self.accepted, self.hasAccepted) = (accepted, hasAccepted)
  }

  func close() {
    guard let watch else { return }
    self.watch = nil
    timer.close()
    watch.close()
    Descriptors.close(fd)
  }

  private func accept() {
    loop: for _ in 0..<Self.acceptsInTurn {
      switch TCPSocket.accept(fd) {
      case .connection(let fd, let address): accepted(TCPConnection(fd, address, on: loop), address)
      case .none: break loop
      case .exhausted:
        watch?.watch(reading: false, writing: false)
        timer.set(Clock.uptime + Self.acceptPause)
        break loop
      }
    }
    hasAccepted()
  }
}
