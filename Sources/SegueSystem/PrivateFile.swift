// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Files of the user in folders of the user, which no other user may enter.
public enum PrivateFile {
  private static let mode: mode_t = 0o600

  /// Opens a file. If `flags` create it, its mode is 0600 whatever the umask. One that was made under an umask that
  /// kept its own user out is given that mode, too. A file that may be created and may exist, as a lock may, is created
  /// also if something else of this user has its name: any process of the user can put a folder or a link there.
  /// - Returns: the descriptor; -1 with `errno`.
  public static func open(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
    let file = openOnce(folder, name, flags)
    let number = linux_errno()
    guard flags & (O_CREAT | O_EXCL) == O_CREAT, !isFile(file, number), removeObstacle(folder, name) else {
      linux_set_errno(number)
      return file
    }
    if file >= 0 { _ = close(file) }
    return openOnce(folder, name, flags)
  }

  /// Whether a file was opened, or could not be for another reason than that a folder, a link or a socket has the name.
  private static func isFile(_ file: Int32, _ number: Int32) -> Bool {
    guard file >= 0 else { return ![EISDIR, ELOOP, ENXIO].contains(number) }
    var status = stat()
    return fstat(file, &status) != 0 || linux_is_file(&status) != 0
  }

  /// Frees a name from something of this user that is no file. False if it has another one.
  private static func removeObstacle(_ folder: Int32, _ name: UnsafePointer<CChar>) -> Bool {
    var status = stat()
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, linux_is_file(&status) == 0,
      status.st_uid == geteuid()
    else { return false }
    return PrivateFolder.clear(name, in: folder) == 0
  }

  private static func openOnce(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
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
