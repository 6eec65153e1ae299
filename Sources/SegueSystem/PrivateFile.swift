import CLinux
import SegueModel

/// Files of the user in folders of the user, which no other user may enter.
public enum PrivateFile {
  private static let mode: mode_t = 0o600

  /// Opens a file. If `flags` create it, its mode is 0600 whatever the umask. One that was made under an umask that
  /// kept its own user out is given that mode, too.
  /// - Returns: the descriptor; -1 with `errno`.
  public static func open(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
    var file = linux_openat(folder, name, flags, mode)
    if file < 0, linux_errno() == EACCES {
      // Fails with EPERM if the file is another user's.
      guard fchmodat(folder, name, mode, 0) == 0 else { return -1 }
      file = linux_openat(folder, name, flags, mode)
    }
    if file >= 0, flags & O_CREAT != 0 { fchmod(file, mode) }
    return file
  }
}
