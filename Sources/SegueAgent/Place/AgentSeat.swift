import CLinux
import SegueModel
import SegueTransport

/// The right to be the agent of this user: a lock in the runtime folder, and one in the state folder.
final class AgentSeat {
  /// Milliseconds for the former agent to end.
  private static let endingTime: Int64 = 10_000
  /// Milliseconds until a lock is tried again whose holder has not written its number yet.
  private static let unnamedTime: Int32 = 5

  private let locks: [AgentLock]

  /// Why there is no right.
  enum Refusal: Error {
    /// Another agent has the place; the text says which process, and where.
    case occupied(DiagnosticText)
    case failed(SegueError)
  }

  private init(_ locks: [AgentLock]) { self.locks = locks }

  /// - Parameters:
  ///   - folders: paths.
  ///   - replaces: whether an agent that has the place is asked to end.
  static func take(in folders: [String], replaces: Bool) throws(Refusal) -> AgentSeat {
    let deadline = Clock.uptime + endingTime
    var locks: [AgentLock] = []
    for folder in folders { locks.append(try lock(folder, replaces: replaces, by: deadline)) }
    return AgentSeat(locks)
  }

  private static func lock(_ folder: String, replaces: Bool, by deadline: Int64) throws(Refusal) -> AgentLock {
    while true {
      switch try attempt(folder) {
      case .taken(let lock): return lock
      case .held(let process):
        let holder: DiagnosticText =
          "process \(process) (\(ProcessName.of(process))) is the agent of this user in \(folder)"
        let left = deadline - Clock.uptime
        guard process > 0 else {
          guard left > 0 else { throw .occupied("an agent of this user holds \(folder)/agent.lock") }
          poll(nil, 0, unnamedTime)
          continue
        }
        guard replaces else { throw .occupied("\(holder); --replace takes its place") }
        guard left > 0 else {
          throw .occupied("\(holder), and did not end when asked; kill -9 \(process) ends it")
        }
        try end(process, holding: folder, within: left)
      }
    }
  }

  private static func attempt(_ folder: String) throws(Refusal) -> AgentLock.Attempt {
    do throws(SegueError) { return try AgentLock.take(in: folder) } catch { throw .failed(error) }
  }

  /// Asks a process to end in order, and waits until it is gone.
  private static func end(_ process: Int32, holding folder: String, within milliseconds: Int64) throws(Refusal) {
    let descriptor = linux_pidfd_open(process)
    guard descriptor >= 0 else {
      if linux_errno() == ESRCH { return }
      throw .failed(.system("process \(process)"))
    }
    defer { _ = close(descriptor) }
    // The number may have become another process's before the descriptor was open.
    guard case .held(let holder) = try attempt(folder), holder == process else { return }
    guard linux_pidfd_signal(descriptor, SIGTERM) == 0 || linux_errno() == ESRCH else {
      throw .failed(.system("asking process \(process) to end"))
    }
    var ending = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    poll(&ending, 1, Int32(clamping: milliseconds))
  }
}
