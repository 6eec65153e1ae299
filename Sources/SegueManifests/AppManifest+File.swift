// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

extension AppManifest {
  /// Reads one manifest for the app that loads it (R6.1): a property list, or a `.desktop` file with keys of Segue's.
  /// - Parameter app: the bundle identifier that the manifest has to have.
  /// - Returns: what it says, and what is wrong with it and has no effect.
  /// Throws SYSTEM, WRONG_KIND, LIMIT_EXCEEDED, MALFORMED; INVALID_ARGUMENT (it describes another app).
  public static func read(
    _ path: String, of app: String
  ) throws(SegueError) -> (manifest: AppManifest, warnings: [String]) {
    let declaration = try AppDeclaration.read(path, .impossible(SegueError(.notFound, "the app runs")))
    guard Text.isSame(declaration.bundleIdentifier, app) else {
      throw SegueError(.invalidArgument, "describes \(declaration.bundleIdentifier), and the app is \(app)")
        .cut(naming: path)
    }
    return (declaration.manifest, declaration.warnings)
  }
}

extension AppDeclaration {
  /// Reads one manifest for an app that its owner launches, or that cannot be launched.
  /// Throws as the other one, but for the app.
  public static func read(_ path: String, canLaunch: Bool) throws(SegueError) -> AppDeclaration {
    guard canLaunch else { return try read(path, .impossible(SegueError(.notFound, "nothing launches it"))) }
    return try read(path, .command(LaunchCommand(arguments: [path])))
  }

  fileprivate static func read(_ path: String, _ launch: AppLaunch) throws(SegueError) -> AppDeclaration {
    do throws(SegueError) {
      let file = ManifestFileReader()
      // Its buffer has the bytes.
      defer { withExtendedLifetime(file) {} }
      let bytes = try file.read(path)
      let contents: ManifestContents
      if path.utf8.suffix(8).elementsEqual(".desktop".utf8) {
        contents = try DesktopEntryManifest.contents(try DesktopEntry.read(bytes, path: path), id: "")
      } else {
        contents = try PropertyListManifest.contents(try PropertyList.read(bytes))
      }
      return try contents.declaration(path: path, launch)
    } catch {
      throw error.cut(naming: path)
    }
  }
}
