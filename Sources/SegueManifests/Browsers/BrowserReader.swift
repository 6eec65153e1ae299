// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Finds the programs that open web pages, and the user's defaults: by `mimeapps.list` and `.desktop` files (R12.3,
/// R13.1).
struct BrowserReader {
  /// The most browsers; further ones are ignored.
  private static let limit = 64

  private static let types = ["x-scheme-handler/http", "x-scheme-handler/https"]

  private let desktops: DesktopFiles
  private let launcher: DesktopLauncher
  private let file: ManifestFileReader
  /// Those of higher precedence first.
  private let lists: [MimeAppsList]

  /// - Parameter lists: the paths of files `mimeapps.list`, those of higher precedence first.
  init(_ desktops: DesktopFiles, _ launcher: DesktopLauncher, _ file: ManifestFileReader, lists: [String]) {
    self.desktops = desktops
    self.launcher = launcher
    self.file = file
    self.lists = lists.compactMap { path in (try? file.read(path)).map { MimeAppsList($0, of: Self.types) } }
  }

  /// - Parameter handlers: the desktop ids of the files that may say that they open pages, those of higher precedence
  ///   first.
  func browsers(_ handlers: [String]) -> Browsers {
    var browsers: [Browser] = []
    var orders: [(scheme: WebOrigin.Scheme, identifiers: [String])] = []
    for scheme in [WebOrigin.Scheme.https, .http] {
      var order: [String] = []
      for id in ids(scheme, handlers) {
        guard let browser = browsers.first(where: { Text.isSame($0.desktopFile, id) }) ?? read(id) else { continue }
        order.append(browser.identifier)
        if browsers.count < Self.limit, !browsers.contains(where: { Text.isSame($0.identifier, browser.identifier) }) {
          browsers.append(browser)
        }
      }
      orders.append((scheme, order))
    }
    return Browsers(browsers) { scheme in orders.first { $0.scheme == scheme }?.identifiers.first }
  }

  /// The default programs for content types: of each the first that is installed.
  var defaults: DefaultPrograms {
    var installed: [ByteKey: Bool] = [:]
    func isInstalled(_ id: String) -> Bool {
      if let known = installed[ByteKey(id)] { return known }
      let isInstalled = (try? desktops.file(id, file).entry.boolean("Hidden")) == false
      installed[ByteKey(id)] = isInstalled
      return isInstalled
    }
    var files: [(contentType: String, desktopFile: String)] = []
    for list in lists {
      for one in list.defaults {
        if let id = one.ids.first(where: isInstalled) { files.append((one.contentType, id)) }
      }
    }
    return DefaultPrograms(files)
  }

  /// The desktop ids for a scheme, the preferred one first: the defaults, what was added, and what says so of itself.
  private func ids(_ scheme: WebOrigin.Scheme, _ handlers: [String]) -> [String] {
    var ids: [String] = []
    func add(_ id: String) { if !ids.contains(where: { Text.isSame($0, id) }) { ids.append(id) } }
    let type = Self.types[scheme == .http ? 0 : 1]
    for list in lists { for id in list[type].defaults { add(id) } }
    for list in lists { for id in list[type].added { add(id) } }
    for id in handlers where !lists.contains(where: { $0[type].removed.contains { Text.isSame($0, id) } }) {
      if opens(scheme, id) { add(id) }
    }
    return ids
  }

  /// Whether the file of a desktop id says that its program opens pages of a scheme.
  private func opens(_ scheme: WebOrigin.Scheme, _ id: String) -> Bool {
    guard let types = (try? desktops.file(id, file).entry.list("MimeType")) ?? nil else { return false }
    let wanted = String(joining: "x-scheme-handler/\(scheme.name)")
    return types.contains { Text.isSame($0, wanted) }
  }

  /// Nil: it is not installed, or counts as removed.
  private func read(_ id: String) -> Browser? {
    guard id.utf8.suffix(8).elementsEqual(".desktop".utf8), id.utf8.count <= Limits.identifier,
      let entry = try? desktops.file(id, file).entry, (try? entry.boolean("Hidden")) != true
    else { return nil }
    let identifier = Text.decoded(Array(id.utf8.dropLast(8)))
    guard !identifier.utf8.isEmpty else { return nil }
    let name = (try? ManifestCheck.name(try entry.string("Name") ?? "", "Name")) ?? identifier
    guard case .impossible(let error) = launcher.launch(entry, isGraphical: true, page: "https://a/") else {
      return Browser(identifier: identifier, name: name)
    }
    // A program that is not there counts as removed, too.
    if error.status == .notFound { return nil }
    return Browser(identifier: identifier, name: name, problem: launcher.opener == nil ? error : nil)
  }

  /// The command that opens a page in a browser: that of its file, else `gio open`, which opens it in the default
  /// browser, if the file cannot be read as launchers are.
  /// - Parameters:
  ///   - page: an absolute http or https URL, which becomes one argument.
  ///   - browser: one of `browsers`.
  func command(opening page: String, in browser: Browser) throws(SegueError) -> LaunchCommand {
    let entry = try desktops.file(browser.desktopFile, file).entry
    switch launcher.launch(entry, isGraphical: true, page: page) {
    case .command(let command): return command
    case .impossible(let error):
      guard error.status != .notFound, let opener = launcher.opener else { throw error }
      return LaunchCommand(arguments: [opener, "open", page])
    }
  }
}
