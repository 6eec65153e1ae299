// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The folders of manifests and launchers, by the XDG Base Directory Specification.
public struct ManifestFolders: Sendable {
  /// `$XDG_DATA_HOME`, then `$XDG_DATA_DIRS`: absolute, those of higher precedence first, each once.
  public let dataFolders: [String]
  /// `$PATH`, in which the programs of `TryExec` are looked for.
  public let searchPath: [String]
  /// The folders of files `mimeapps.list`, absolute: those of the user's and the system's settings, then those of
  /// `.desktop` files.
  let mimeAppsFolders: [String]
  /// The names that such a file can have, that of the user's desktop first.
  let mimeAppsNames: [String]

  /// - Parameters:
  ///   - settingsFolders: `$XDG_CONFIG_HOME`, then `$XDG_CONFIG_DIRS`.
  ///   - desktops: `$XDG_CURRENT_DESKTOP`.
  public init(dataFolders: [String], searchPath: [String], settingsFolders: [String] = [], desktops: [String] = []) {
    self.dataFolders = dataFolders
    self.searchPath = searchPath
    mimeAppsFolders = settingsFolders + dataFolders.map { String(joining: "\($0)/applications") }
    mimeAppsNames =
      desktops.prefix(8).map { desktop in
        let name = Array(desktop.utf8).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return String(joining: "\(Text.decoded(name))-mimeapps.list")
      } + ["mimeapps.list"]
  }

  /// The paths of all files `mimeapps.list` that there may be, those of higher precedence first.
  var mimeAppsLists: [String] {
    mimeAppsFolders.flatMap { folder in mimeAppsNames.map { String(joining: "\(folder)/\($0)") } }
  }

  /// The folders that the environment of this process names.
  public static func fromEnvironment() -> ManifestFolders {
    ManifestFolders(
      dataFolders: folders("XDG_DATA_HOME", "/.local/share", "XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
      searchPath: parts(Environment.variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"),
      settingsFolders: folders("XDG_CONFIG_HOME", "/.config", "XDG_CONFIG_DIRS", "/etc/xdg"),
      desktops: parts(Environment.variable("XDG_CURRENT_DESKTOP") ?? "").filter {
        !Text.has($0, UInt8(ascii: "/"))
      })
  }

  /// The user's folder, which may be relative, and then does not count; nil: none is known.
  static func own(_ variable: String, _ beneathHome: String) -> String? {
    if let folder = Environment.variable(variable), folder.utf8.first == UInt8(ascii: "/") { return folder }
    return Environment.variable("HOME").map { String(joining: "\($0)\(beneathHome)") }
  }

  /// The user's folder, then those of the system, each once.
  private static func folders(
    _ own: String, _ beneathHome: String, _ system: String, _ usual: String
  ) -> [String] {
    var folders: [String] = []
    func add(_ path: String) {
      // A relative path is to be ignored.
      guard path.utf8.first == UInt8(ascii: "/") else { return }
      var trimmed = path.utf8[...]
      while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed = trimmed.dropLast() }
      let folder = String(decoding: Array(trimmed), as: UTF8.self)
      if !folders.contains(where: { Text.isSame($0, folder) }) { folders.append(folder) }
    }
    if let folder = self.own(own, beneathHome) { add(folder) }
    for folder in parts(Environment.variable(system) ?? usual) { add(folder) }
    return folders
  }

  private static func parts(_ list: String) -> [String] {
    list.utf8.split(separator: UInt8(ascii: ":")).map { String(decoding: Array($0), as: UTF8.self) }
  }
}
