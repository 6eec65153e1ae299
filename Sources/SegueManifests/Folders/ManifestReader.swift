// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Reads all manifests of a user, and makes a catalogue of them. It waits for disks, and so must not be used on a
/// thread that others wait for.
public final class ManifestReader {
  private struct Found {
    let path: String
    let folder: Int
    let result: Result<AppDeclaration, SegueError>
  }

  private let folders: ManifestFolders
  private let launcher: DesktopLauncher
  /// Called with each folder that has manifests or launchers, or would have them, before its names are read.
  private let visits: (String) -> Void
  /// Called with each folder and name of a file `mimeapps.list` that there is, or would be.
  private let awaits: (_ folder: String, _ name: String) -> Void
  private let isCancelled: () -> Bool
  private let file = ManifestFileReader()
  private var found: [Found] = []
  private var fileCount = 0
  private var folderCount = 0
  private var total = 0
  private var browserReader: BrowserReader?
  private var openerReader: OpenerReader
  private var desktops = DesktopFiles()
  /// The programs that open web pages, once `read` has returned (R12.3).
  public private(set) var browsers = Browsers()
  /// The desktop's default programs for content types, once `read` has returned (R13.1).
  public var defaults: DefaultPrograms { browserReader?.defaults ?? DefaultPrograms() }
  /// The programs that open files, once `read` has returned (R13.7).
  public var openers: Openers { openerReader.openers }

  /// The text of the user's folders (R13.4), once `read` has returned: what is in the file. Empty if it cannot be read.
  public private(set) var userFolders: [UInt8] = []
  /// The reason for which that file cannot be read, or the first line that cannot be used; nil: there is none.
  public private(set) var userFoldersProblem: SegueError?

  /// - Parameters:
  ///   - visits: called with each folder that has manifests or launchers, before its names are read, and with those
  ///     that would have them and are not there.
  ///   - awaits: called with the folder and the name of each file `mimeapps.list` that there is, or would be.
  ///   - isCancelled: called often; once it is true the reader stops, and what it returns is incomplete.
  public init(
    _ folders: ManifestFolders, visits: @escaping (String) -> Void = { _ in },
    awaits: @escaping (_ folder: String, _ name: String) -> Void = { _, _ in },
    isCancelled: @escaping () -> Bool = { false }
  ) {
    self.folders = folders
    launcher = DesktopLauncher(searchPath: folders.searchPath)
    openerReader = OpenerReader(launcher, file)
    self.visits = visits
    self.awaits = awaits
    self.isCancelled = isCancelled
  }

  /// Reads everything, once.
  public func read() -> Catalogue {
    for (index, folder) in folders.dataFolders.enumerated() {
      listDesktops(String(joining: "\(folder)/applications"), "", index, depth: 1, into: &desktops)
    }
    for (index, folder) in folders.dataFolders.enumerated() {
      readPropertyLists(String(joining: "\(folder)/segue/apps"), index, desktops)
      readOpeners(String(joining: "\(folder)/segue/openers"), index)
    }
    for folder in folders.mimeAppsFolders { for name in folders.mimeAppsNames { awaits(folder, name) } }
    if let folder = UserFoldersFile.folder { awaits(folder, UserFoldersFile.name) }
    do throws(SegueError) {
      userFolders = try UserFoldersFile.read(file) ?? []
      userFoldersProblem = UserFolders(userFolders).problem
    } catch {
      userFoldersProblem = error
    }
    let handlers = readDesktops(desktops)
    let reader = BrowserReader(desktops, launcher, file, lists: folders.mimeAppsLists)
    browsers = reader.browsers(handlers)
    browserReader = reader
    // Stable: in a folder those of `segue/apps` come first, then by name.
    var ordered: [(path: String, result: Result<AppDeclaration, SegueError>)] = []
    for index in 0..<folders.dataFolders.count {
      for one in found where one.folder == index { ordered.append((path: one.path, result: one.result)) }
    }
    return Catalogue(ordered)
  }

  /// The command that opens a web page in a browser (R12.3), once `read` has returned.
  /// - Parameters:
  ///   - page: an absolute http or https URL, which becomes one argument.
  ///   - browser: one of `browsers`.
  public func command(opening page: String, in browser: Browser) throws(SegueError) -> LaunchCommand {
    guard let browserReader else { throw SegueError(.invalidState, "browsers: not read yet") }
    return try browserReader.command(opening: page, in: browser)
  }

  // MARK: - Openers

  private func readOpeners(_ folder: String, _ index: Int) {
    for name in names(in: folder, index) {
      guard !isCancelled() else { return }
      let path = String(joining: "\(folder)/\(name.text)")
      note(path, index) { () throws(SegueError) in
        try self.count(try self.openerReader.add(name.text, path: path))
        return nil
      }
    }
  }

  /// The command that opens a document with an opener (R13.7), once `read` has returned.
  /// - Parameter opener: one of `openers`.
  /// Throws NOT_FOUND (the opener), HANDOFF_FAILED, LIMIT_EXCEEDED.
  public func command(opening document: OpenedDocument, with opener: String) throws(SegueError) -> LaunchCommand {
    try openerReader.command(opening: document, with: opener, folders.mimeAppsLists, desktops)
  }

