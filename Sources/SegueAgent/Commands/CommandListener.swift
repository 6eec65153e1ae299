// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// The socket `link` in the agent's folder, at which the commands of other devices end (R14.4): `segue-agent --stdio`
/// connects to it. Only processes of this user may. For the loop.
final class CommandListener: LinkListener {
  /// Connections accepted in a turn.
  private static let acceptsInTurn = 16

  var port: UInt16 { 0 }
  private let fd: Int32
  private var acceptor: Acceptor?

  /// - Parameter folder: the path of the agent's folder, which is created unless it is there.
  /// Throws UNSAFE_FOLDER if another user may enter it, SYSTEM.
  convenience init(
    in folder: String, on loop: Loop, _ accepted: @escaping (any LinkSocket) -> Void,
    _ hasAccepted: @escaping () -> Void
  ) throws(SegueError) {
    let directory = try PrivateFolder.open(folder, "the agent's folder")
    defer { _ = CLinux.close(directory) }
    let fd = try ListeningSocket.make(AgentSocket.linkName, in: directory, folder)
    self.init(fd)
    do throws(SegueError) {
      acceptor = try Acceptor(
        at: fd, on: loop, most: Self.acceptsInTurn,
        { Acceptor.accept(fd, "link") { accepted(TCPConnection($0, nil, on: loop)) } }, hasAccepted: hasAccepted)
    } catch {
      ListeningSocket.close(fd)
      throw error
    }
  }

  private init(_ fd: Int32) { self.fd = fd }

  func close() {
    guard let acceptor else { return }
    self.acceptor = nil
    acceptor.close()
    ListeningSocket.close(fd)
  }
}
