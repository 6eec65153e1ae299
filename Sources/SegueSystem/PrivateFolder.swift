// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// A folder of this user that no other user may enter: runtime folder, folder of the second socket, state folder.
public enum PrivateFolder {
  /// The result of making a folder.
  public enum Making {
    case made
    case exists
    /// The number of the system's error.
    case refused(Int32)
  }

  /// Opens the folder, and creates it if necessary, but not the one that it is in.
  /// - Parameters:
  ///   - path: absolute.
  ///   - what: what the folder is, for messages: "runtime folder".
  /// - Returns: a descriptor of the folder, which the caller registers and closes.
  /// Throws UNSAFE_FOLDER unless it is a folder of this user with mode 0700, or if it would have to be made in a folder
  /// of another user.
  public static func open(_ path: String, _ what: StaticString) throws(SegueError) -> Int32 {
    switch try make(path, what) {
    case .made, .exists: break
    case .refused(ENOENT):
      throw SegueError(.system, "\(what) \(path): the folder that it should be in does not exist")
    case .refused(let number): throw .system("\(what) \(path)", number)
    }
    let fd = linux_openat(AT_FDCWD, Text.terminated(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard fd >= 0 else {
      if [ELOOP, ENOTDIR].contains(linux_errno()) {
        throw SegueError(.unsafeFolder, "\(what) \(path): is a symbolic link, or no folder")
      }
      throw .system("\(what) \(path)")
    }
    do throws(SegueError) { try check(fd, path, what) } catch {
      _ = close(fd)
      throw error
    }
    return fd
  }

  /// Throws UNSAFE_FOLDER unless an open folder is one of this user with mode 0700. A folder of this user gets that
  /// mode if it is in a private one, because no other user can have entered it.
  public static func check(_ fd: Int32, _ path: String, _ what: StaticString) throws(SegueError) {
    var status = stat()
    guard fstat(fd, &status) == 0 else { throw .system("\(what) \(path)") }
    guard let problem = problem(status) else { return }
    if status.st_uid == geteuid(), isInPrivateFolder(fd), chmod(address(fd), mode) == 0 { return }
    throw SegueError(.unsafeFolder, "\(what) \(path): \(problem)")
  }

  private static func isInPrivateFolder(_ fd: Int32) -> Bool {
    var status = stat()
    return fstatat(fd, [0x2e, 0x2e, 0], &status, AT_SYMLINK_NOFOLLOW) == 0 && problem(status) == nil
  }

  private static let mode: mode_t = 0o700

  /// A path for calls that take none of those descriptors that only stand for a place.
  private static func address(_ fd: Int32) -> [CChar] { Text.terminated(String(joining: "/proc/self/fd/\(fd)")) }

  /// Frees a name in a folder from whatever has it. A folder that is not empty gets another name.
  /// - Returns: 0; -1 with `errno`.
  @discardableResult
  public static func clear(_ name: UnsafePointer<CChar>, in folder: Int32) -> Int32 {
    if unlinkat(folder, name, 0) == 0 { return 0 }
    guard linux_errno() == EISDIR else { return -1 }
    if unlinkat(folder, name, AT_REMOVEDIR) == 0 { return 0 }
    let other = String(joining: "\(Text.decoded(cString: name)).\(Randomness.jitter)")
    return renameat(folder, name, folder, Text.terminated(other))
  }

  // MARK: Making

  /// Makes the folder unless there is something of that name, with mode 0700 whatever the umask.
  /// Throws UNSAFE_FOLDER if it would be made in a folder of another user. With `sudo -E` root would make folders in
  /// those of its caller, and lock them out.
  public static func make(_ path: String, _ what: StaticString) throws(SegueError) -> Making {
    var status = stat()
    if lstat(Text.terminated(path), &status) == 0 { return .exists }
    guard linux_errno() == ENOENT, let name = name(in: path) else { return .refused(linux_errno()) }
    let parent = parent(of: path)
    let flags = linux_o_path() | O_DIRECTORY | O_CLOEXEC
    let folder = linux_openat(AT_FDCWD, Text.terminated(parent), flags, 0)
    guard folder >= 0 else { return .refused(linux_errno()) }
    defer { _ = close(folder) }
    guard fstat(folder, &status) == 0 else { return .refused(linux_errno()) }
    guard isForNewFolders(status) else {
      throw SegueError(
        .unsafeFolder, "\(what) \(path): is not made, because \(parent) belongs to another user (\(status.st_uid))")
    }
    guard mkdirat(folder, Text.terminated(name), mode) == 0 else {
      let number = linux_errno()
      return number == EEXIST ? .exists : .refused(number)
    }
    giveAccess(name, in: folder)
    return .made
  }

  /// Whether this user makes folders in a folder: in its own ones, and in those that are for all, as /tmp is (sticky,
  /// and writable for everybody).
  static func isForNewFolders(_ status: stat) -> Bool {
    status.st_uid == geteuid() || status.st_mode & 0o1002 == 0o1002
  }

  /// The umask may forbid access to the new folder. If this fails, opening it reports that.
  private static func giveAccess(_ name: String, in folder: Int32) {
    let flags = linux_o_path() | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let fd = linux_openat(folder, Text.terminated(name), flags, 0)
    guard fd >= 0 else { return }
    var status = stat()
    if fstat(fd, &status) == 0, problem(status) == nil {
      chmod(address(fd), mode)
    }
    _ = close(fd)
  }

  // MARK: Paths

  /// The folder that the file of an absolute path is in; the root is in itself.
  public static func parent(of path: String) -> String {
    Text.withBytes(path) { path in
      var end = length(path)
      while end > 0, path[end - 1] != UInt8(ascii: "/") { end -= 1 }
      end = length(UnsafeRawBufferPointer(rebasing: path[..<end]))
      return end == 0 ? "/" : Text.decoded(UnsafeRawBufferPointer(rebasing: path[..<end]))
    }
  }

  /// The last part of an absolute path; nil if it is that of the root.
  private static func name(in path: String) -> String? {
    Text.withBytes(path) { path in
      let end = length(path)
      var start = end
      while start > 0, path[start - 1] != UInt8(ascii: "/") { start -= 1 }
      return start == end ? nil : Text.decoded(UnsafeRawBufferPointer(rebasing: path[start..<end]))
    }
  }

  /// The path without slashes at the end.
  public static func withoutSlashes(_ path: String) -> String {
    Text.withBytes(path) { Text.decoded(UnsafeRawBufferPointer(rebasing: $0[..<length($0)])) }
  }

  /// The number of bytes without slashes at the end.
  private static func length(_ path: UnsafeRawBufferPointer) -> Int {
    var end = path.count
    while end > 0, path[end - 1] == UInt8(ascii: "/") { end -= 1 }
    return end
  }

  /// Why a folder cannot be trusted, or nil.
  public static func problem(_ status: stat) -> String? {
    var status = status
    guard linux_is_folder(&status) != 0 else { return "is a symbolic link, or no folder" }
    guard status.st_uid == geteuid() else { return "belongs to another user" }
    return status.st_mode & 0o077 == 0 ? nil : "is open to other users (mode must be 0700)"
  }
}
