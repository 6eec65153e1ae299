import CLinux
import SegueModel

/// Where manifests and launchers are, by the XDG Base Directory Specification.
public struct ManifestFolders: Sendable {
  /// `$XDG_DATA_HOME`, then `$XDG_DATA_DIRS`: absolute, those of higher precedence first, each once.
  public let dataFolders: [String]
  /// `$PATH`, in which the programs of `TryExec` are looked for.
  public let searchPath: [String]

  public init(dataFolders: [String], searchPath: [String]) {
    self.dataFolders = dataFolders
    self.searchPath = searchPath
  }

  /// What the environment of this process says.
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
    if let home = variable("XDG_DATA_HOME"), home.utf8.first == UInt8(ascii: "/") {
      add(home)
    } else if let home = variable("HOME") {
      add(String(joining: "\(home)/.local/share"))
    }
    for folder in parts(variable("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share") { add(folder) }
    return ManifestFolders(
      dataFolders: folders, searchPath: parts(variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"))
  }

  /// Nil if it is missing or empty.
  private static func variable(_ name: String) -> String? {
    guard let value = secure_getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  private static func parts(_ list: String) -> [String] {
    list.utf8.split(separator: UInt8(ascii: ":")).map { String(decoding: Array($0), as: UTF8.self) }
  }
}
