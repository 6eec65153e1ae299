// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The folder of everything that outlives apps: `inbox.db`, `search.db`, the lock of the one agent that uses it
/// (`lock`), and the identity of the machine that it belongs to (`machine`). See docs/decisions/two-databases.md.
///
/// It is opened by descriptor: what is opened in it later is opened in this folder, wherever its path leads by then.
/// Its two databases may be used by two threads; the folder itself is used by one at a time.
public final class StateFolder: @unchecked Sendable {
  /// As it is named in messages.
  public let path: String
  let fd: Int32
  private let lock: Int32
  let machine: MachineIdentity?
  /// Why the folder was refused when it was opened. Only `open` sets it.
  var firstRefusal: SegueError?

  /// Opens the folder and locks it for this process, until the object goes; creates it if necessary.
  /// - Parameter path: absolute; nil for that of the environment (`defaultPath`).
  /// - Parameter machine: of the machine that this process runs on.
  /// Throws UNSAFE_FOLDER if others may enter it or a network file system has it, BUSY with the process that has
  /// locked it, SYSTEM if it cannot be created or written.
  public static func open(
    _ path: String? = nil, on machine: MachineIdentity? = .ofThisMachine()
  ) throws(SegueError) -> StateFolder {
    let path = if let path { path } else { try defaultPath() }
    guard path.utf8.first == UInt8(ascii: "/") else {
      throw SegueError(.invalidArgument, "state folder \(path): must be an absolute path")
    }
    try make(path)
    let fd = try descriptor(of: path)
    let folder: StateFolder
    do throws(SegueError) {
      try check(fd, path)
      try synchronise(parentOf: path)
      folder = StateFolder(path, fd, try lock(in: fd, path), machine)
    } catch {
      _ = close(fd)
      throw error
    }
    folder.firstRefusal = try folder.compareMachines()
    return folder
  }

  private init(_ path: String, _ fd: Int32, _ lock: Int32, _ machine: MachineIdentity?) {
    self.path = path
    self.fd = fd
    self.lock = lock
    self.machine = machine
  }

  deinit {
    // A child that was forked and has not called exec yet holds the descriptor, too.
    _ = flock(lock, LOCK_UN)
    _ = close(lock)
    _ = close(fd)
  }

  /// `$SEGUE_STATE_DIR`, `$XDG_STATE_HOME/segue`, or `$HOME/.local/state/segue`.
  public static func defaultPath() throws(SegueError) -> String {
    if let path = Environment.variable("SEGUE_STATE_DIR") { return path }
    // A relative path there is to be ignored (XDG Base Directory Specification).
    let folder = Environment.variable("XDG_STATE_HOME")
    if let folder, folder.utf8.first == UInt8(ascii: "/") { return folder + "/segue" }
    guard let home = Environment.variable("HOME") else {
      throw SegueError(.system, "state folder: neither SEGUE_STATE_DIR, XDG_STATE_HOME nor HOME says where it is")
    }
    return home + "/.local/state/segue"
  }

  // MARK: Opening

  private static func make(_ path: String) throws(SegueError) {
    switch try PrivateFolder.make(path, "state folder") {
    case .made, .exists: return
    case .refused(ENOENT):
      let parent = PrivateFolder.parent(of: path)
      try make(parent)
      try synchronise(parentOf: parent)
      if case .refused(let number) = try PrivateFolder.make(path, "state folder") { throw unusable(path, number) }
    case .refused(let number): throw unusable(path, number)
    }
  }

  private static func descriptor(of path: String) throws(SegueError) -> Int32 {
    let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    if fd >= 0 { return fd }
    if [ELOOP, ENOTDIR].contains(linux_errno()) {
      throw SegueError(.unsafeFolder, "state folder \(path): is a symbolic link, or no folder")
    }
    throw unusable(path)
  }

  private static func check(_ fd: Int32, _ path: String) throws(SegueError) {
    try PrivateFolder.check(fd, path, "state folder")
    if let name = NetworkFileSystem.name(of: linux_file_system(fd)) {
      throw SegueError(
        .unsafeFolder,
        """
        state folder \(path): is on a network file system (\(name)), where databases get damaged; \
        set SEGUE_STATE_DIR to a folder on a disk of this machine
        """)
    }
  }

  /// Makes the entry of a folder in its parent durable.
  private static func synchronise(parentOf path: String) throws(SegueError) {
    let parent = PrivateFolder.parent(of: path)
    let fd = linux_openat(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    // A folder that may be entered but not read, which is another user's to take care of.
    guard fd >= 0 else { return }
    defer { _ = close(fd) }
    guard fsync(fd) == 0 || linux_errno() == EINVAL || linux_errno() == EROFS else {
      throw .refused("state folder \(parent)")
    }
  }

  private static func lock(in fd: Int32, _ path: String) throws(SegueError) -> Int32 {
    let lock = PrivateFile.open(fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)
    guard lock >= 0 else { throw unusable(path) }
    let number = FileLock.take(lock)
    guard number == 0 else {
      let holder = FileLock.holder(lock)
      _ = close(lock)
      guard number == EWOULDBLOCK else { throw .refused("state folder \(path)/lock", number) }
      let process = holder > 0 ? "process \(holder)" : "another process, or this one,"
      throw SegueError(.busy, "state folder \(path): \(process) uses it")
    }
    // For people only.
    if ftruncate(lock, 0) == 0 {
      let text = Array("\(getpid())\n".utf8)
      _ = text.withUnsafeBytes { FileBytes.write(lock, $0) }
    }
    return lock
  }

  private static func unusable(_ path: String, _ number: Int32 = linux_errno()) -> SegueError {
    let advice = number == EROFS || number == EACCES ? "; set SEGUE_STATE_DIR to a folder that can be written" : ""
    return SegueError(.system, "state folder \(path): \(String(cString: strerror(number)))\(advice)")
  }
}
