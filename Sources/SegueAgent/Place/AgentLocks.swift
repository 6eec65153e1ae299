// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueStore
import SegueSystem
import SegueTransport

/// The right to be the agent of this user: a lock in the folder of the second socket, which goes with the runtime
/// folder and which no sandbox shares (A27), and the state folder, which is locked too.
final class AgentLocks {
  /// Milliseconds for the former agent to end.
  private static let endingTime: Int64 = 10_000
  /// Milliseconds until a lock is tried again whose holder the kernel does not name yet.
  private static let unnamedTime: Int32 = 5

  private let lock: AgentLock
  let state: StateFolder

  /// Why there is no right.
  enum Refusal: Error {
    /// Another agent has the place; the text says which process, and where.
    case occupied(DiagnosticText)
    case failed(SegueError)
  }

  private init(_ lock: AgentLock, _ state: StateFolder) {
    self.lock = lock
    self.state = state
  }

  /// - Parameter replaces: whether an agent that has the place is asked to end.
  static func take(_ folder: RuntimeFolder, replaces: Bool) throws(Refusal) -> AgentLocks {
    let deadline = Clock.uptime + endingTime
    let own = AgentSocket.folder(beside: folder.path)
    do throws(SegueError) {
      _ = close(try PrivateFolder.open(own, "the agent's folder"))
    } catch {
      throw .failed(error)
    }
    let path = own + "/lock"
    let lock = try claim(path, replaces, by: deadline) { () throws(SegueError) in try AgentLock.take(path) }
    let state = try stateFolder(replaces, by: deadline)
    return AgentLocks(lock, state)
  }

  private static func stateFolder(_ replaces: Bool, by deadline: Int64) throws(Refusal) -> StateFolder {
    let path: String
    do throws(SegueError) { path = try StateFolder.defaultPath() } catch { throw .failed(error) }
    return try claim(path + "/lock", replaces, by: deadline) { () throws(SegueError) in
      do throws(SegueError) {
        return try StateFolder.open(path)
      } catch {
        if error.status == .busy { return nil }
        throw error
      }
    }
  }

  /// - Parameters:
  ///   - path: the path of the lock.
  ///   - attempt: returns nil if another agent has it.
  private static func claim<Claim>(
    _ path: String, _ replaces: Bool, by deadline: Int64, _ attempt: () throws(SegueError) -> Claim?
  ) throws(Refusal) -> Claim {
    while true {
      do throws(SegueError) { if let claim = try attempt() { return claim } } catch { throw .failed(error) }
      let process = AgentLock.holder(path)
      let left = deadline - Clock.uptime
      guard process > 0 else {
        guard left > 0 else { throw .occupied("\(path): is locked, and the system does not say by which process") }
        poll(nil, 0, unnamedTime)
        continue
      }
      let holder: DiagnosticText =
        "process \(process) (\(ProcessName.of(process))) is the agent of this user: it holds \(path)"
      guard replaces else { throw .occupied("\(holder); --replace takes its place") }
      guard left > 0 else { throw .occupied("\(holder), and did not end when asked; kill -9 \(process) ends it") }
      try end(process, holding: path, within: left)
    }
  }

  /// Asks a process to end in order, and waits until it is gone.
  private static func end(_ process: Int32, holding path: String, within milliseconds: Int64) throws(Refusal) {
    let descriptor = linux_pidfd_open(process)
    guard descriptor >= 0 else {
      if linux_errno() == ESRCH { return }
      throw .failed(.system("process \(process)"))
    }
    defer { _ = close(descriptor) }
    // The number may have become another process's before the descriptor was open; then the lock is free, or another's.
    guard AgentLock.holder(path) == process else { return }
    guard linux_pidfd_signal(descriptor, SIGTERM) == 0 || linux_errno() == ESRCH else {
      throw .failed(.system("asking process \(process) to end"))
    }
    var ending = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    poll(&ending, 1, Int32(clamping: milliseconds))
  }
}
