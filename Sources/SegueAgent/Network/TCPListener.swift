// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// The socket at which this device listens for others. For the loop.
final class TCPListener: LinkListener {
  /// Connections accepted in a turn.
  private static let acceptsInTurn = 64

  let port: UInt16
  private let fd: Int32
  private var acceptor: Acceptor?

  /// - Parameters:
  ///   - port: 0: one that is free.
  ///   - accepted: called with each connection, which the callee owns, and the address of the other end.
  ///   - hasAccepted: called after those of a turn.
  /// Throws SYSTEM.
  convenience init(
    port: UInt16, on loop: Loop, _ accepted: @escaping (any LinkSocket, NetworkAddress) -> Void,
    _ hasAccepted: @escaping () -> Void
  ) throws(SegueError) {
    let (fd, port) = try TCPSocket.listen(port: port)
    self.init(fd, port)
    do throws(SegueError) {
      acceptor = try Acceptor(
        at: fd, on: loop, most: Self.acceptsInTurn,
        {
          switch TCPSocket.accept(fd) {
          case .connection(let connection, let address):
            accepted(TCPConnection(connection, address, on: loop), address)
            return .accepted
          case .none: return .none
          case .exhausted: return .refused
          }
        }, hasAccepted: hasAccepted)
    } catch {
      Descriptors.close(fd)
      throw error
    }
  }

  private init(_ fd: Int32, _ port: UInt16) { (self.fd, self.port) = (fd, port) }

  func close() {
    guard let acceptor else { return }
    self.acceptor = nil
    acceptor.close()
    Descriptors.close(fd)
  }
}
