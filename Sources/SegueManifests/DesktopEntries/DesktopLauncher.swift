// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Makes the command with which a `.desktop` file starts its program.
struct DesktopLauncher {
  /// The folders of PATH, in which `TryExec` and a terminal are looked for.
  let searchPath: [String]

  /// The program that opens a page in the user's default browser, in whatever way the desktop knows it; nil: it is not
  /// there. `xdg-open` refuses without a display, and asks other desktops' programs.
  var opener: String? { isInstalled("gio") ? "gio" : nil }

  /// - Parameters:
  ///   - isGraphical: whether the app needs a display.
  ///   - page: the web page that it is to open; nil: none.
  func launch(_ entry: DesktopEntry, isGraphical: Bool, page: String? = nil) -> AppLaunch {
    do throws(SegueError) {
      return .command(try command(entry, isGraphical, page))
    } catch {
      return .impossible(error.cut(naming: entry.path))
    }
  }

  private func command(_ entry: DesktopEntry, _ isGraphical: Bool, _ page: String?) throws(SegueError) -> LaunchCommand
  {
    if try entry.boolean("Hidden") { throw SegueError(.notFound, "Hidden: the launcher counts as removed") }
    let type = try entry.string("Type") ?? ""
    guard Text.isSame(type, "Application") else {
      throw SegueError(.malformed, "Type: expected Application, found \(type.utf8.isEmpty ? "none" : type)")
    }
    if let program = try entry.string("TryExec"), !isInstalled(program) {
      throw SegueError(.notFound, "TryExec: there is no program \(program)")
    }
    // A page is an argument of the command.
    let busName = try entry.boolean("DBusActivatable") && page == nil ? Self.busName(ofEntry: entry.path) : nil
    guard let exec = entry.raw("Exec") ?? busName.map({ Text.bytes("gapplication launch \($0)") }) else {
      throw SegueError(.malformed, "Exec: is missing; expected a command")
    }
    let folder = try entry.string("Path")
    if let folder, folder.utf8.first != UInt8(ascii: "/") {
      throw SegueError(.malformed, "Path: expected an absolute path, found \(folder)")
    }
    let fields = ExecLine.Fields(
      icon: try entry.string("Icon"), name: try entry.string("Name") ?? "", path: entry.path, page: page)
    var arguments = try ExecLine.arguments(exec, fields)
    let needsTerminal = try entry.boolean("Terminal")
    if needsTerminal { arguments = try terminal(for: arguments[0]) + arguments }
    try Self.check(arguments, folder)
    return LaunchCommand(
      arguments: arguments, folder: folder, isGraphical: isGraphical || needsTerminal, busName: busName)
  }

  /// The name on the bus of an app whose entry has this path: that of the file, without its ending. Nil if that is no
  /// name of the bus (D-Bus Specification, "Bus names").
  static func busName(ofEntry path: String) -> String? {
    let bytes = Text.bytes(path)
    let name = bytes[((bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...].dropLast(".desktop".utf8.count)
    let elements = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard elements.count >= 2, name.count <= Limits.identifier, elements.allSatisfy({ isElement($0) }) else {
      return nil
    }
    return Text.decoded(Array(name))
  }

  private static func isElement(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let first = bytes.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        break
      default: return false
      }
    }
    return true
  }

  /// The words before a program that show it in a terminal of the user's choice, else in that of the system.
  func terminal(for program: String) throws(SegueError) -> [String] {
    // xdg-terminal-exec would read such a name as an option.
    if isInstalled("xdg-terminal-exec"), program.utf8.first != UInt8(ascii: "-") { return ["xdg-terminal-exec"] }
    if isInstalled("x-terminal-emulator") { return ["x-terminal-emulator", "-e"] }
    throw SegueError(
      .notFound, "Terminal: neither xdg-terminal-exec nor x-terminal-emulator is in PATH, and the app needs a terminal")
  }

  /// Throws unless the launcher can start that.
  static func check(_ arguments: [String], _ folder: String?) throws(SegueError) {
    guard arguments.count <= Limits.launchArguments else {
      throw SegueError(
        .limitExceeded, "Exec: \(arguments.count) arguments, at most \(Limits.launchArguments) are allowed")
    }
    let size = arguments.reduce(folder?.utf8.count ?? 0) { $0 + $1.utf8.count }
    guard size <= Limits.launchBytes else {
      throw SegueError(
        .limitExceeded, "Exec: \(size) bytes with Path, at most \(Limits.launchBytes) are allowed")
    }
    if arguments.contains(where: { $0.utf8.contains(0) }) { throw SegueError(.malformed, "Exec: there is a NUL in it") }
    if folder?.utf8.contains(0) ?? false { throw SegueError(.malformed, "Path: there is a NUL in it") }
  }

  /// Whether a program is there, by its absolute path or in `searchPath`.
  func isInstalled(_ program: String) -> Bool {
    if Text.has(program, UInt8(ascii: "/")) { return access(program, X_OK) == 0 }
    return searchPath.contains { access(String(joining: "\($0)/\(program)"), X_OK) == 0 }
  }
}
