import CLinux
import SegueModel

/// The file `devices` of the state folder: what the user has set about other devices, as the encoding of a value.
extension StateFolder {
  private static let settingsFile = "devices"
  /// The most bytes of it.
  public static let settingsLimit = 64 * 1024

  /// The path of the file if it is a symbolic link to one that there is, as of users who keep settings elsewhere: then
  /// that one is read, and written. Nil otherwise.
  public var linkedDeviceSettings: String? {
    var (link, target) = (stat(), stat())
    guard fstatat(fd, Self.settingsFile, &link, AT_SYMLINK_NOFOLLOW) == 0,
      link.st_mode & mode_t(S_IFMT) == mode_t(S_IFLNK), fstatat(fd, Self.settingsFile, &target, 0) == 0,
      linux_is_file(&target) != 0
    else { return nil }
    return "\(path)/\(Self.settingsFile)"
  }

  /// Returns the file; nil if there is none. Throws UNSAFE_FOLDER if it is no regular file of this user, MALFORMED if
  /// it is too large, SYSTEM.
  public func deviceSettings() throws(SegueError) -> [UInt8]? {
    let file = linux_openat(fd, Self.settingsFile, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    if file < 0 {
      guard linux_errno() == ENOENT else { throw .refused("\(path)/\(Self.settingsFile)") }
      return nil
    }
    defer { _ = close(file) }
    try checkSettings(file)
    var bytes = [UInt8](repeating: 0, count: Self.settingsLimit + 1)
    let count = bytes.withUnsafeMutableBytes { FileBytes.read(file, at: 0, into: $0) }
    guard count >= 0 else { throw .refused("\(path)/\(Self.settingsFile)") }
    guard count <= Self.settingsLimit else {
      throw SegueError(.malformed, "\(path)/\(Self.settingsFile): is too large")
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  private func checkSettings(_ file: Int32) throws(SegueError) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .refused("\(path)/\(Self.settingsFile)") }
    guard linux_is_file(&status) != 0, status.st_uid == geteuid() else {
      throw SegueError(.unsafeFolder, "\(path)/\(Self.settingsFile): is no file of this user; move it away")
    }
  }

  /// Replaces the file, whole or not at all, and returns when it is on the disk. Where it is a symbolic link, what that
  /// leads to is written instead, in its place. Throws UNSAFE_FOLDER, SYSTEM.
  public func storeDeviceSettings(_ bytes: [UInt8]) throws(SegueError) {
    guard let linked = linkedDeviceSettings else { return try store(bytes, as: Self.settingsFile) }
    let file = linux_openat(fd, Self.settingsFile, O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0)
    guard file >= 0 else {
      throw .refused("\(linked) (a symbolic link: the agent writes where it led when the agent started)")
    }
    defer { _ = close(file) }
    try checkSettings(file)
    let isWritten =
      bytes.withUnsafeBytes { FileBytes.write(file, $0) } && ftruncate(file, off_t(bytes.count)) == 0
      && fsync(file) == 0
    guard isWritten else { throw .refused("\(linked)") }
  }

  /// Renames a file that cannot be used, so that nothing is lost.
  /// - Returns: the new name.
  public func setDeviceSettingsAside() throws(SegueError) -> String {
    try setAside(Self.settingsFile, as: "damaged")
  }
}
