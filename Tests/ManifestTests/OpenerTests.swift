// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueManifests
import SegueModel
import Testing

/// Files that say how a program opens a file at a place (R13.7).
@Suite struct OpenerTests {
  private let folders = DataFolders()
  private let editing = "SegueActivityTypeEditingText"

  private func reader() -> (reader: ManifestReader, problems: [String]) {
    let reader = ManifestReader(
      ManifestFolders(
        dataFolders: folders.folders, searchPath: ["\(folders.path)/bin"], settingsFolders: ["\(folders.path)/config"]))
    return (reader, reader.read().problems)
  }

  /// Without the default application.
  private var openers: [String] {
    reader().reader.openers.all.filter { !$0.isDefault }.map { $0.identifier }
  }

  private func write(_ name: String, open: String = "edit;+%{line};%{path};", _ lines: String...) throws {
    try folders.write(
      "\(name).desktop",
      text: (["[Desktop Entry]", "Type=Application", "Name=An Editor", "X-Segue-Open=\(open)"] + lines
        + (lines.contains { $0.hasPrefix("X-Segue-ActivityTypes") } ? [] : ["X-Segue-ActivityTypes=\(editing);"]))
        .joined(separator: "\n"))
  }

  private func document(_ path: String, _ values: (String, String)...) throws -> OpenedDocument {
    try OpenedDocument(
      type: editing,
      values: [(key: "url", text: AbsoluteURL.file(Array(path.utf8)))] + values.map { (key: $0.0, text: $0.1) })
  }

  private func status(_ body: () throws -> Void) -> Status? {
    do { try body() } catch { return (error as? SegueError)?.status }
    return nil
  }

  @Test func `an opener counts if its program is installed (R13.7)`() throws {
    try write("system/segue/openers/edit")
    #expect(openers.isEmpty)
    try folders.writeProgram("bin/edit")
    #expect(openers == ["opener:edit"] && reader().reader.openers.all.first?.name == "An Editor")
    try write("home/segue/openers/other", "TryExec=missing")
    #expect(openers == ["opener:edit"])
  }

  @Test func `the user's file comes first, and hides that of the system (R13.7)`() throws {
    try folders.writeProgram("bin/edit")
    try write("system/segue/openers/edit")
    try write("home/segue/openers/edit", open: "edit;--own;%{path};")
    try folders.write("a.md", text: "a")
    let found = reader()
    #expect(found.problems.isEmpty && openers.count == 1)
    let file = "\(folders.path)/a.md"
    #expect(
      try found.reader.command(opening: try document(file), with: "opener:edit").arguments == ["edit", "--own", file])
    try write("home/segue/openers/edit", "Hidden=true")
    #expect(openers.isEmpty)
  }

  @Test(arguments: [
    ("edit;%{path", "percent sign"), ("%{path};", "program"), ("", "program"), ("bin/edit;%{path};", "absolute path"),
    ("a=b;%{path};", "equals sign"), ("edit;--page=%{paeg};%{path};", "%{paeg}"), ("edit;%{line};", "%{path}"),
  ]) func `a broken opener is named (R13.7)`(line: String, words: String) throws {
    try folders.writeProgram("bin/edit")
    try write("home/segue/openers/edit", open: line)
    let found = reader()
    #expect(found.problems.count == 1 && found.problems.first?.contains(words) == true, "\(found.problems)")
    #expect(openers.isEmpty)
  }

  @Test func `an opener of a type that is not public is named (R13.7)`() throws {
    try folders.writeProgram("bin/edit")
    try write("home/segue/openers/edit", "X-Segue-ActivityTypes=com.example.note;")
    #expect(reader().problems.first?.contains("com.example.note is no public type") == true)
  }

  @Test func `an opener is started with the file at its place, and for its types alone (R13.7, A27)`() throws {
    try folders.writeProgram("bin/edit")
    try write("home/segue/openers/edit")
    let found = reader().reader
    let film = try OpenedDocument(
      type: "SegueActivityTypePlayingMedia", values: [(key: "url", text: "file:///tmp/a.mkv")])
    #expect(status { _ = try found.command(opening: film, with: "opener:edit") } == .notFound)
    try folders.write("a.md", text: "a")
    let file = "\(folders.path)/a.md"
    let command = try found.command(opening: try document(file, ("line", "7")), with: "opener:edit")
    #expect(command.arguments == ["edit", "+7", file] && command.isGraphical)
    #expect(status { _ = try found.command(opening: try document(file), with: "opener:other") } == .notFound)
  }

  @Test func `an opener in a terminal has its words before it (R13.7)`() throws {
    for name in ["edit", "x-terminal-emulator"] { try folders.writeProgram("bin/\(name)") }
    try write("home/segue/openers/edit", "Terminal=true")
    try folders.write("a.md", text: "a")
    let file = "\(folders.path)/a.md"
    #expect(
      try reader().reader.command(opening: try document(file), with: "opener:edit").arguments
        == ["x-terminal-emulator", "-e", "edit", "+1", file])
  }

  @Test func `the default application is that of the content type, and nothing is executed (R13.7, A28)`() throws {
    for name in ["gio", "paint", "wine", "pad"] { try folders.writeProgram("bin/\(name)") }
    for name in ["paint", "wine", "pad"] {
      try folders.write("system/applications/\(name).desktop", exec: "\(name) %f")
    }
    try folders.write(
      "config/mimeapps.list",
      text: "[Default Applications]\nimage/png=missing.desktop;paint.desktop;\ntext/plain=pad.desktop;\n"
        + "application/x-ms-dos-executable=wine.desktop;\n")
    try folders.write("a", text: "a")
    let (file, reader) = ("\(folders.path)/a", reader().reader)
    func command(_ type: String, _ said: String?) throws -> [String] {
      let url = (key: "url", text: AbsoluteURL.file(Array(file.utf8)))
      let values = [url] + (said.map { [(key: "contentType", text: $0)] } ?? [])
      return try reader.command(opening: try OpenedDocument(type: type, values: values), with: "opener:").arguments
    }
    let reading = "SegueActivityTypeReadingDocument"
    #expect(try command(reading, "image/png") == ["paint", file])
    #expect(status { _ = try command(reading, "application/x-ms-dos-executable") } == .notFound)
    #expect(
      status { _ = try command(reading, "image/jpeg") } == .notFound
        && status { _ = try command(reading, nil) } == .notFound)
    #expect(try command(editing, "application/x-ms-dos-executable") == ["pad", file], "a text is opened as a text")
    #expect(try command(editing, nil) == ["pad", file])
  }
}
