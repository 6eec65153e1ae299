// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The file with the folders of the user (R13.4): `segue/folders` below `$XDG_CONFIG_HOME`.
public enum UserFoldersFile {
  /// The name of the file in its folder.
  static let name = "folders"

  /// The folder that has the file, or would; nil if neither `$XDG_CONFIG_HOME` nor `$HOME` is an absolute path.
  static var folder: String? {
    ManifestFolders.own("XDG_CONFIG_HOME", "/.config").map { String(joining: "\($0)/segue") }
  }

  /// The text of the file; nil if there is none.
  /// Throws SYSTEM, WRONG_KIND (a folder, a device, a pipe), LIMIT_EXCEEDED. The message names the file.
  public static func read() throws(SegueError) -> [UInt8]? {
    let file = ManifestFileReader(atMost: UserFolders.sizeLimit)
    defer { withExtendedLifetime(file) {} }
    return try read(file)
  }

  static func read(_ file: ManifestFileReader) throws(SegueError) -> [UInt8]? {
    guard let folder else { return nil }
    let path = String(joining: "\(folder)/\(name)")
    do throws(SegueError) {
      return try file.readIfThere(path).map { Array($0) }
    } catch {
      throw error.cut(naming: path)
    }
  }
}
