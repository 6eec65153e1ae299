import CLinux
import SegueModel

/// A folder of this user that no other user may enter.
public enum PrivateFolder {
  /// Opens the folder, and creates it if necessary, but not the one that it is in.
  /// - Parameters:
  ///   - path: absolute.
  ///   - what: what the folder is, for messages: "runtime folder".
  /// - Returns: a descriptor of the folder, which the caller registers and closes.
  /// Throws UNSAFE_FOLDER unless it is a folder of this user with mode 0700.
  public static func open(_ path: String, _ what: StaticString) throws(SegueError) -> Int32 {
    try make(path, what)
    let fd = linux_openat(AT_FDCWD, Text.terminated(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard fd >= 0 else {
      if [ELOOP, ENOTDIR].contains(linux_errno()) {
        throw SegueError(.unsafeFolder, "\(what) \(path): is a symbolic link, or no folder")
      }
      throw .system("\(what) \(path)")
    }
    var status = stat()
    guard fstat(fd, &status) == 0 else {
      let number = linux_errno()
      _ = close(fd)
      throw .system("\(what) \(path)", number)
    }
    if let problem = problem(status) {
      _ = close(fd)
      throw SegueError(.unsafeFolder, "\(what) \(path): \(problem)")
    }
    return fd
  }

  private static func make(_ path: String, _ what: StaticString) throws(SegueError) {
    if mkdir(Text.terminated(path), 0o700) == 0 { return giveAccess(path) }
    switch linux_errno() {
    case EEXIST: return
    case ENOENT: throw SegueError(.system, "\(what) \(path): the folder that it should be in does not exist")
    case let number: throw .system("\(what) \(path)", number)
    }
  }

  /// The umask may forbid access to the new folder. If this fails, opening it reports that.
  private static func giveAccess(_ path: String) {
    let flags = linux_o_path() | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let fd = linux_openat(AT_FDCWD, Text.terminated(path), flags, 0)
    guard fd >= 0 else { return }
    var status = stat()
    if fstat(fd, &status) == 0, problem(status) == nil { chmod(Text.terminated(Descriptors.path(of: fd)), 0o700) }
    _ = close(fd)
  }

  /// Why a folder cannot be trusted, or nil.
  static func problem(_ status: stat) -> String? {
    var status = status
    guard linux_is_folder(&status) != 0 else { return "is a symbolic link, or no folder" }
    guard status.st_uid == geteuid() else { return "belongs to another user" }
    return status.st_mode & 0o077 == 0 ? nil : "is open to other users (mode must be 0700)"
  }
}
