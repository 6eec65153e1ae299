// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem

/// The file `devices` of the state folder: what the user has set about other devices, as the encoding of a value. It
/// may be a symbolic link, as of users who keep settings elsewhere: then what that leads to is read and written, and
/// the link stays.
extension StateFolder {
  private static let settingsFile = "devices"
  /// The content that the file had before a write in its place that has not ended.
  private static let formerSettings = "devices.former"
  /// The most bytes of it.
  private static let settingsLimit = Limits.deviceSettings

  private var settingsPath: String { "\(path)/\(Self.settingsFile)" }

  /// The path of the file if it is a symbolic link to one that there is; nil otherwise.
  public var linkedDeviceSettings: String? {
    var target = stat()
    guard isLink, fstatat(fd, Self.settingsFile, &target, 0) == 0, linux_is_file(&target) != 0 else { return nil }
    return settingsPath
  }

  private var isLink: Bool {
    var link = stat()
    return fstatat(fd, Self.settingsFile, &link, AT_SYMLINK_NOFOLLOW) == 0
      && link.st_mode & mode_t(S_IFMT) == mode_t(S_IFLNK)
  }

  /// Returns the file; nil if there is none. Throws UNSAFE_FOLDER if it is no regular file of this user, MALFORMED if
  /// it is too large, SYSTEM, also for a link that leads nowhere: what the user has set is perhaps on a disk that is
  /// not there.
  public func deviceSettings() throws(SegueError) -> [UInt8]? {
    if linkedDeviceSettings != nil, let former = try settings(Self.formerSettings, O_NOFOLLOW) { return former }
    if let found = try settings(Self.settingsFile) { return found }
    guard !isLink else {
      throw SegueError(.system, "\(settingsPath): is a symbolic link to a file that there is not")
    }
    return nil
  }

  /// - Parameter flag: for opening it.
  private func settings(_ name: String, _ flag: Int32 = 0) throws(SegueError) -> [UInt8]? {
    let file = PrivateFile.open(fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flag)
    if file < 0 {
      guard linux_errno() == ENOENT else { throw .refused("\(path)/\(name)") }
      return nil
    }
    defer { _ = close(file) }
    _ = try checkSettings(file)
    var bytes = [UInt8](repeating: 0, count: Self.settingsLimit + 1)
    let count = bytes.withUnsafeMutableBytes { FileBytes.read(file, at: 0, into: $0) }
    guard count >= 0 else { throw .refused("\(path)/\(name)") }
    guard count <= Self.settingsLimit else {
      throw SegueError(.malformed, "\(path)/\(name): is too large")
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  private func checkSettings(_ file: Int32) throws(SegueError) -> stat {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .refused("\(settingsPath)") }
    guard linux_is_file(&status) != 0, status.st_uid == geteuid() else {
      throw SegueError(.unsafeFolder, "\(settingsPath): is no file of this user; move it away")
    }
    return status
  }

  /// Replaces the file, whole or not at all, and returns when it is on the disk. Throws UNSAFE_FOLDER, SYSTEM.
  public func storeDeviceSettings(_ bytes: [UInt8]) throws(SegueError) {
    guard isLink else { return try store(bytes, as: Self.settingsFile) }
    let file = linux_openat(fd, Self.settingsFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard file >= 0 else {
      throw .refused("\(settingsPath) (a symbolic link: the agent writes where it led when the agent started)")
    }
    defer { _ = close(file) }
    let status = try checkSettings(file)
    // It may have been created just now, under an umask that would keep its own user out.
    if status.st_mode & 0o600 != 0o600 { fchmod(file, status.st_mode & 0o777 | 0o600) }
    guard try !replaceTarget(with: bytes, status) else { return remove(Self.formerSettings) }
    try overwrite(file, with: bytes)
  }

  /// The path to which the link leads in the end; nil if that cannot be found out.
  private var settingsTarget: String? {
    guard let real = realpath(address(of: Self.settingsFile), nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  /// Writes a new file beside the one that the link leads to, and renames it.
  /// - Returns: false if nothing may be made in that folder, as in a confined process.
  private func replaceTarget(with bytes: [UInt8], _ former: stat) throws(SegueError) -> Bool {
    guard let target = settingsTarget else { throw .refused("\(settingsPath)") }
    let temporary = target + Self.unfinished
    // An earlier death may have left it.
    _ = unlink(temporary)
    let file = linux_openat(
      AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      let number = linux_errno()
      guard [EACCES, EPERM, EROFS, EEXIST].contains(number) else { throw .refused("\(temporary)", number) }
      return false
    }
    let isWritten =
      bytes.withUnsafeBytes { FileBytes.write(file, $0) } && fchmod(file, former.st_mode & 0o777) == 0
      && fsync(file) == 0 && rename(temporary, target) == 0
    let number = linux_errno()
    _ = close(file)
    guard isWritten else {
      _ = unlink(temporary)
      throw .refused("\(target)", number)
    }
    let folder = linux_openat(AT_FDCWD, PrivateFolder.parent(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard folder >= 0 else { return true }
    _ = fsync(folder)
    _ = close(folder)
    return true
  }

  /// Writes in place of what the file has, of which there is a copy in the state folder meanwhile. After a death the
  /// copy counts, until something else is stored.
  private func overwrite(_ file: Int32, with bytes: [UInt8]) throws(SegueError) {
    var former = try settings(Self.formerSettings, O_NOFOLLOW)
    if former == nil { former = try settings(Self.settingsFile) }
    let known = former ?? []
    try store(known, as: Self.formerSettings)
    if !write(bytes, over: file) {
      let number = linux_errno()
      if write(known, over: file) { remove(Self.formerSettings) }
      throw .refused("\(settingsPath)", number)
    }
    remove(Self.formerSettings)
    try synchronise()
  }

  private func write(_ bytes: [UInt8], over file: Int32) -> Bool {
    lseek(file, 0, SEEK_SET) == 0 && bytes.withUnsafeBytes { FileBytes.write(file, $0) }
      && ftruncate(file, off_t(bytes.count)) == 0 && fsync(file) == 0
  }

  /// Keeps a file that cannot be used under another name, so that nothing is lost. A symbolic link is copied: the link
  /// stays, and so does what it leads to.
  /// - Returns: the new name.
  public func setDeviceSettingsAside() throws(SegueError) -> String {
    guard isLink else { return try setAside(Self.settingsFile, as: "damaged") }
    let aside = freeName(for: Self.settingsFile, as: "damaged")
    let file = linux_openat(fd, Self.settingsFile, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    guard file >= 0 else { throw .refused("\(settingsPath)") }
    defer { _ = close(file) }
    _ = try checkSettings(file)
    // It may be too large, which is why it is set aside.
    var bytes = [UInt8](repeating: 0, count: 16 * Self.settingsLimit)
    let count = bytes.withUnsafeMutableBytes { FileBytes.read(file, at: 0, into: $0) }
    guard count >= 0, count < bytes.count else { throw .refused("\(settingsPath)", count < 0 ? linux_errno() : EFBIG) }
    try store(Array(bytes[..<count]), as: aside)
    return aside
  }
}
