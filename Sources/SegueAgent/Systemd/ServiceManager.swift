// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The descriptors that systemd passes to a service (`sd_listen_fds(3)`), and the notifications of a service to systemd
/// (`sd_notify(3)`), without libsystemd.
struct ServiceManager {
  /// The first descriptor that is passed.
  private static let firstDescriptor: Int32 = 3
  /// More than a socket unit of ours can have.
  private static let descriptorLimit: Int32 = 64

  /// The socket of `segue-agent.socket`, which systemd has passed; nil: none was passed.
  let activationSocket: Int32?
  /// The address of the socket for the notification of readiness; nil: there is none.
  private let notifySocket: String?
  /// A socket connected to that: the confined agent reaches no abstract one any longer. -1, and why, if that failed.
  private let notify: Int32
  private let notifyProblem: Int32

  /// Takes over the descriptors that were passed, and removes the variables that name them: they concern nobody that
  /// this process starts. Call it before any thread starts.
  /// Throws INVALID_ARGUMENT if what was passed is no listening socket.
  init() throws(SegueError) {
    notifySocket = Environment.variable("NOTIFY_SOCKET")
    notify = notifySocket.map { linux_notify_socket($0) } ?? -1
    notifyProblem = linux_errno()
    let process = Environment.variable("LISTEN_PID").flatMap { Int32($0) }
    let count = Environment.variable("LISTEN_FDS").flatMap { Int32($0) } ?? 0
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"] { unsetenv(name) }
    guard process == getpid(), count > 0 else {
      activationSocket = nil
      return
    }
    guard count == 1 else {
      for fd in 0..<min(count, Self.descriptorLimit) { _ = close(Self.firstDescriptor + fd) }
      throw SegueError(.invalidArgument, "LISTEN_FDS: \(count) sockets were passed, and the agent takes one")
    }
    let fd = Self.firstDescriptor
    guard linux_is_listening(fd) == 1, linux_prepare(fd) == 0 else {
      _ = close(fd)
      throw SegueError(.invalidArgument, "LISTEN_FDS: descriptor \(fd) is no stream socket that listens")
    }
    activationSocket = fd
  }

  /// The agent carries the hub.
  func ready(_ generation: UInt64) { tell("READY=1\nSTATUS=carries the hub of generation \(generation)\n") }

  func stopping() { tell("STOPPING=1\n") }

  private func tell(_ state: String) {
    guard let notifySocket else { return }
    var problem = notifyProblem
    if notify >= 0 {
      if Text.withBytes(state, { linux_send_message(notify, $0.baseAddress, $0.count, 1) }) >= 0 { return }
      problem = linux_errno()
    }
    // Without it systemd waits for its own limit, and says so.
    StandardStream.error.write("segue-agent: NOTIFY_SOCKET \(notifySocket): \(String(cString: strerror(problem)))\n")
  }
}
