// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Reads files that say how a program opens a file at a place (R13.7): `segue/openers/*.desktop` in the data folders.
struct OpenerReader {
  /// The most openers; further ones are ignored.
  private static let limit = 256

  private struct Known {
    let opener: Opener
    let line: OpenerLine
    let needsTerminal: Bool
  }

  private let launcher: DesktopLauncher
  private let file: ManifestFileReader
  private var known: [Known] = []
  /// The identifiers of files that hide others of lower precedence.
  private var hidden: [String] = []

  init(_ launcher: DesktopLauncher, _ file: ManifestFileReader) {
    self.launcher = launcher
    self.file = file
  }

  /// Those whose programs are installed, and the default application of the desktop after them.
  var openers: Openers {
    Openers(known.map { $0.opener } + [Opener.defaultApplication])
  }

  /// Reads a file; those of higher precedence come first. One whose program is not installed has no effect.
  /// - Parameter name: of the file.
  /// - Returns: its bytes.
  /// Throws what is wrong with it.
  mutating func add(_ name: String, path: String) throws(SegueError) -> Int {
    guard name.utf8.suffix(8).elementsEqual(".desktop".utf8) else {
      throw SegueError(.wrongKind, "expected a name that ends with .desktop")
    }
    let file = try ManifestCheck.name(Text.decoded(Array(name.utf8.dropLast(8))), "the name of the file")
    let identifier = Opener(file: file, name: "", types: []).identifier
    let isKnown = known.contains { Text.isSame($0.opener.identifier, identifier) }
    guard !isKnown, !hidden.contains(where: { Text.isSame($0, identifier) }) else { return 0 }
    let bytes = try self.file.read(path)
    let size = bytes.count
    let entry = try DesktopEntry.read(bytes, path: path)
    if try entry.boolean("Hidden") {
      hidden.append(identifier)
      return size
    }
    let types = try ManifestCheck.types(try entry.list("X-Segue-ActivityTypes") ?? [], "X-Segue-ActivityTypes")
    guard !types.isEmpty else { throw SegueError(.malformed, "X-Segue-ActivityTypes: is missing, or empty") }
    for type in types where PublicType.named(type) == nil {
      throw SegueError(.malformed, "X-Segue-ActivityTypes: \(type) is no public type")
    }
    let line = try OpenerLine(try entry.list("X-Segue-Open") ?? [])
    try line.check(for: types)
    try ExecLine.checkProgram(line.program)
    guard launcher.isInstalled(try entry.string("TryExec") ?? line.program), launcher.isInstalled(line.program) else {
      return size
    }
    let name = try ManifestCheck.name(try entry.string("Name") ?? file, "Name")
    let opener = Opener(file: file, name: name, types: types)
    if known.count < Self.limit {
      known.append(Known(opener: opener, line: line, needsTerminal: try entry.boolean("Terminal")))
    }
    return size
  }

  /// The command that opens a document.
  /// - Parameters:
  ///   - opener: one of `openers`.
  ///   - associations: files `mimeapps.list`, those of higher precedence first; read for the default application only.
  ///   - desktops: the files of applications.
  /// Throws NOT_FOUND (the opener), HANDOFF_FAILED, LIMIT_EXCEEDED.
  func command(
    opening document: OpenedDocument, with opener: String, _ associations: [String], _ desktops: DesktopFiles
  ) throws(SegueError) -> LaunchCommand {
    if let found = known.first(where: { Text.isSame($0.opener.identifier, opener) }) {
      guard found.opener.opens(document.type) else {
        throw SegueError(.notFound, "\(found.opener.name) does not open \(document.type)")
      }
      var arguments = try found.line.arguments(for: document)
      if found.needsTerminal { arguments = try launcher.terminal(for: arguments[0]) + arguments }
      try DesktopLauncher.check(arguments, nil)
      return LaunchCommand(arguments: arguments)
    }
    guard Text.isSame(opener, Opener.defaultApplication.identifier) else {
      throw SegueError(.notFound, "no such program is installed")
    }
    return try defaultApplication(for: document, associations, desktops)
  }

  private func defaultApplication(
    for document: OpenedDocument, _ associations: [String], _ desktops: DesktopFiles
  ) throws(SegueError) -> LaunchCommand {
    let place = document.path ?? document.text("url") ?? ""
    if let type = Opener.contentType(of: document.type, said: document.text("contentType")) {
      for path in associations {
        guard let bytes = try? file.read(path) else { continue }
        for id in MimeAppsList(bytes, of: [type])[type].defaults {
          guard let entry = try? desktops.file(id, file).entry else { continue }
          if case .command(let command) = launcher.launch(entry, isGraphical: true, page: place) { return command }
        }
      }
    }
    throw SegueError(.notFound, "the desktop has no default application for it")
  }
}
