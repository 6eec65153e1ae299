// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueManifests
import SegueModel

/// Data folders of one test, removed with the object.
final class DataFolders {
  let path: String
  /// The data folders: that of a user, then that of the system.
  var folders: [String] { ["\(path)/home", "\(path)/system"] }

  init() {
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    var template = Array("\(parent)/segue-manifests-XXXXXX".utf8CString)
    path = String(cString: mkdtemp(&template)!)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file: `home/segue/apps/notes.plist`, `system/applications/notes.desktop`.
  func write(_ name: String, text: String) throws {
    let file = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// Writes a file of these bytes.
  func write(_ name: String, bytes: [UInt8]) throws {
    try write(name, text: "")
    try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
  }

  /// Writes a program.
  func writeProgram(_ name: String) throws {
    try write(name, text: "#!/bin/sh\n")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(path)/\(name)")
  }

  /// Writes a property list.
  func write(_ name: String, _ list: [String: Any], _ format: PropertyListSerialization.PropertyListFormat = .binary)
    throws
  {
    try write(name, text: "")
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
    try data.write(to: URL(fileURLWithPath: "\(path)/\(name)"))
  }

  /// Writes a `.desktop` file of an application that can be started.
  func write(_ name: String, exec: String = "app", _ lines: String...) throws {
    try write(
      name,
      text: (["[Desktop Entry]", "Type=Application", "Name=A Name", "Exec=\(exec)"] + lines).joined(separator: "\n"))
  }

  func read(searchPath: [String] = []) -> Catalogue {
    ManifestReader(ManifestFolders(dataFolders: folders, searchPath: searchPath)).read()
  }
}

extension Catalogue {
  /// The errors of broken files, without the paths before them.
  var problems: [String] {
    entries.compactMap { entry in
      guard case .broken(let error) = entry.state else { return nil }
      return error.message.replacingOccurrences(of: "\(entry.path): ", with: "")
    }
  }
}

extension AppDeclaration {
  var command: LaunchCommand? { if case .command(let command) = launch { command } else { nil } }
  var obstacle: String? { if case .impossible(let error) = launch { error.message } else { nil } }
}
