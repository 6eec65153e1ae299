import CLinux
import SegueModel

/// The second socket of the agent, as others see it (docs/agent.md).
public enum AgentSocket {
  /// The folder of the socket: sandboxes that are given the runtime folder do not share it.
  public static func folder(beside runtime: String) -> String { String(joining: "\(runtime)-agent") }

  /// Connects without waiting. Throws CONNECTION_UNAVAILABLE if no agent runs, BUSY if too many others connect.
  public static func connect(beside runtime: String) throws(SegueError) -> Int32 {
    let path = folder(beside: runtime)
    let flags = linux_o_path() | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let folder = linux_openat(AT_FDCWD, Text.terminated(path), flags, 0)
    guard folder >= 0 else { throw nobody }
    defer { _ = close(folder) }
    var status = stat()
    guard fstat(folder, &status) == 0 else { throw .system("the agent's folder \(path)") }
    if let problem = PrivateFolder.problem(status) {
      throw SegueError(.unsafeFolder, "the agent's folder \(path): \(problem)")
    }
    let socket = linux_socket()
    guard socket >= 0 else { throw .system("socket") }
    guard linux_connect(socket, ListeningSocket.address("control", in: folder)) == 0 else {
      let number = linux_errno()
      _ = close(socket)
      switch number {
      case ECONNREFUSED, ENOENT: throw nobody
      case EAGAIN: throw SegueError(.busy, "agent: too many others ask it")
      default: throw .system("connecting to \(path)/control", number)
      }
    }
    guard Socket.peerUser(socket) == geteuid() else {
      _ = close(socket)
      throw nobody
    }
    return Descriptors.own(socket)
  }

  private static var nobody: SegueError {
    SegueError(.connectionUnavailable, "no agent runs; start segue-agent")
  }
}
