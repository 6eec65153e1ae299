import CLinux
import SegueModel
import SegueTransport

/// The file `agent.lock` of a folder: one agent at a time holds a lock on it, and its process is named in it.
final class AgentLock {
  private let fd: Int32

  enum Attempt {
    case taken(AgentLock)
    /// Another agent has it. The process is 0 until that agent has written it.
    case held(process: Int32)
  }

  private init(_ fd: Int32) { self.fd = fd }

  deinit { _ = close(fd) }

  /// - Parameter folder: its path. Throws SYSTEM if the file cannot be made there.
  static func take(in folder: String) throws(SegueError) -> Attempt {
    let path = folder + "/agent.lock"
    let fd = linux_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard fd >= 0 else { throw .system("\(path)") }
    guard flock(fd, LOCK_EX | LOCK_NB) == 0 else {
      let number = linux_errno()
      defer { _ = close(fd) }
      guard number == EWOULDBLOCK else { throw .system("\(path)", number) }
      return .held(process: holder(fd))
    }
    var text = Array("\(getpid())\n".utf8)
    guard ftruncate(fd, 0) == 0, pwrite(fd, &text, text.count, 0) == text.count else {
      let number = linux_errno()
      _ = close(fd)
      throw .system("\(path)", number)
    }
    return .taken(AgentLock(fd))
  }

  /// The process that is named in the file; 0 if there is none.
  private static func holder(_ fd: Int32) -> Int32 {
    let text = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      count = max(0, pread(fd, buffer.baseAddress, buffer.count, 0))
    }
    var number: Int32 = 0
    for digit in text.prefix(while: { $0 != 0x0A }) {
      guard digit >= 0x30, digit <= 0x39 else { return 0 }
      let (tens, tooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isOver) = tens.addingReportingOverflow(Int32(digit - 0x30))
      if tooLarge || isOver { return 0 }
      number = sum
    }
    return number
  }
}
