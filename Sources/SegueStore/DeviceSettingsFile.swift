import CLinux
import SegueModel

/// The file `devices` of the state folder: what the user has set about other devices, as the encoding of a value.
extension StateFolder {
  private static let settingsFile = "devices"
  /// The most bytes of it.
  public static let settingsLimit = 64 * 1024

  /// Returns the file; nil if there is none. Throws UNSAFE_FOLDER if it is no regular file of this user, MALFORMED if
  /// it is too large, SYSTEM.
  public func deviceSettings() throws(SegueError) -> [UInt8]? {
    let file = linux_openat(fd, Self.settingsFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)
    if file < 0 {
      guard linux_errno() == ENOENT else { throw .refused("\(path)/\(Self.settingsFile)") }
      return nil
    }
    defer { _ = close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .refused("\(path)/\(Self.settingsFile)") }
    guard linux_is_file(&status) != 0, status.st_uid == geteuid() else {
      throw SegueError(.unsafeFolder, "\(path)/\(Self.settingsFile): is no file of this user; move it away")
    }
    var bytes = [UInt8](repeating: 0, count: Self.settingsLimit + 1)
    let count = bytes.withUnsafeMutableBytes { FileBytes.read(file, at: 0, into: $0) }
    guard count >= 0 else { throw .refused("\(path)/\(Self.settingsFile)") }
    guard count <= Self.settingsLimit else {
      throw SegueError(.malformed, "\(path)/\(Self.settingsFile): is too large")
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// Replaces the file, whole or not at all, and returns when it is on the disk. Throws SYSTEM.
  public func storeDeviceSettings(_ bytes: [UInt8]) throws(SegueError) { try store(bytes, as: Self.settingsFile) }

  /// Renames a file that cannot be used, so that nothing is lost.
  /// - Returns: the new name.
  public func setDeviceSettingsAside() throws(SegueError) -> String {
    try setAside(Self.settingsFile, as: "damaged")
  }
}
