// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The folders of manifests and launchers, by the XDG Base Directory Specification.
public struct ManifestFolders: Sendable {
  /// `$XDG_DATA_HOME`, then `$XDG_DATA_DIRS`: absolute, those of higher precedence first, each once.
  public let dataFolders: [String]
  /// `$PATH`, in which the programs of `TryExec` are looked for.
  public let searchPath: [String]

  public init(dataFolders: [String], searchPath: [String]) {
    self.dataFolders = dataFolders
    self.searchPath = searchPath
  }

  /// The folders that the environment of this process names.
  public static func fromEnvironment() -> ManifestFolders {
    var folders: [String] = []
    func add(_ path: String) {
      // A relative path is to be ignored.
      guard path.utf8.first == UInt8(ascii: "/") else { return }
      var trimmed = path.utf8[...]
      while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed = trimmed.dropLast() }
      let folder = String(decoding: Array(trimmed), as: UTF8.self)
      if !folders.contains(where: { Text.isSame($0, folder) }) { folders.append(folder) }
    }
    if let home = Environment.variable("XDG_DATA_HOME"), home.utf8.first == UInt8(ascii: "/") {
      add(home)
    } else if let home = Environment.variable("HOME") {
      add(String(joining: "\(home)/.local/share"))
    }
    for folder in parts(Environment.variable("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share") { add(folder) }
    return ManifestFolders(
      dataFolders: folders, searchPath: parts(Environment.variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"))
  }

  private static func parts(_ list: String) -> [String] {
    list.utf8.split(separator: UInt8(ascii: ":")).map { String(decoding: Array($0), as: UTF8.self) }
  }
}
