// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueSystem
import Testing

@testable import SegueAgent

/// Names the process that has the place of the agent.
@Suite struct AgentLockTests {
  /// Runs a script of the shell until it says that it has the lock, which `flock` takes as agents of earlier versions
  /// do.
  private func locked(
    _ path: String, _ script: String, by interpreter: [String] = ["/bin/sh", "-c"]
  ) throws -> (process: Process, says: Pipe) {
    let process = Process()
    let says = Pipe()
    process.executableURL = URL(fileURLWithPath: interpreter[0])
    process.arguments = interpreter.dropFirst() + [script] + (interpreter[0] == "/bin/sh" ? ["sh", path] : [path])
    process.standardOutput = says
    process.standardInput = Pipe()
    try process.run()
    #expect(says.fileHandleForReading.readData(ofLength: 7) == Data("locked\n".utf8))
    return (process, says)
  }

  private func path() -> String { NSTemporaryDirectory() + "segue-lock-\(UUID())" }

  @Test func `an agent that holds the first lock alone is named by the kernel's list (A27)`() throws {
    let path = path()
    defer { unlink(path) }
    let (process, _) = try locked(path, #"exec flock -x "$1" sh -c 'echo locked; exec cat' "#)
    defer { process.terminate() }
    #expect(AgentLock.holder(path) == process.processIdentifier)
    #expect(try AgentLock.take(path) == nil)
  }

  @Test func `a process that has the second lock alone is not named in place of the holder (A27)`() throws {
    let path = path()
    defer { unlink(path) }
    let script = "import fcntl, sys; file = open(sys.argv[1], 'a'); fcntl.lockf(file, fcntl.LOCK_EX);"
    let python = ["/usr/bin/env", "python3", "-c"]
    let waits = " print('locked', flush=True); sys.stdin.read()"
    let (bystander, _) = try locked(path, script + waits, by: python)
    defer { bystander.terminate() }
    #expect(AgentLock.holder(path) == 0, "no agent has it")
    let (process, _) = try locked(path, #"exec flock -x "$1" sh -c 'echo locked; exec cat' "#)
    defer { process.terminate() }
    #expect(AgentLock.holder(path) == process.processIdentifier)
    let fd = open(path, O_RDWR)
    defer { close(fd) }
    #expect(FileLock.holder(fd) == 0)
  }

  /// Root may open any file: `PrivateFileTests` are of other users.
  @Test func `a lock that an unusual umask has closed to its user can be taken, and gets its mode`() throws {
    let path = path()
    defer { unlink(path) }
    let fd = open(path, O_CREAT | O_WRONLY, 0)
    #expect(fd >= 0 && close(fd) == 0 && chmod(path, 0) == 0)
    let lock = try #require(try AgentLock.take(path))
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    withExtendedLifetime(lock) {}
  }

  @Test func `a folder in the place of the lock keeps no agent out, and its content stays`() throws {
    let parent = path()
    defer { try? FileManager.default.removeItem(atPath: parent) }
    for number in 0..<3 {
      try FileManager.default.createDirectory(atPath: "\(parent)/lock", withIntermediateDirectories: true)
      if number > 0 { try Data().write(to: URL(fileURLWithPath: "\(parent)/lock/kept")) }
      let lock = try #require(try AgentLock.take("\(parent)/lock"))
      #expect(try AgentLock.take("\(parent)/lock") == nil)
      withExtendedLifetime(lock) {}
      #expect(unlink("\(parent)/lock") == 0)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: parent).count == 2)
  }

  @Test func `a process that has taken the lock for another one, and has ended, is not named (A27)`() throws {
    let path = path()
    defer { unlink(path) }
    let (process, _) = try locked(path, #"exec 9>"$1"; flock 9; echo locked; exec cat"#)
    defer { process.terminate() }
    #expect(try AgentLock.take(path) == nil && AgentLock.holder(path) == 0)
  }

  @Test func `no process is named that has not the file open, and none without a lock (A27)`() throws {
    let path = path()
    defer { unlink(path) }
    let lock = try #require(try AgentLock.take(path))
    // It is this process, which is not asked to end.
    #expect(AgentLock.holder(path) == 0)
    withExtendedLifetime(lock) {}
    let fd = open("/dev/null", O_RDONLY)
    defer { close(fd) }
    #expect(FileLock.hasOpen(getpid(), fd) == true && FileLock.taker(fd) == 0)
    let other = open(path, O_RDONLY)
    #expect(FileLock.hasOpen(getpid(), other) == true)
    close(other)
  }
}
