// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The second socket of the agent, as others see it (docs/agent.md).
public enum AgentSocket {
  /// The folder of the socket: sandboxes that are given the runtime folder do not share it.
  public static func folder(beside runtime: String) -> String {
    // With a slash at its end it would lead into the runtime folder.
    String(joining: "\(PrivateFolder.withoutSlashes(runtime))-agent")
  }

  /// The socket at which commands of other devices end (R14.4).
  public static var linkName: String { "link" }

  /// Connects without waiting.
  /// - Parameter name: of the socket.
  /// Throws CONNECTION_UNAVAILABLE if no agent runs, BUSY if too many others connect,
  /// UNSAFE_FOLDER if its folder is not this user's alone, SYSTEM if the system refuses for another reason.
  public static func connect(beside runtime: String, to name: String = "control") throws(SegueError) -> Int32 {
    let path = folder(beside: runtime)
    let flags = linux_o_path() | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let folder = linux_openat(AT_FDCWD, Text.terminated(path), flags, 0)
    guard folder >= 0 else { throw problem(path, linux_errno()) }
    defer { _ = close(folder) }
    try PrivateFolder.check(folder, path, "the agent's folder")
    let socket = linux_socket()
    guard socket >= 0 else { throw .system("a socket to ask the agent with") }
    guard linux_connect(socket, ListeningSocket.address(name, in: folder)) == 0 else {
      let number = linux_errno()
      _ = close(socket)
      switch number {
      case ECONNREFUSED, ENOENT: throw noAgent
      case EAGAIN: throw SegueError(.busy, "agent: too many others ask it")
      default: throw .system("connecting to \(path)/\(name)", number)
      }
    }
    guard let user = Socket.peerUser(socket) else {
      let number = linux_errno()
      _ = close(socket)
      throw .system("whose \(path)/\(name) is", number)
    }
    guard user == geteuid() else {
      _ = close(socket)
      throw SegueError(.unsafeFolder, "\(path)/\(name): another user (\(user)) listens there")
    }
    return Descriptors.own(socket)
  }

  /// Why the folder cannot be opened. Only a folder that is missing means that no agent runs.
  private static func problem(_ path: String, _ number: Int32) -> SegueError {
    switch number {
    case ENOENT: noAgent
    case ELOOP, ENOTDIR:
      SegueError(.unsafeFolder, "the agent's folder \(path): is a symbolic link, or no folder")
    default: .system("the agent's folder \(path)", number)
    }
  }

  private static var noAgent: SegueError {
    SegueError(.connectionUnavailable, "no agent runs; start segue-agent")
  }
}
