import SegueModel
import SegueRouting

extension AppManifest {
  /// Reads one manifest for the app that loads it (R6.1): a property list, or a `.desktop` file with keys of Segue's.
  /// - Parameter app: the bundle identifier that the manifest has to have.
  /// - Returns: what it says, and what is wrong with it and has no effect.
  /// Throws SYSTEM, WRONG_KIND, LIMIT_EXCEEDED, MALFORMED; INVALID_ARGUMENT (it describes another app).
  public static func read(
    _ path: String, of app: String
  ) throws(SegueError) -> (manifest: AppManifest, warnings: [String]) {
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
      let launch = SegueError(.notFound, "the app runs")
      let declaration = try contents.declaration(path: path, .impossible(launch))
      guard Text.isSame(declaration.bundleIdentifier, app) else {
        throw SegueError(.invalidArgument, "describes \(declaration.bundleIdentifier), and the app is \(app)")
      }
      return (declaration.manifest, declaration.warnings)
    } catch {
      throw error.cut(naming: path)
    }
  }
}
