// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem
import SegueTransport

/// A file that one agent at a time holds a lock on. It also has the number of its process in it, for people.
///
/// Invariant: it is in a folder that sandboxes do not share. In the runtime folder another process could put the lock
/// of an app in its place, which would then be taken for the agent.
final class AgentLock {
  private let fd: Int32

  private init(_ fd: Int32) { self.fd = fd }

  deinit { _ = close(fd) }

  /// - Returns: nil if another agent has it. Throws SYSTEM if the file cannot be made or locked.
  static func take(_ path: String) throws(SegueError) -> AgentLock? {
    let fd = PrivateFile.open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)
    guard fd >= 0 else { throw .system("\(path)") }
    var number = FileLock.take(fd)
    if number == 0 {
      var text = Array("\(getpid())\n".utf8)
      if ftruncate(fd, 0) != 0 || pwrite(fd, &text, text.count, 0) != text.count { number = linux_errno() }
    }
    guard number == 0 else {
      _ = close(fd)
      if number == EWOULDBLOCK { return nil }
      throw .system("\(path)", number)
    }
    return AgentLock(fd)
  }

  /// The process that holds the lock, by the kernel; 0 if there is none, it is not visible here, or it has just begun.
  static func holder(_ path: String) -> Int32 {
    let fd = linux_openat(AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    guard fd >= 0 else { return 0 }
    defer { _ = close(fd) }
    guard FileLock.isHeld(fd) else { return 0 }
    let process = FileLock.holder(fd)
    return process > 0 ? process : earlierHolder(fd)
  }

  /// An agent of a version that takes the first lock alone, or whose second one another process has. A process is named
  /// that has the file open, or is called as an agent is: the number may be another one's by now, which must not be
  /// asked to end.
  private static func earlierHolder(_ fd: Int32) -> Int32 {
    let process = FileLock.taker(fd)
    guard process > 0 else { return 0 }
    let isHolder = FileLock.hasOpen(process, fd) ?? Text.isSame(ProcessName.of(process), "segue-agent")
    return isHolder ? process : 0
  }
}