  // MARK: - Property lists

  private func readPropertyLists(_ folder: String, _ index: Int, _ desktops: DesktopFiles) {
    for name in names(in: folder, index) {
      guard !isCancelled() else { return }
      let path = String(joining: "\(folder)/\(name.text)")
      note(path, index) { () throws(SegueError) in
        guard name.text.utf8.suffix(6).elementsEqual(".plist".utf8) else {
          throw SegueError(.wrongKind, "expected a name that ends with .plist")
        }
        let bytes = try self.file.read(path)
        try self.count(bytes.count)
        let contents = try PropertyListManifest.contents(try PropertyList.read(bytes))
        try self.count(contents.warnings)
        return try contents.declaration(path: path, try self.counted(self.launch(contents, path, desktops)))
      }
    }
  }

  private func launch(_ contents: ManifestContents, _ path: String, _ desktops: DesktopFiles) -> AppLaunch {
    guard let id = contents.desktopFile else {
      return .impossible(
        SegueError(.notFound, "\(path): SegueDesktopFile: is missing; expected the desktop id of a launcher"))
    }
    do throws(SegueError) {
      return launcher.launch(try desktops.file(id, file).entry, isGraphical: contents.isGraphical)
    } catch {
      return .impossible(error.cut(naming: "\(path): SegueDesktopFile"))
    }
  }

  // MARK: - Desktop entries

  /// The desktop id of `applications/vendor/app.desktop` is `vendor-app.desktop`.
  private func listDesktops(
    _ folder: String, _ prefix: String, _ index: Int, depth: Int, into desktops: inout DesktopFiles
  ) {
    for name in names(in: folder, index) {
      guard !isCancelled() else { return }
      let path = String(joining: "\(folder)/\(name.text)")
      if name.isFolder {
        guard depth < Self.applicationDepth else { continue }
        let longer = String(joining: "\(prefix)\(name.text)-")
        listDesktops(path, longer, index, depth: depth + 1, into: &desktops)
      } else if name.text.utf8.suffix(8).elementsEqual(".desktop".utf8) {
        desktops.add(String(joining: "\(prefix)\(name.text)"), path: path, folder: index)
      }
    }
  }

  /// - Returns: the ids of the files that may be of a browser.
  private func readDesktops(_ desktops: DesktopFiles) -> [String] {
    desktops.forEachManifest(file, until: isCancelled) { path, folder, entry, size in
      self.note(path, folder) { () throws(SegueError) in
        let file = try entry.get()
        // As if the file were not there, and no other with its id.
        if try file.entry.boolean("Hidden") { return nil }
        try self.count(size)
        let contents = try DesktopEntryManifest.contents(file.entry, id: file.id)
        try self.count(contents.warnings)
        let launch = self.launcher.launch(file.entry, isGraphical: contents.isGraphical)
        return try contents.declaration(path: path, try self.counted(launch))
      }
    }
  }

  // MARK: - Bounds

  /// Levels of folders in `applications`.
  private static let applicationDepth = 4

  private func names(in folder: String, _ index: Int) -> [FolderListing.Name] {
    folderCount += 1
    guard folderCount <= Limits.manifestFolders else {
      if folderCount == Limits.manifestFolders + 1 {
        note(folder, index) { () throws(SegueError) in
          throw SegueError(.limitExceeded, "more than \(Limits.manifestFolders) folders: further ones are not read")
        }
      }
      return []
    }
    visits(folder)
    do throws(SegueError) {
      let names = try FolderListing.read(folder, atMost: Limits.manifestFiles - fileCount) ?? []
      fileCount += names.count
      return names
    } catch {
      found.append(Found(path: folder, folder: index, result: .failure(error)))
      return []
    }
  }

  /// Counts the bytes of a manifest.
  private func count(_ bytes: Int) throws(SegueError) {
    guard bytes <= Limits.manifestTotal - total else {
      throw SegueError(.limitExceeded, "all manifests together have more than \(Limits.manifestTotal) bytes")
    }
    total += bytes
  }

  private func count(_ warnings: ManifestWarnings) throws(SegueError) {
    try count(warnings.texts.reduce(0) { $0 + $1.utf8.count })
  }

  /// Counts what is kept of a launcher: many manifests may name one.
  private func counted(_ launch: AppLaunch) throws(SegueError) -> AppLaunch {
    switch launch {
    case .command(let command):
      try count(command.arguments.reduce(command.folder?.utf8.count ?? 0) { $0 + $1.utf8.count })
    case .impossible(let error): try count(error.message.utf8.count)
    }
    return launch
  }

  /// Notes what a file declares, or what is wrong with it.
  /// - Parameter read: returns nil if there is nothing to note.
  /// - Returns: false if something is wrong with the file.
  @discardableResult
  private func note(_ path: String, _ folder: Int, _ read: () throws(SegueError) -> AppDeclaration?) -> Bool {
    do throws(SegueError) {
      if let app = try read() { found.append(Found(path: path, folder: folder, result: .success(app))) }
      return true
    } catch {
      found.append(Found(path: path, folder: folder, result: .failure(error.cut(naming: path))))
      return false
    }
  }
}
