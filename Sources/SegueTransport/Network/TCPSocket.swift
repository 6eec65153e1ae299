// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// TCP sockets between devices: non-blocking, close-on-exec.
public enum TCPSocket {
  /// Milliseconds without an acknowledgement of what was sent, after which the system gives a connection up.
  private static let silence: Int32 = 20_000
  /// Seconds between two probes of a connection on which nothing is sent.
  private static let probeInterval: Int32 = 5

  public enum Accepted {
    case connection(Int32, from: NetworkAddress)
    /// No connection waits.
    case none
    /// The system has no descriptor left, or does not say why it gives none; the connection may still wait.
    case exhausted
  }

  /// Listens on all addresses of this device.
  /// - Parameter port: 0: one that is free.
  /// - Returns: the socket, and its port. Throws SYSTEM.
  public static func listen(port: UInt16) throws(SegueError) -> (fd: Int32, port: UInt16) {
    var actual = port
    let fd = linux_listen(&actual)
    guard fd >= 0 else { throw .system("listening on port \(Int(port))") }
    return (Descriptors.own(fd), actual)
  }

  public static func accept(_ listener: Int32) -> Accepted {
    while true {
      var address = linux_address()
      let fd = linux_accept_from(listener, &address)
      if fd >= 0 {
        linux_tune_connection(fd, silence)
        return .connection(Descriptors.own(fd), from: NetworkAddress(address))
      }
      switch linux_errno() {
      case EAGAIN: return .none
      // A connection that ended while it waited (accept(2)).
      case EINTR, ECONNABORTED, EPROTO: continue
      // Trying again at once might go on for ever.
      default: return .exhausted
      }
    }
  }

  /// Begins to connect. The socket is writable once that has ended (`failure`). Throws SYSTEM.
  public static func dial(_ address: NetworkAddress) throws(SegueError) -> Int32 {
    var system = address.system
    let fd = linux_dial(&system)
    guard fd >= 0 else { throw .system("dialling \(address.text)") }
    linux_tune_connection(fd, silence)
    return Descriptors.own(fd)
  }

  /// Has a connection end, as if it were cut, though nothing is sent on it: some 20 s after the other machine has gone.
  public static func probe(_ fd: Int32) { linux_probe_connection(fd, probeInterval) }

  /// The bytes that have arrived on a connection, and are not read yet.
  public static func unread(_ fd: Int32) -> Int { Int(linux_unread(fd)) }

  /// Returns why connecting has failed; nil if it has not.
  public static func failure(_ fd: Int32, dialling address: NetworkAddress) -> SegueError? {
    let number = linux_socket_error(fd)
    return number == 0 ? nil : .system("dialling \(address.text)", number)
  }
}
