import CLinux
import SegueModel
import SegueTransport

/// A file that one agent at a time holds a lock on, and that names its process.
final class AgentLock {
  private let fd: Int32

  private init(_ fd: Int32) { self.fd = fd }

  deinit { _ = close(fd) }

  /// - Returns: nil if another agent has it. Throws SYSTEM if the file cannot be made or locked.
  static func take(_ path: String) throws(SegueError) -> AgentLock? {
    let fd = linux_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard fd >= 0 else { throw .system("\(path)") }
    var text = Array("\(getpid())\n".utf8)
    guard flock(fd, LOCK_EX | LOCK_NB) == 0, ftruncate(fd, 0) == 0, pwrite(fd, &text, text.count, 0) == text.count
    else {
      let number = linux_errno()
      _ = close(fd)
      if number == EWOULDBLOCK { return nil }
      throw .system("\(path)", number)
    }
    return AgentLock(fd)
  }

  /// Whether another process holds a lock.
  static func isHeld(_ path: String) -> Bool {
    let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard fd >= 0 else { return false }
    defer { _ = close(fd) }
    return flock(fd, LOCK_SH | LOCK_NB) != 0
  }

  /// The process that is named in a lock's file; 0 if there is none, or it has not been written yet.
  static func holder(_ path: String) -> Int32 {
    let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard fd >= 0 else { return 0 }
    defer { _ = close(fd) }
    let text = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      count = max(0, pread(fd, buffer.baseAddress, buffer.count, 0))
    }
    let digits = String(decoding: text.prefix { $0 != 0x0A }, as: UTF8.self)
    return max(0, Int32(digits) ?? 0)
  }
}
