// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueManifests
import SegueModel
import Testing

/// The programs that open web pages, and the user's default (R12.3).
@Suite struct BrowserTests {
  private let folders = DataFolders()
  private let handler = "MimeType=text/html;x-scheme-handler/http;x-scheme-handler/https;"

  private func reader(desktops: [String] = [], searchPath: [String] = []) -> ManifestReader {
    let reader = ManifestReader(
      ManifestFolders(
        dataFolders: folders.folders, searchPath: searchPath,
        settingsFolders: ["\(folders.path)/config", "\(folders.path)/etc"], desktops: desktops))
    _ = reader.read()
    return reader
  }

  private func defaults(desktops: [String] = []) -> [String?] {
    let browsers = reader(desktops: desktops).browsers
    return [.https, .http].map { browsers.browser(for: $0, chosen: nil)?.identifier }
  }

  private func write(_ ids: String...) throws {
    for id in ids { try folders.write("system/applications/\(id).desktop", exec: "\(id) %u", handler) }
  }

  private func list(_ name: String, _ lines: String...) throws {
    try folders.write(name, text: lines.joined(separator: "\n"))
  }

  @Test func `without a list it is a program that says that it opens pages (R12.3)`() throws {
    #expect(defaults() == [nil, nil])
    try folders.write("system/applications/editor.desktop", "MimeType=text/plain;x-scheme-handler/mailto;")
    #expect(defaults() == [nil, nil])
    try write("b", "a")
    #expect(defaults() == ["a", "a"])
    #expect(reader().browsers.all.map { $0.identifier } == ["a", "b"])
    #expect(reader().browsers.all.map { $0.name } == ["A Name", "A Name"])
  }

  @Test func `the user's list comes first, then the desktop's names, then the system's, then data folders`() throws {
    try write("a", "b", "c", "d", "e")
    func line(_ id: String) -> String { "x-scheme-handler/https=\(id).desktop;" }
    try list("system/applications/mimeapps.list", "[Default Applications]", line("b"))
    #expect(defaults() == ["b", "a"])
    try list("etc/mimeapps.list", "[Default Applications]", line("c"))
    #expect(defaults() == ["c", "a"])
    try list("config/mimeapps.list", "[Default Applications]", line("d"))
    #expect(defaults() == ["d", "a"])
    try list("config/gnome-mimeapps.list", "[Default Applications]", line("e"))
    #expect(defaults() == ["d", "a"])
    #expect(defaults(desktops: ["X", "GNOME"]) == ["e", "a"])
  }

  @Test func `a browser that was removed is passed over, whatever the list says (R12.3)`() throws {
    try write("a", "b")
    try folders.write("home/applications/hidden.desktop", handler, "Hidden=true")
    try folders.write("home/applications/gone.desktop", handler, "TryExec=/nonexistent/gone")
    try list(
      "config/mimeapps.list", "junk", "[Default Applications", "x-scheme-handler/https=a.desktop",
      "[Default Applications]", "# x-scheme-handler/https=a.desktop",
      "x-scheme-handler/https = removed.desktop; hidden.desktop ;gone.desktop;../../etc/passwd;b.desktop;a.desktop",
      "x-scheme-handler/https=a.desktop", "[Removed Associations]", "x-scheme-handler/http=a.desktop;")
    #expect(defaults() == ["b", "b"])
    #expect(reader().browsers["hidden"] == nil && reader().browsers["gone"] == nil)
  }

  @Test func `added associations come after defaults, and before what says so of itself`() throws {
    try write("a", "b")
    try folders.write("system/applications/added.desktop", exec: "added")
    try list("config/mimeapps.list", "[Added Associations]", "x-scheme-handler/https=added.desktop;b.desktop;")
    #expect(defaults() == ["added", "a"])
  }

  @Test func `the default program for a content type is the first that is installed (R13.1)`() throws {
    for id in ["a", "b"] { try folders.write("system/applications/\(id).desktop", exec: id) }
    try folders.write("system/applications/hidden.desktop", exec: "hidden", "Hidden=true")
    try list(
      "config/mimeapps.list", "text/html=b.desktop", "[Default Applications]", "junk=a.desktop", "text/=a.desktop",
      "text/plain=gone.desktop;hidden.desktop;b.desktop;a.desktop;", "text/x-c = gone.desktop",
      "[Added Associations]", "text/csv=a.desktop")
    try list("etc/mimeapps.list", "[Default Applications]", "text/plain=a.desktop", "text/x-c=a.desktop")
    let defaults = reader().defaults
    #expect(["text/plain", "text/x-c"].map { defaults[$0] } == ["b.desktop", "a.desktop"])
    for none in ["text/html", "junk", "text/", "text/csv", "x-scheme-handler/https"] { #expect(defaults[none] == nil) }
    try list("config/mimeapps.list", "[Default Applications]", "text/plain=a.desktop")
    #expect(reader().defaults["text/plain"] == "a.desktop")
  }

  @Test func `lists are bounded, and one that is no text hides nothing`() throws {
    try write("a")
    try write("z")
    let many = (0..<10_000).map { "b\($0).desktop" }.joined(separator: ";")
    try list("config/mimeapps.list", "[Default Applications]", "x-scheme-handler/https=\(many);z.desktop")
    #expect(defaults() == ["a", "a"])
    try folders.write("config/mimeapps.list", bytes: (0..<4_096).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    #expect(defaults() == ["a", "a"])
    try list("config/mimeapps.list", String(repeating: "x", count: Limits.manifestBytes + 1))
    #expect(defaults() == ["a", "a"])
  }

  @Test(arguments: [
    ("b %u", ["b", "PAGE"]), ("b %U --new", ["b", "PAGE", "--new"]), ("b --url=%u", ["b", "--url=PAGE"]),
    ("b %f", ["b", "PAGE"]), ("b", ["b", "PAGE"]), ("b %u %U", ["b", "PAGE"]), ("b \"%%u\"", ["b", "%u", "PAGE"]),
    ("b --name %c", ["b", "--name", "A Name", "PAGE"]),
  ])
  func `the page is one argument of the program, and once (W10)`(exec: String, arguments: [String]) throws {
    try folders.write("system/applications/b.desktop", exec: exec, handler)
    let page = "https://example.com/a?b=$(id)&c='d';e"
    let reader = reader()
    let command = try reader.command(opening: page, in: try #require(reader.browsers["b"]))
    #expect(command.arguments == arguments.map { $0.replacingOccurrences(of: "PAGE", with: page) })
    // An app that is started for a continuation gets none.
    try folders.write(
      "system/applications/b.desktop", exec: exec, "X-Segue-BundleIdentifier=org.example.b",
      "X-Segue-ActivityTypes=t;")
    #expect(folders.read()["org.example.b"]?.command?.arguments.contains { $0.contains("example.com") } == false)
  }

  @Test func `where Exec cannot be read there is gio open, and never xdg-open (R12.3)`() throws {
    try folders.write("system/applications/b.desktop", exec: "b 'c", handler)
    try folders.writeProgram("bin/xdg-open")
    let bin = ["\(folders.path)/bin"]
    let without = reader(searchPath: bin)
    #expect(without.browsers["b"]?.problem?.message.contains("reserved") == true)
    #expect(throws: SegueError.self) {
      try without.command(opening: "https://a/", in: try #require(without.browsers["b"]))
    }
    try folders.writeProgram("bin/gio")
    let reader = reader(searchPath: bin)
    #expect(reader.browsers["b"]?.problem == nil)
    let command = try reader.command(opening: "https://a/", in: try #require(reader.browsers["b"]))
    #expect(command.arguments == ["gio", "open", "https://a/"])
  }
}
