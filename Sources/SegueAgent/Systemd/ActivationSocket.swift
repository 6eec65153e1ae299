// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueTransport

/// The socket at which systemd listens to start the agent (`agent` in the runtime folder). Libraries connect to it and
/// say nothing; while the agent runs, it only takes these connections away. For the loop.
final class ActivationSocket: WatchOwner {
  /// Connections that are taken away in one turn.
  private static let turn = 64

  private let fd: Int32
  private var watch: Watch?

  /// Takes over the socket, unless this throws.
  init(_ fd: Int32, on loop: Loop) throws(SegueError) {
    self.fd = fd
    watch = try Watch(fd, on: loop, for: self)
  }

  /// Takes connections away.
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    for _ in 0..<Self.turn {
      let connection = linux_accept(fd)
      if connection >= 0 {
        Descriptors.closeConnection(connection)
        continue
      }
      switch linux_errno() {
      case EAGAIN, EINTR, ECONNABORTED: return
      default:
        // No descriptor is left. Libraries that connect do not wait, so the connections may stay where they are.
        watch.close()
        self.watch = nil
        return
      }
    }
  }

  /// systemd still listens.
  func close() {
    watch?.close()
    watch = nil
    _ = CLinux.close(fd)
  }
}
