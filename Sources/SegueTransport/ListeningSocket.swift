// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Sockets that listen in a folder of this user.
public enum ListeningSocket {
  /// Creates a listening socket under a name, which appears only once it listens. A former socket loses the name.
  /// - Parameters:
  ///   - folder: a descriptor; the path of the folder may be longer than a socket's address.
  ///   - path: of the folder, for messages.
  public static func make(_ name: String, in folder: Int32, _ path: String) throws(SegueError) -> Int32 {
    let socket = linux_socket()
    guard socket >= 0 else { throw .system("socket") }
    let temporaryName = String(joining: "\(name).\(getpid())")
    let temporary = Text.terminated(temporaryName)
    PrivateFolder.clear(temporary, in: folder)
    guard linux_bind(socket, address(temporaryName, in: folder)) == 0, fchmodat(folder, temporary, 0o600, 0) == 0,
      listen(socket, 4096) == 0, rename(temporary, to: name, in: folder) == 0
    else {
      let number = linux_errno()
      _ = CLinux.close(socket)
      unlinkat(folder, temporary, 0)
      throw .system("\(path)/\(name)", number)
    }
    return Descriptors.own(socket)
  }

  /// Replaces whatever has the new name.
  private static func rename(_ former: [CChar], to name: String, in folder: Int32) -> Int32 {
    let result = renameat(folder, former, folder, Text.terminated(name))
    guard result != 0, linux_errno() == EISDIR else { return result }
    PrivateFolder.clear(Text.terminated(name), in: folder)
    return renameat(folder, former, folder, Text.terminated(name))
  }

  /// Closes it, and the connections that wait at it: what these have sent may take for ever to close.
  public static func close(_ fd: Int32) {
    linux_shutdown(fd, 1, 1)
    while true {
      let connection = linux_accept(fd)
      if connection >= 0 {
        Descriptors.closeConnection(connection)
      } else if linux_errno() == EMFILE || linux_errno() == ENFILE {
        return Descriptors.closeUntrusted(fd)
      } else if linux_errno() != EINTR, linux_errno() != ECONNABORTED {
        return Descriptors.close(fd)
      }
    }
  }

  /// A short name for a file in a folder, however long the folder's own is: a socket's address has 108 bytes.
  static func address(_ name: String, in folder: Int32) -> [CChar] {
    Text.terminated(String(joining: "\(Descriptors.path(of: folder))/\(name)"))
  }
}
