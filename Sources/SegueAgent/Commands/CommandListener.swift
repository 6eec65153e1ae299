// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// The socket `link` in the agent's folder, at which the commands of other devices end (R14.4): `segue-agent --stdio`
/// connects to it. Only processes of this user may. For the loop.
final class CommandListener: LinkListener {
  /// Connections accepted in a turn.
  private static let acceptsInTurn = 16
  /// Milliseconds without accepting after the system refused a connection.
  private static let acceptPause: Int64 = 250

  var port: UInt16 { 0 }
  private let fd: Int32
  private let loop: Loop
  private let timer: LoopTimer
  private var watch: Watch?
  private let accepted: (any LinkSocket) -> Void
  private let hasAccepted: () -> Void

  /// - Parameter folder: the path of the agent's folder, which is created unless it is there.
  /// Throws UNSAFE_FOLDER if another user may enter it, SYSTEM.
  convenience init(
    in folder: String, on loop: Loop, _ accepted: @escaping (any LinkSocket) -> Void,
    _ hasAccepted: @escaping () -> Void
  ) throws(SegueError) {
    let timer = try LoopTimer()
    let directory = try PrivateFolder.open(folder, "the agent's folder")
    defer { _ = CLinux.close(directory) }
    let fd = try ListeningSocket.make(AgentSocket.linkName, in: directory, folder)
    self.init(fd, loop, timer, accepted, hasAccepted)
    do throws(SegueError) {
      // `close` ends both before this object is released.
      try timer.start(on: loop) { [unowned(unsafe) self] in self.watch?.watch(reading: true, writing: false) }
      watch = try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() }
    } catch {
      timer.close()
      ListeningSocket.close(fd)
      throw error
    }
  }

  private init(
    _ fd: Int32, _ loop: Loop, _ timer: LoopTimer, _ accepted: @escaping (any LinkSocket) -> Void,
    _ hasAccepted: @escaping () -> Void
  ) {
    (self.fd, self.loop, self.timer) = (fd, loop, timer)
    (self.accepted, self.hasAccepted) = (accepted, hasAccepted)
  }

  func close() {
    guard let watch else { return }
    self.watch = nil
    timer.close()
    watch.close()
    ListeningSocket.close(fd)
  }

  private func accept() {
    for _ in 0..<Self.acceptsInTurn {
      let connection = linux_accept(fd)
      guard connection >= 0 else {
        // Without a descriptor it would stay readable for ever.
        if ![EAGAIN, EINTR, ECONNABORTED].contains(linux_errno()) {
          watch?.watch(reading: false, writing: false)
          timer.set(Clock.uptime + Self.acceptPause)
        }
        break
      }
      guard Socket.isOfThisUser(connection) else {
        Log.error("link: refused process \(Socket.peerProcess(connection)), which is another user's")
        Descriptors.closeConnection(connection)
        continue
      }
      accepted(TCPConnection(connection, nil, on: loop))
    }
    hasAccepted()
  }
}
